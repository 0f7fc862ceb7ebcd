"""Update: PUT of an object or of its status, and the final step of patch and apply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kubewright.cluster._state import State
from kubewright.cluster.admission import Attributes, attributes_of
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.conversion._webhook import retry_converting, stored_and_read
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import (
    invalid,
    invalid_as,
    modified,
    not_found,
    uid_mismatch,
)
from kubewright.cluster.machinery._field_errors import invalid as invalid_field
from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.cluster.machinery._responses import ApiResponse
from kubewright.cluster.registry._create import create_object
from kubewright.cluster.registry._decoding import read_object
from kubewright.cluster.registry._field_managers import manager_name_of, manager_of
from kubewright.cluster.registry._store import check_path, check_path_namespace, object_response, store
from kubewright.cluster.registry.validation import _object_meta
from kubewright.cluster.storage._storage import Entry

__all__ = ["update", "update_object"]


async def update(state: State, call: Call) -> ApiResponse:
    """Handles PUT of an object, or of its status."""
    call.check_options()
    obj = read_object(state, call)
    check_path(call, obj)
    found = state.storage.get(call.type.storage, call.namespace, call.name)
    if found is None:
        return await _create_by_update(state, call, obj)
    old = decoded(call.type, found)
    metadata = obj["metadata"]
    uid = metadata.get("uid")
    if uid and uid != old["metadata"]["uid"]:
        raise uid_mismatch(call.type, call.namespace, call.name, uid, old["metadata"]["uid"])
    return object_response(state, call, await update_object(state, call, obj, found, old), 200)


async def _create_by_update(state: State, call: Call, obj: JSONObject) -> ApiResponse:
    if call.subresource or not call.type.strategy.allows_create_on_update:
        raise not_found(call.type, call.name)
    if obj["metadata"].get("uid"):
        raise uid_mismatch(call.type, call.namespace, call.name, obj["metadata"]["uid"], "")
    if not call.dry_run:
        obj["metadata"].pop("resourceVersion", None)
    obj = manager_of(state, call.type).update(None, obj, manager_name_of(call), state.now())
    return object_response(state, call, await create_object(state, call, obj), 201)


async def update_object(
    state: State,
    call: Call,
    obj: JSONObject,
    found: Entry,
    old: JSONObject,
    *,
    managed: bool = False,
    representation: Callable[[JSONObject], JSONObject] | None = None,
) -> Entry | JSONObject:
    """Stores a changed object and returns it; a dry run only returns it.

    Nothing is written if nothing changed. An object that is being deleted is removed when its last finalizer is gone.

    `managed` says that the managed fields are already set. `representation` returns what admission validates instead
    of the object, such as its Scale; the caller then runs the mutating phase.
    """
    type_, before = call.type, old["metadata"]
    strategy = type_.strategy
    if not managed:
        manager, given = manager_of(state, type_, call.subresource), obj
        obj = await retry_converting(lambda: manager.update(old, given, manager_name_of(call), state.now()))
    attributes = attributes_of(call, "UPDATE", obj, old)
    if representation is None:
        await state.admission.mutate(attributes)
        assert attributes.object is not None
        obj = attributes.object
        check_path_namespace(call, obj)
    _check_revision(call, obj, before)
    obj = _within_subresource(type_, obj, old, call.subresource)
    _keep(obj["metadata"], before, "generation")
    try:
        strategy.prepare_update(obj, old, call.subresource)
        return await _update_prepared(state, call, obj, found, old, attributes, representation or _identity)
    finally:
        strategy.end_write(before["uid"])


async def _update_prepared(
    state: State,
    call: Call,
    obj: JSONObject,
    found: Entry,
    old: JSONObject,
    attributes: Attributes,
    represent: Callable[[JSONObject], JSONObject],
) -> Entry | JSONObject:
    type_, strategy = call.type, call.type.strategy
    metadata, before = obj["metadata"], old["metadata"]
    if strategy.has_generation and call.subresource != "status" and strategy.increments_generation(obj, old):
        metadata["generation"] = before.get("generation", 0) + 1
    metadata.setdefault("uid", before["uid"])
    metadata["creationTimestamp"] = before["creationTimestamp"]
    if "deletionTimestamp" in before:
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in before:
        metadata.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])
    errors = _object_meta.validate_update(type_, obj, old) + strategy.validate_update(obj, old, call.subresource)
    call.warnings += strategy.ratcheting_warnings(obj)
    if errors:
        raise invalid(type_, metadata.get("name", ""), errors)
    call.warnings += _object_meta.warnings(type_, metadata, before) + strategy.warnings(obj, old)
    from kubewright.cluster.merge import keep_times

    metadata["resourceVersion"] = before["resourceVersion"]
    obj = keep_times(old, obj)
    await state.admission.validate(replace(attributes, object=represent(obj), old=represent(old)))
    return await _store_changed(state, call, obj, found, old)


def _check_revision(call: Call, obj: JSONObject, before: JSONObject) -> None:
    """Checks the resourceVersion of an update, if it has one."""
    type_, named = call.type, obj["metadata"].get("resourceVersion", "")
    if not named:
        if not type_.strategy.allows_unconditional_update and call.verb == "update":
            error = invalid_field("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid_as(type_.plural, type_, call.name, [error])
    elif named != before["resourceVersion"]:
        if not named.isdigit():
            problem = f'strconv.ParseUint: parsing "{named}": invalid syntax'
            raise invalid(type_, call.name, [invalid_field("metadata.resourceVersion", named, problem)])
        raise modified(type_, call.name)


def _identity(obj: JSONObject) -> JSONObject:
    return obj


async def _store_changed(
    state: State, call: Call, obj: JSONObject, found: Entry, old: JSONObject
) -> Entry | JSONObject:
    from kubewright.cluster.merge import same

    type_ = call.type
    if call.dry_run:
        return await stored_and_read(type_, obj)
    metadata = obj["metadata"]
    ends = metadata.get("deletionTimestamp") and not metadata.get("deletionGracePeriodSeconds")
    if ends and not type_.strategy.finalizers(obj):
        # The change itself is never stored: watches see the object deleted in its previous state.
        state.storage.delete(type_.storage, found.decode(), found)
        return obj
    if same(old, obj) and found.version in ("", type_.stored_version or found.version):
        return found
    obj = {**obj, "metadata": {**metadata}}
    return await store(state, type_, obj, found)


def _keep(metadata: JSONObject, before: JSONObject, field: str) -> None:
    if field in before:
        metadata[field] = before[field]
    else:
        metadata.pop(field, None)


def _within_subresource(type_: ResourceType, obj: JSONObject, old: JSONObject, subresource: str) -> JSONObject:
    """Limits a write to its subresource: `/status` changes only the status; any other write keeps the status."""
    if subresource in type_.strategy.status_subresources:
        made = {**old, "metadata": {**obj["metadata"]}}
        if "status" in obj:
            made["status"] = obj["status"]
        else:
            made.pop("status", None)
        return made
    made = {**obj, "metadata": {**obj["metadata"]}}
    if type_.has_status:
        if "status" in old:
            made["status"] = old["status"]
        else:
            made.pop("status", None)
    return made
