"""Aggregated cluster roles: those with an aggregation rule."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Final

from kubewright.api import Selector, SelectorError, from_dict
from kubewright.api.meta.v1 import LabelSelector
from kubewright.cluster._state import State
from kubewright.cluster.controllers._writing import type_of
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.machinery._authors import writing_as
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.machinery._work_budget import PROCESSED, SCANNED, WorkBudget
from kubewright.cluster.registry._field_managers import manager_of
from kubewright.cluster.registry._store import commit
from kubewright.cluster.storage._storage import Entry, Event

__all__ = ["RoleAggregation"]

_ROLES: Final = "rbac.authorization.k8s.io/clusterroles"
_MANAGER: Final = "clusterrole-aggregation-controller"
_USER: Final = f"system:serviceaccount:kube-system:{_MANAGER}"


class RoleAggregation:
    """Maintains the rules of aggregated cluster roles, including `admin`, `edit` and `view`."""

    later: tuple[()] = ()

    def __init__(self, state: State) -> None:
        self._state = state
        self._pending = False
        self.aggregate()  # now: the first request must not see roles without rules

    def notice(self, event: Event) -> None:
        """Records a write of any cluster role, since any other may select it."""
        self._pending |= event.storage == _ROLES

    @property
    def busy(self) -> bool:
        """Returns whether work is pending."""
        return self._pending

    def again(self) -> None:
        """Does nothing: this controller never defers work."""

    async def work(self, budget: WorkBudget) -> None:
        """Aggregates if a cluster role was written."""
        for cost in self._aggregation():
            await budget.spend(cost)

    def aggregate(self) -> None:
        """Writes the rules of each aggregated role until none changes, without yielding to the event loop."""
        for _ in self._aggregation():
            pass

    def _aggregation(self) -> Iterator[int]:
        """Yields the cost of each work item. Roles may change at each of them."""
        self._pending = False
        storage = self._state.storage
        for _ in range(storage.count(_ROLES)):  # an aggregated role may select another aggregated role
            before = storage.revision
            for entry in list(storage.entries(_ROLES)):
                if b'"aggregationRule"' in entry.raw:
                    yield from self._sync(entry)
                yield SCANNED
            if storage.revision == before:
                return

    def _sync(self, entry: Entry) -> Iterator[int]:
        type_ = type_of(self._state, _ROLES)
        assert type_ is not None
        role = decoded(type_, entry)
        rule = role.get("aggregationRule")
        if rule is None:
            return
        rules = yield from self._rules(entry.name, rule)
        if self._state.storage.get(_ROLES, "", entry.name) is not entry:
            return  # it was written again, which `notice` recorded
        if rules is None or rules == (role.get("rules") or []):
            return
        config = {"apiVersion": type_.api_version, "kind": type_.kind, "metadata": {"name": entry.name}, "rules": rules}
        if not rules:
            del config["rules"]
        made = manager_of(self._state, type_).apply(role, config, _MANAGER, self._state.now(), force=True)
        with writing_as(_USER):
            commit(self._state, type_, {**made, "metadata": {**made["metadata"]}}, entry)
        yield PROCESSED

    def _rules(self, own: str, rule: JSONObject) -> Generator[int, None, list[JSONObject] | None]:
        """Returns the distinct rules of all selected roles; None if a selector is invalid."""
        rules: list[JSONObject] = []
        for selector in rule.get("clusterRoleSelectors") or ():
            try:
                wanted = Selector.from_label_selector(from_dict(LabelSelector, selector))
            except SelectorError:
                return None
            for entry in list(self._state.storage.entries(_ROLES)):  # ordered by name
                if entry.name != own and wanted.matches(entry.labels or {}):
                    rules += [each for each in entry.decode().get("rules") or () if each not in rules]
                yield SCANNED
        return rules
