"""Cluster roles that are made of others: those which their aggregation rule selects."""

from __future__ import annotations

from typing import Final

from kubewright.api import Selector, SelectorError, from_dict
from kubewright.api.meta.v1 import LabelSelector
from kubewright.cluster._kinds import JSONObject
from kubewright.cluster._managing import manager_of
from kubewright.cluster._state import State
from kubewright.cluster._storage import Entry, Event
from kubewright.cluster._views import decoded
from kubewright.cluster._writes import commit
from kubewright.cluster.controllers._writing import type_of

__all__ = ["RoleAggregation"]

_ROLES: Final = "rbac.authorization.k8s.io/clusterroles"
_MANAGER: Final = "clusterrole-aggregation-controller"


class RoleAggregation:
    """Keeps the rules of aggregated cluster roles up to date: those of `admin`, `edit` and `view` among them."""

    later: tuple[()] = ()

    def __init__(self, state: State) -> None:
        self._state = state
        self._pending = False
        self.aggregate()  # at once: the first request must not meet roles that allow nothing yet

    def notice(self, event: Event) -> None:
        """A write to any cluster role may matter to any other."""
        self._pending |= event.storage == _ROLES

    @property
    def busy(self) -> bool:
        """Whether something is left to do."""
        return self._pending

    def again(self) -> None:
        """Nothing is ever put off."""

    async def work(self) -> None:
        """Everything that follows from what was noticed so far."""
        self.aggregate()

    def aggregate(self) -> None:
        """Write the rules of each role that is made of others, until none changes any more."""
        self._pending = False
        storage = self._state.storage
        for _ in range(storage.count(_ROLES)):  # a role may be made of one that is made of others, and so on
            before = storage.revision
            for entry in list(storage.entries(_ROLES)):
                if b'"aggregationRule"' in entry.raw:
                    self._sync(entry)
            if storage.revision == before:
                return

    def _sync(self, entry: Entry) -> None:
        type_ = type_of(self._state, _ROLES)
        assert type_ is not None
        role = decoded(type_, entry)
        rule = role.get("aggregationRule")
        if rule is None:
            return
        rules = self._rules(entry.name, rule)
        if rules is None or rules == (role.get("rules") or []):
            return
        config = {"apiVersion": type_.api_version, "kind": type_.kind, "metadata": {"name": entry.name}, "rules": rules}
        if not rules:
            del config["rules"]
        made = manager_of(self._state, type_).apply(role, config, _MANAGER, self._state.now(), force=True)
        commit(self._state, type_, {**made, "metadata": {**made["metadata"]}}, entry)

    def _rules(self, own: str, rule: JSONObject) -> list[JSONObject] | None:
        """The rules of all that are selected, each once; None when a selector cannot be read."""
        rules: list[JSONObject] = []
        for selector in rule.get("clusterRoleSelectors") or ():
            try:
                wanted = Selector.from_label_selector(from_dict(LabelSelector, selector))
            except SelectorError:
                return None
            for entry in self._state.storage.entries(_ROLES):  # in the order of names
                if entry.name != own and wanted.matches(entry.labels or {}):
                    rules += [each for each in entry.decode().get("rules") or () if each not in rules]
        return rules
