"""Empties namespaces that are being deleted; gives every other one a service account and the cluster's CA."""

from __future__ import annotations

from typing import Final

from kubewright.cluster._state import State
from kubewright.cluster.controllers._writing import controller_user, create, delete, type_of, update
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.machinery._failures import Failure
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.machinery._turns import PROCESSED, SCANNED, Turns
from kubewright.cluster.registry._delete import DeleteOptions
from kubewright.cluster.storage._storage import Entry, Event, RevisionConflict

__all__ = ["Namespaces"]

_NAMESPACES: Final = "/namespaces"
_CONFIG_MAPS: Final = "/configmaps"
_ROOT_CA: Final = "kube-root-ca.crt"
_DESCRIPTION: Final = "kubernetes.io/description"
_ABOUT: Final = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints."
_USER: Final = controller_user("namespace-controller")
_ACCOUNTS_USER: Final = controller_user("service-account-controller")
_ROOT_CA_USER: Final = controller_user("root-ca-cert-publisher")


class Namespaces:
    """Fills new namespaces and empties deleted ones. `notice` records each write, `work` processes them."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._todo: dict[str, None] = dict.fromkeys(entry.name for entry in state.storage.entries(_NAMESPACES))
        self.later: dict[str, None] = {}
        self._terminating: set[str] = set()

    def notice(self, event: Event) -> None:
        """Records a write of a namespace, or in a namespace that is being emptied."""
        if event.storage == _NAMESPACES:
            if event.kind == "DELETED":
                self._todo.pop(event.entry.name, None)
                self._terminating.discard(event.entry.name)
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

    async def work(self, turns: Turns) -> None:
        """Processes everything recorded so far."""
        for name in list(self._todo):
            self._todo.pop(name, None)
            try:
                await self._process(name, turns)
            except RevisionConflict:  # it changed during admission
                self._todo[name] = None
            except Failure:  # admission rejected the write, possibly temporarily
                self.later[name] = None
            await turns.spend(PROCESSED)

    def again(self) -> None:
        """Retries the namespaces in which admission rejected a write."""
        self._todo |= self.later
        self.later.clear()

    def begin_again(self) -> None:
        """Processes every namespace again: the cluster has a new certificate."""
        self._todo |= dict.fromkeys(entry.name for entry in self._state.storage.entries(_NAMESPACES))

    async def _process(self, name: str, turns: Turns) -> None:
        entry = self._state.storage.get(_NAMESPACES, "", name)
        if entry is None:
            return
        type_ = type_of(self._state, _NAMESPACES)
        assert type_ is not None
        namespace = decoded(type_, entry)
        if not namespace["metadata"].get("deletionTimestamp"):
            await self._fill(name)
        elif await self._emptied(name, turns):
            await self._finalize(entry, namespace)

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

    async def _emptied(self, name: str, turns: Turns) -> bool:
        """Deletes everything in the namespace. Returns whether it is empty."""
        storage = self._state.storage
        left = False
        for kind in storage.names():
            type_ = type_of(self._state, kind)
            if type_ is None or not type_.namespaced:
                continue
            for entry in list(storage.entries(kind, name)):
                type_ = type_of(self._state, kind, entry) or type_
                if name in self._terminating and b'"deletionTimestamp"' in entry.raw:
                    left = True
                    await turns.spend(SCANNED)
                    continue
                if storage.get(kind, name, entry.name) is not entry:
                    left = True  # it changed during the admission of another object
                    self._todo[name] = None
                    continue
                _, gone = await delete(self._state, type_, entry, DeleteOptions(policy="Background"), _USER)
                left |= not gone
                await turns.spend(PROCESSED)
        self._terminating.add(name)
        return not left

    async def _finalize(self, entry: Entry, namespace: JSONObject) -> None:
        type_ = type_of(self._state, _NAMESPACES)
        assert type_ is not None
        spec = {**namespace["spec"]}
        spec["finalizers"] = [each for each in spec.get("finalizers") or () if each != "kubernetes"]
        if not spec["finalizers"]:
            del spec["finalizers"]
        await update(self._state, type_, entry, {**namespace, "spec": spec}, _USER, "finalize")
