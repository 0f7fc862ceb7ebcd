"""Empties namespaces that are being deleted; gives every other one a service account and the cluster's CA."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Final

from kubewright.api import parse_time
from kubewright.clock import Timer
from kubewright.cluster._state import State
from kubewright.cluster.controllers._namespace_conditions import Leftovers, changed_conditions
from kubewright.cluster.controllers._writing import controller_user, create, delete, type_of, update
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.machinery._failures import Failure
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.machinery._work_budget import PROCESSED, SCANNED, WorkBudget
from kubewright.cluster.registry._delete import DeleteOptions
from kubewright.cluster.storage._storage import Entry, Event, RevisionConflict

__all__ = ["Namespaces"]

_NAMESPACES: Final = "/namespaces"
_CONFIG_MAPS: Final = "/configmaps"
_PODS: Final = "/pods"
_ROOT_CA: Final = "kube-root-ca.crt"
_DESCRIPTION: Final = "kubernetes.io/description"
_ABOUT: Final = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints."
_USER: Final = controller_user("namespace-controller")
_ACCOUNTS_USER: Final = controller_user("service-account-controller")
_ROOT_CA_USER: Final = controller_user("root-ca-cert-publisher")


class Namespaces:
    """Fills new namespaces and empties deleted ones. `notice` records each write, `work` processes them."""

    def __init__(self, state: State, schedule: Callable[[], None]) -> None:
        self._state = state
        self._schedule = schedule
        self._held: dict[str, Timer | None] = {}  # namespaces whose deletion a laboratory holds back
        self._todo: dict[str, None] = dict.fromkeys(entry.name for entry in state.storage.entries(_NAMESPACES))
        self.later: dict[str, None] = {}
        self._terminating: set[str] = set()
        self._begun: set[str] = set()  # deletions that were held back

    def notice(self, event: Event) -> None:
        """Records a write of a namespace, or in a namespace that is being emptied."""
        if event.storage == _NAMESPACES:
            if event.kind == "DELETED":
                self._todo.pop(event.entry.name, None)
                self._terminating.discard(event.entry.name)
                self._begun.discard(event.entry.name)
            else:
                self._todo[event.entry.name] = None
        elif event.kind == "DELETED" and event.entry.namespace:
            # its own object may need to be restored, or the namespace may be empty now
            self._todo[event.entry.namespace] = None
        elif event.storage == _CONFIG_MAPS and event.entry.name == _ROOT_CA:
            self._todo[event.entry.namespace] = None  # it may have been modified

    @property
    def busy(self) -> bool:
        """Returns whether work is pending."""
        return bool(self._todo)

    async def work(self, budget: WorkBudget) -> None:
        """Processes everything recorded so far."""
        for name in list(self._todo):
            self._todo.pop(name, None)
            try:
                await self._process(name, budget)
            except RevisionConflict:  # it changed during admission
                self._todo[name] = None
            except Failure:  # admission rejected the write, possibly temporarily
                self.later[name] = None
            await budget.spend(PROCESSED)

    def again(self) -> None:
        """Retries the namespaces in which admission rejected a write."""
        self._todo |= self.later
        self.later.clear()

    def begin_again(self) -> None:
        """Processes every namespace again: the cluster has a new certificate."""
        self._todo |= dict.fromkeys(entry.name for entry in self._state.storage.entries(_NAMESPACES))

    async def _process(self, name: str, budget: WorkBudget) -> None:
        entry = self._state.storage.get(_NAMESPACES, "", name)
        if entry is None:
            return
        type_ = type_of(self._state, _NAMESPACES)
        assert type_ is not None
        namespace = decoded(type_, entry)
        if not namespace["metadata"].get("deletionTimestamp"):
            await self._fill(name)
        elif not self._is_held(name):
            await self._empty(namespace, budget)

    def _is_held(self, name: str) -> bool:
        """Returns whether a laboratory holds back the deletion of a namespace that has not begun."""
        delay = self._state.delays.get("namespaces")
        if delay is None or name in self._begun or name in self._terminating:
            return False
        if name not in self._held:
            timer = None
            if delay.seconds < math.inf:
                timer = self._state.clock.call_later(delay.seconds, partial(self._begin_deletion, name))
            self._held[name] = timer
        return True

    def _begin_deletion(self, name: str) -> None:
        self._held.pop(name, None)
        self._begun.add(name)
        self._todo[name] = None
        self._schedule()

    def delay_changed(self) -> None:
        """Begins the deletions that were held back, or holds them back for the delay that has replaced the former."""
        for name, timer in self._held.items():
            if timer is not None:
                timer.cancel()
            self._todo[name] = None
        self._held.clear()

    async def _fill(self, name: str) -> None:
        accounts = type_of(self._state, "/serviceaccounts")
        if accounts is not None:
            account = {"metadata": {"name": "default", "namespace": name}}
            await create(self._state, accounts, account, _ACCOUNTS_USER)
        await self._publish(name)

    async def _publish(self, name: str) -> None:
        """Publishes the current CA certificate of the server; an empty one until the cluster is served."""
        maps, data = type_of(self._state, _CONFIG_MAPS), {"ca.crt": self._state.ca_certificate}
        if maps is None:
            return
        found = self._state.storage.get(_CONFIG_MAPS, name, _ROOT_CA)
        if found is None:
            metadata = {"name": _ROOT_CA, "namespace": name, "annotations": {_DESCRIPTION: _ABOUT}}
            await create(self._state, maps, {"metadata": metadata, "data": data}, _ROOT_CA_USER)
            return
        obj = decoded(maps, found)
        annotations = obj["metadata"].get("annotations") or {}
        if self._state.ca_certificate and not (obj.get("data") == data and annotations.get(_DESCRIPTION)):
            metadata = {**obj["metadata"], "annotations": {**annotations, _DESCRIPTION: _ABOUT}}
            await update(self._state, maps, found, {**obj, "metadata": metadata, "data": data}, _ROOT_CA_USER)

    async def _empty(self, namespace: JSONObject, budget: WorkBudget) -> None:
        """Deletes everything in the namespace, pods first, reports what is left, and releases an empty namespace."""
        name = namespace["metadata"]["name"]
        left = Leftovers()
        await self._delete_all(_PODS, name, left, budget)
        pods = list(self._state.storage.entries(_PODS, name))
        if pods:
            # As on the real server, the conditions do not mention pods that are expected to end.
            if self._is_overdue(pods, namespace):
                left.errors.append(f"unexpected items still remain in namespace: {name} for gvr: /v1, Resource=pods")
        else:
            for storage in self._state.storage.names():
                await self._delete_all(storage, name, left, budget)
            async for resource, finalizers in self._remaining(name, budget):
                left.resources[resource] += 1
                left.finalizers.update(finalizers)
        self._terminating.add(name)
        if left.errors:
            self.later[name] = None
        entry = await self._report(name, left)
        if entry is not None and not (pods or left.resources or left.errors):
            await self._finalize(entry)

    async def _delete_all(self, storage: str, name: str, left: Leftovers, budget: WorkBudget) -> None:
        type_ = type_of(self._state, storage)
        if type_ is None or not type_.namespaced:
            return
        for entry in list(self._state.storage.entries(storage, name)):
            if name in self._terminating and b'"deletionTimestamp"' in entry.raw:
                await budget.spend(SCANNED)
                continue
            if self._state.storage.get(storage, name, entry.name) is not entry:
                self._todo[name] = None  # it changed during the admission of another object
                continue
            found = type_of(self._state, storage, entry) or type_
            try:
                await delete(self._state, found, entry, DeleteOptions(policy="Background"), _USER)
            except Failure as failure:  # the other kinds are deleted nevertheless
                left.errors.append(str(failure))
                return
            await budget.spend(PROCESSED)

    def _is_overdue(self, pods: list[Entry], namespace: JSONObject) -> bool:
        """Returns whether pods without finalizers exist longer than their grace periods."""
        longest = 0
        for entry in pods:
            pod = entry.decode()
            if pod["metadata"].get("finalizers"):
                return False
            if (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
                longest = max(longest, (pod.get("spec") or {}).get("terminationGracePeriodSeconds") or 0)
        passed = self._state.clock.now() - parse_time(namespace["metadata"]["deletionTimestamp"])
        return passed.total_seconds() >= longest

    async def _remaining(self, name: str, budget: WorkBudget) -> AsyncIterator[tuple[str, list[str]]]:
        """Yields resource and finalizers of each object that is left. A resource of several groups counts in each."""
        seen: set[tuple[str, str]] = set()
        for type_ in self._state.types:
            if not type_.namespaced or "delete" not in type_.verbs or (type_.group, type_.plural) in seen:
                continue
            seen.add((type_.group, type_.plural))
            for entry in list(self._state.storage.entries(type_.storage, name)):
                yield f"{type_.plural}.{type_.group}", entry.decode()["metadata"].get("finalizers") or []
                await budget.spend(SCANNED)

    async def _report(self, name: str, left: Leftovers) -> Entry | None:
        """Writes the conditions if they changed. Returns the namespace; None if it is gone."""
        type_, entry = type_of(self._state, _NAMESPACES), self._state.storage.get(_NAMESPACES, "", name)
        if entry is None or type_ is None:
            return None
        namespace = decoded(type_, entry)
        status = namespace.get("status") or {}
        conditions = changed_conditions(status.get("conditions") or [], left, self._state.now())
        if conditions is None:
            return entry
        changed = {**namespace, "status": {**status, "conditions": conditions}}
        return await update(self._state, type_, entry, changed, _USER, "status")

    async def _finalize(self, entry: Entry) -> None:
        type_ = type_of(self._state, _NAMESPACES)
        assert type_ is not None
        namespace = decoded(type_, entry)
        spec = {**namespace["spec"]}
        spec["finalizers"] = [each for each in spec.get("finalizers") or () if each != "kubernetes"]
        if not spec["finalizers"]:
            del spec["finalizers"]
        await update(self._state, type_, entry, {**namespace, "spec": spec}, _USER, "finalize")
