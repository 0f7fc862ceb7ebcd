"""Create and update, and the ways of every write: what the server decides, the rules, and storing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from kubewright.cluster._state import State
from kubewright.cluster.admission import Attributes, attributes_of
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.conversion._webhook import converting, read_back, ready, to_storage
from kubewright.cluster.machinery._answers import Answer
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import (
    Failure,
    already_exists,
    bad_request,
    forbidden,
    invalid,
    invalid_as,
    modified,
    not_found,
    uid_mismatch,
)
from kubewright.cluster.machinery._field_errors import invalid as invalid_field
from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.cluster.output._views import view_of
from kubewright.cluster.registry._bodies import read_object
from kubewright.cluster.registry._field_managers import manager_name_of, manager_of
from kubewright.cluster.registry.validation import _object_meta
from kubewright.cluster.storage._storage import Entry, RevisionConflict

__all__ = [
    "NOT_HERE",
    "answer",
    "commit",
    "create",
    "create_object",
    "place",
    "store",
    "stored_form",
    "update",
    "update_object",
]

_NAME_TRIES: Final = 8
_SYSTEM_FIELDS: Final = ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "uid")
_NAMESPACES: Final = "/namespaces"


# Create


async def create(state: State, call: Call) -> Answer:
    """POST to a collection."""
    view_of(call)  # refuses a form that we cannot write, before anything is written
    call.check_options()
    obj = read_object(state, call)
    place(call, obj)
    for field in _SYSTEM_FIELDS:
        obj["metadata"].pop(field, None)
    obj = manager_of(state, call.type).update(None, obj, manager_name_of(call), state.now())
    return answer(state, call, await create_object(state, call, obj), 201)


def answer(state: State, call: Call, made: Entry | JSONObject, status: int) -> Answer:
    """A written object as the client wants to see it."""
    view = view_of(call)
    body = view.raw(state, made) if isinstance(made, Entry) else view.object(state, made)
    return Answer(body, status=status, warnings=call.warnings)


def place(call: Call, obj: JSONObject) -> None:
    """The object's namespace and name must be those of the path."""
    metadata = obj.setdefault("metadata", {})
    _check_namespace(call, obj)
    if call.name and call.verb != "create":
        name = metadata.get("name", "")
        if not name:
            metadata["name"] = call.name
        elif name != call.name:
            raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({call.name})")


def _check_namespace(call: Call, obj: JSONObject) -> None:
    metadata = obj["metadata"]
    namespace = metadata.get("namespace", "")
    if not call.namespace:
        metadata.pop("namespace", None)
    elif not namespace:
        metadata["namespace"] = call.namespace
    elif namespace != call.namespace:
        raise bad_request(NOT_HERE)


NOT_HERE: Final = "the namespace of the provided object does not match the namespace sent on the request"


async def create_object(state: State, call: Call, obj: JSONObject) -> Entry | JSONObject:
    """Store a new object, or show what would be stored. Fills in what the server decides."""
    check_namespace(state, call, obj)
    asked = attributes_of(call, "CREATE", obj)
    await state.admission.mutate(asked)
    assert asked.object is not None
    _check_namespace(call, asked.object)
    generated = not asked.object["metadata"].get("name") and bool(asked.object["metadata"].get("generateName"))
    for _ in range(_NAME_TRIES - 1 if generated else 0):
        try:
            return await _create_admitted(state, call, asked)
        except RevisionConflict:  # somebody took the name meanwhile; there are others
            continue
    try:
        return await _create_admitted(state, call, asked)
    except RevisionConflict:
        raise already_exists(call.type, asked.name) from None


async def _create_admitted(state: State, call: Call, asked: Attributes) -> Entry | JSONObject:
    type_, obj = call.type, asked.object
    assert obj is not None
    obj = {**obj, "metadata": {**obj["metadata"]}}
    metadata = obj["metadata"]
    if metadata.get("resourceVersion"):
        raise Failure(500, "", "resourceVersion should not be set on objects to be created")
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        metadata.pop(field, None)
    metadata["uid"] = state.uid()
    metadata["creationTimestamp"] = state.now()
    if type_.has_status:
        _clear_status(type_, obj)
    if type_.strategy.has_generation:
        metadata["generation"] = 1
    generated = not metadata.get("name") and bool(metadata.get("generateName"))
    if generated:
        metadata["name"] = _free_name(state, type_, metadata)
    try:
        type_.strategy.prepare_create(obj)
        return await _create_prepared(state, call, asked, obj)
    finally:
        type_.strategy.settle(metadata["uid"])


async def _create_prepared(state: State, call: Call, asked: Attributes, obj: JSONObject) -> Entry | JSONObject:
    type_, metadata = call.type, obj["metadata"]
    errors = _object_meta.validate_create(type_, obj) + type_.strategy.validate_create(obj)
    if errors:
        raise invalid(type_, metadata.get("name", ""), errors)
    call.warnings += _object_meta.warnings(type_, metadata, None) + type_.strategy.warnings(obj, None)
    await state.admission.validate(replace(asked, object=obj, name=metadata["name"]))
    if state.storage.get(type_.storage, metadata.get("namespace", ""), metadata["name"]) is not None:
        raise already_exists(type_, metadata["name"])
    if call.dry_run:
        return await read_back(type_, obj)
    return await store(state, type_, obj, None)


def _clear_status(type_: ResourceType, obj: JSONObject) -> None:
    """Nobody but the server sets a new object's status. Go writes an empty one."""
    if type_.custom:
        obj.pop("status", None)
    elif "status" in obj:
        obj["status"] = type_.strategy.read({"metadata": {}}, problems=None).get("status", {})


def _free_name(state: State, type_: ResourceType, metadata: JSONObject) -> str:
    name = ""
    for _ in range(_NAME_TRIES):
        name = _object_meta.generated_name(metadata["generateName"], state.rng)
        if state.storage.get(type_.storage, metadata.get("namespace", ""), name) is None:
            break
    return name


def check_namespace(state: State, call: Call, obj: JSONObject) -> None:
    """New objects need a namespace that exists and is not about to go."""
    if not call.type.namespaced:
        return
    found = state.storage.get(_NAMESPACES, "", call.namespace)
    namespaces = state.types.find("", "v1", "namespaces")
    if found is None:
        assert namespaces is not None
        raise not_found(namespaces, call.namespace)
    if b'"Terminating"' in found.raw and found.decode().get("status", {}).get("phase") == "Terminating":
        cause = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {call.namespace} is being terminated",
            "field": "metadata.namespace",
        }
        text = f"unable to create new content in namespace {call.namespace} because it is being terminated"
        raise forbidden(call.type, obj["metadata"].get("name", ""), text, [cause])


def stored_form(type_: ResourceType, obj: JSONObject) -> JSONObject:
    """An object as it is stored."""
    return obj if type_.conversion is None else type_.conversion.to_storage(obj)


async def store(state: State, type_: ResourceType, obj: JSONObject, old: Entry | None) -> Entry:
    """Write an object at a new revision; a webhook may have to convert it first, and again for whoever reads it then.

    Raises `RevisionConflict` when something else is stored than was expected.
    """
    entry = state.storage.put(type_.storage, await to_storage(type_, obj), old)
    await ready(type_, [entry])
    return entry


def commit(state: State, type_: ResourceType, obj: JSONObject, old: Entry | None) -> Entry:
    """Write an object at a new revision."""
    return state.storage.put(type_.storage, stored_form(type_, obj), old)


# Update


async def update(state: State, call: Call) -> Answer:
    """PUT of an object, or of its status."""
    call.check_options()
    obj = read_object(state, call)
    place(call, obj)
    found = state.storage.get(call.type.storage, call.namespace, call.name)
    if found is None:
        return await _create_by_update(state, call, obj)
    old = decoded(call.type, found)
    metadata = obj["metadata"]
    uid = metadata.get("uid")
    if uid and uid != old["metadata"]["uid"]:
        raise uid_mismatch(call.type, call.namespace, call.name, uid, old["metadata"]["uid"])
    return answer(state, call, await update_object(state, call, obj, found, old), 200)


async def _create_by_update(state: State, call: Call, obj: JSONObject) -> Answer:
    if call.subresource or not call.type.strategy.allows_create_on_update:
        raise not_found(call.type, call.name)
    if obj["metadata"].get("uid"):
        raise uid_mismatch(call.type, call.namespace, call.name, obj["metadata"]["uid"], "")
    obj["metadata"].pop("resourceVersion", None)
    obj = manager_of(state, call.type).update(None, obj, manager_name_of(call), state.now())
    return answer(state, call, await create_object(state, call, obj), 201)


async def update_object(
    state: State,
    call: Call,
    obj: JSONObject,
    found: Entry,
    old: JSONObject,
    *,
    managed: bool = False,
    shown: Callable[[JSONObject], JSONObject] | None = None,
) -> Entry | JSONObject:
    """Write a changed object, or show what would be written. `managed` tells that its managed fields are set already.

    Nothing is written when nothing changed. An object that was only waiting for its finalizers goes when they are gone.
    `shown` makes of the object what admission sees of it, such as a Scale; its first phase is then the caller's.
    """
    type_, before = call.type, old["metadata"]
    strategy = type_.strategy
    if not managed:
        manager, given = manager_of(state, type_, call.subresource), obj
        obj = await converting(lambda: manager.update(old, given, manager_name_of(call), state.now()))
    asked = attributes_of(call, "UPDATE", obj, old)
    if shown is None:
        await state.admission.mutate(asked)
        assert asked.object is not None
        obj = asked.object
        _check_namespace(call, obj)
    _check_revision(call, obj, before)
    obj = _within_subresource(type_, obj, old, call.subresource)
    _keep(obj["metadata"], before, "generation")
    try:
        strategy.prepare_update(obj, old, call.subresource)
        return await _update_prepared(state, call, obj, found, old, asked, shown or _itself)
    finally:
        strategy.settle(before["uid"])


async def _update_prepared(
    state: State,
    call: Call,
    obj: JSONObject,
    found: Entry,
    old: JSONObject,
    asked: Attributes,
    see: Callable[[JSONObject], JSONObject],
) -> Entry | JSONObject:
    type_, strategy = call.type, call.type.strategy
    metadata, before = obj["metadata"], old["metadata"]
    if strategy.has_generation and call.subresource != "status" and strategy.counts(obj, old):
        metadata["generation"] = before.get("generation", 0) + 1
    metadata.setdefault("uid", before["uid"])
    metadata["creationTimestamp"] = before["creationTimestamp"]
    if "deletionTimestamp" in before:
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
    if "deletionGracePeriodSeconds" in before:
        metadata.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])
    errors = _object_meta.validate_update(type_, obj, old) + strategy.validate_update(obj, old, call.subresource)
    call.warnings += strategy.forgiven(obj)
    if errors:
        raise invalid(type_, metadata.get("name", ""), errors)
    call.warnings += _object_meta.warnings(type_, metadata, before) + strategy.warnings(obj, old)
    from kubewright.cluster.merge import keep_times

    metadata["resourceVersion"] = before["resourceVersion"]
    obj = keep_times(old, obj)
    await state.admission.validate(replace(asked, object=see(obj), old=see(old)))
    return await _store_changed(state, call, obj, found, old)


def _check_revision(call: Call, obj: JSONObject, before: JSONObject) -> None:
    """A writer who names a revision must have read the last one."""
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


def _itself(obj: JSONObject) -> JSONObject:
    return obj


async def _store_changed(
    state: State, call: Call, obj: JSONObject, found: Entry, old: JSONObject
) -> Entry | JSONObject:
    from kubewright.cluster.merge import same

    type_ = call.type
    if call.dry_run:
        return await read_back(type_, obj)
    metadata = obj["metadata"]
    ends = metadata.get("deletionTimestamp") and not metadata.get("deletionGracePeriodSeconds")
    if ends and not type_.strategy.finalizers(obj):
        # The change itself is never written: watches see the object go as it was.
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
    """A write to `/status` keeps all else, and any other write keeps the status."""
    if subresource == "status":
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
