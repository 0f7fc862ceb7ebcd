"""Writes of controllers: directly to the storage, after admission, like writes through the API."""

from __future__ import annotations

from typing import Final

from kubewright.cluster._state import State
from kubewright.cluster.admission import Attributes
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.conversion._webhook import AsyncConversion, retry_converting
from kubewright.cluster.machinery._authors import writing_as
from kubewright.cluster.machinery._calls import User
from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.cluster.registry._delete import DeleteOptions, delete_object
from kubewright.cluster.registry._field_managers import manager_of
from kubewright.cluster.registry._store import commit, stored_form
from kubewright.cluster.storage._storage import Entry

__all__ = ["MANAGER", "controller_user", "create", "delete", "type_of", "update"]

MANAGER: Final = "kube-controller-manager"
_GROUPS: Final = ("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated")


def controller_user(name: str) -> User:
    """Returns the service account of a controller of the real kube-controller-manager."""
    return User(f"system:serviceaccount:kube-system:{name}", _GROUPS)


def type_of(state: State, storage: str, entry: Entry | None = None) -> ResourceType | None:
    """Returns a version to read and write the objects of a storage in: the stored version if it is served.

    With a conversion webhook it is the version of the entry, so that the webhook is not called: the fields that
    controllers use are the same in all versions.
    """
    versions = state.types.stored_as(storage)
    if entry is not None and versions and isinstance(conversion := versions[0].conversion, AsyncConversion):
        return conversion.as_stored(versions[0], entry)
    return next((each for each in versions if each.conversion is None), versions[0] if versions else None)


async def update(
    state: State, type_: ResourceType, entry: Entry, changed: JSONObject, user: User, subresource: str = ""
) -> Entry:
    """Writes a changed object, or deletes one that only waited for its last finalizer.

    Raises the failure of admission, and `RevisionConflict` if the object changed during admission.
    """
    old, given = decoded(type_, entry), changed
    manager = manager_of(state, type_, subresource if subresource in type_.strategy.status_subresources else "")
    changed = await retry_converting(lambda: manager.update(old, given, MANAGER, state.now()))
    asked = Attributes(
        operation="UPDATE",
        type=type_,
        user=user,
        namespace=_namespace_of(type_, entry),
        name=entry.name,
        subresource=subresource,
        object=changed,
        old=old,
        options={"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1"},
    )
    await state.admission.admit(asked)
    assert asked.object is not None
    changed = asked.object
    metadata = changed["metadata"]
    waits = metadata.get("deletionGracePeriodSeconds") or type_.strategy.finalizers(changed)
    with writing_as(user.name):
        if metadata.get("deletionTimestamp") and not waits:
            return state.storage.delete(type_.storage, stored_form(type_, changed), entry)
        return commit(state, type_, {**changed, "metadata": {**metadata}}, entry)


async def delete(
    state: State, type_: ResourceType, entry: Entry, options: DeleteOptions, user: User
) -> tuple[Entry | JSONObject, bool]:
    """Deletes an object, as `delete_object` does."""
    namespace = _namespace_of(type_, entry)
    asked = Attributes(operation="DELETE", type=type_, user=user, namespace=namespace, name=entry.name)
    with writing_as(user.name):
        return await delete_object(state, type_, entry, options, asked)


def _namespace_of(type_: ResourceType, entry: Entry) -> str:
    return entry.name if type_.storage == "/namespaces" else entry.namespace


async def create(state: State, type_: ResourceType, obj: JSONObject, user: User) -> Entry:
    """Creates an object unless one of that name exists. Raises the failure of admission."""
    metadata = obj["metadata"]
    found = state.storage.get(type_.storage, metadata.get("namespace", ""), metadata["name"])
    if found is not None:
        return found
    made = {**metadata, "creationTimestamp": state.now()}
    made["uid"] = state.uid_of(type_.storage, metadata.get("namespace", ""), metadata["name"])
    full = {"apiVersion": type_.api_version, "kind": type_.kind, **obj, "metadata": made}
    asked = Attributes(
        operation="CREATE",
        type=type_,
        user=user,
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        object=manager_of(state, type_).update(None, full, MANAGER, state.now()),
        options={"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    )
    await state.admission.admit(asked)
    assert asked.object is not None
    with writing_as(user.name):
        return commit(state, type_, asked.object, None)
