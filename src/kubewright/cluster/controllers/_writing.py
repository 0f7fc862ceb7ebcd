"""How controllers write: straight into the storage, as the real ones do through the API."""

from __future__ import annotations

from typing import Final

from kubewright.cluster._kinds import JSONObject, ResourceType
from kubewright.cluster._managing import manager_of
from kubewright.cluster._state import State
from kubewright.cluster._storage import Entry
from kubewright.cluster._views import decoded
from kubewright.cluster._writes import commit, stored_form

__all__ = ["MANAGER", "create", "type_of", "update"]

MANAGER: Final = "kube-controller-manager"


def type_of(state: State, storage: str) -> ResourceType | None:
    """A version in which the objects of a storage can be read and written; the stored one, if it is served."""
    versions = state.types.stored_as(storage)
    return next((each for each in versions if each.conversion is None), versions[0] if versions else None)


def update(state: State, type_: ResourceType, entry: Entry, changed: JSONObject) -> Entry:
    """Write a changed object. One that was only waiting for its finalizers goes when it has none left."""
    old = decoded(type_, entry)
    changed = manager_of(state, type_).update(old, changed, MANAGER, state.now())
    metadata = changed["metadata"]
    waits = metadata.get("deletionGracePeriodSeconds") or type_.strategy.finalizers(changed)
    if metadata.get("deletionTimestamp") and not waits:
        return state.storage.delete(type_.storage, stored_form(type_, changed), entry)
    return commit(state, type_, {**changed, "metadata": {**metadata}}, entry)


def create(state: State, type_: ResourceType, obj: JSONObject) -> Entry:
    """Write a new object, unless there is one of its name."""
    metadata = obj["metadata"]
    found = state.storage.get(type_.storage, metadata.get("namespace", ""), metadata["name"])
    if found is not None:
        return found
    made = {**metadata, "uid": state.uid(), "creationTimestamp": state.now()}
    full = {"apiVersion": type_.api_version, "kind": type_.kind, **obj, "metadata": made}
    return commit(state, type_, manager_of(state, type_).update(None, full, MANAGER, state.now()), None)
