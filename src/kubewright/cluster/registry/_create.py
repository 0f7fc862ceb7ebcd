"""Create: POST, and a PUT or an apply of an object that does not exist."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from kubewright.cluster._state import State
from kubewright.cluster.admission import Attributes, attributes_of
from kubewright.cluster.conversion._webhook import stored_and_read
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import (
    Failure,
    already_exists,
    forbidden,
    invalid,
    not_found,
)
from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.cluster.machinery._responses import ApiResponse
from kubewright.cluster.registry._decoding import read_object
from kubewright.cluster.registry._field_managers import manager_name_of, manager_of
from kubewright.cluster.registry._store import check_path, check_path_namespace, object_response, store
from kubewright.cluster.registry.validation import _object_meta
from kubewright.cluster.storage._storage import Entry, RevisionConflict

__all__ = ["check_namespace", "create", "create_object", "next_generated_name"]

_NAMES: Final = ("metadata.name", "metadata.generateName")
_NAME_TRIES: Final = 8
_SYSTEM_FIELDS: Final = ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "uid")
_NAMESPACES: Final = "/namespaces"


async def create(state: State, call: Call) -> ApiResponse:
    """Handles POST to a collection."""
    call.check_options()
    obj = read_object(state, call)
    check_path(call, obj)
    for field in _SYSTEM_FIELDS:
        obj["metadata"].pop(field, None)
    obj = manager_of(state, call.type).update(None, obj, manager_name_of(call), state.now())
    return object_response(state, call, await create_object(state, call, obj), 201)


async def create_object(state: State, call: Call, obj: JSONObject) -> Entry | JSONObject:
    """Stores a new object and returns it; a dry run only returns it. Sets the fields that the server decides."""
    check_namespace(state, call, obj)
    attributes = attributes_of(call, "CREATE", obj)
    await state.admission.mutate(attributes)
    assert attributes.object is not None
    check_path_namespace(call, attributes.object)
    generated = not attributes.object["metadata"].get("name") and bool(
        attributes.object["metadata"].get("generateName")
    )
    for _ in range(_NAME_TRIES - 1 if generated else 0):
        try:
            return await _create_admitted(state, call, attributes)
        except RevisionConflict:  # another client took the name
            continue
    try:
        return await _create_admitted(state, call, attributes)
    except RevisionConflict:
        raise already_exists(call.type, attributes.name) from None


async def _create_admitted(state: State, call: Call, attributes: Attributes) -> Entry | JSONObject:
    type_, obj = call.type, attributes.object
    assert obj is not None
    obj = {**obj, "metadata": {**obj["metadata"]}}
    metadata = obj["metadata"]
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        metadata.pop(field, None)
    metadata["creationTimestamp"] = state.now()
    if type_.has_status:
        _clear_status(type_, obj)
    if type_.strategy.has_generation:
        metadata["generation"] = 1
    generated = not metadata.get("name") and bool(metadata.get("generateName"))
    if generated:
        metadata["name"] = _take_name(state, type_, metadata)
    place = (type_.storage, metadata.get("namespace", ""), metadata.get("name", ""))
    metadata["uid"] = state.uid() if call.dry_run else state.uid_of(*place)
    stored = False
    try:
        call.warnings += type_.strategy.early_warnings(obj)
        type_.strategy.prepare_create(obj)
        made = await _create_prepared(state, call, attributes, obj)
        stored = not call.dry_run
        return made
    finally:
        if generated and not stored:
            state.identities.return_name(*place[:2], metadata["generateName"], metadata["name"])
        type_.strategy.end_write(metadata["uid"])


async def _create_prepared(state: State, call: Call, attributes: Attributes, obj: JSONObject) -> Entry | JSONObject:
    type_, metadata = call.type, obj["metadata"]
    errors = _object_meta.validate_create(type_, obj) + type_.strategy.validate_create(obj)
    if type_.strategy.checks_name_last and any(error.field not in _NAMES for error in errors):
        errors = [error for error in errors if error.field not in _NAMES]
    if errors:
        raise invalid(type_, metadata.get("name", ""), errors)
    call.warnings += _object_meta.warnings(type_, metadata, None) + type_.strategy.warnings(obj, None)
    type_.strategy.canonicalize(obj)
    await state.admission.validate(replace(attributes, object=obj, name=metadata["name"]))
    if not call.dry_run and _is_revision(metadata.get("resourceVersion", "")):  # checked by the storage
        raise Failure(500, "", "resourceVersion should not be set on objects to be created")
    if state.storage.get(type_.storage, metadata.get("namespace", ""), metadata["name"]) is not None:
        raise already_exists(type_, metadata["name"])
    if call.dry_run:
        return await stored_and_read(type_, obj)
    return await store(state, type_, obj, None)


def _is_revision(text: str) -> bool:
    """Returns whether the storage reads a resourceVersion as a revision. It ignores zero, and everything else."""
    return text.isascii() and text.isdigit() and int(text) != 0


def _clear_status(type_: ResourceType, obj: JSONObject) -> None:
    """Clears the status of a new object, which only the server sets. Go writes an empty one."""
    if type_.custom:
        obj.pop("status", None)
    elif "status" in obj:
        obj["status"] = type_.strategy.read({"metadata": {}}, problems=None).get("status", {})


def next_generated_name(state: State, type_: ResourceType, namespace: str, prefix: str) -> str:
    """Returns the name that the next new object with a `generateName` gets."""
    return _generated(state, type_, namespace, prefix, state.identities.next_name)


def _take_name(state: State, type_: ResourceType, metadata: JSONObject) -> str:
    namespace, prefix = metadata.get("namespace", ""), metadata["generateName"]
    return _generated(state, type_, namespace, prefix, state.identities.take_name)


def _generated(
    state: State,
    type_: ResourceType,
    namespace: str,
    prefix: str,
    choose: Callable[[str, str, str, Callable[[str], bool]], str],
) -> str:
    if not type_.strategy.randomizes_names:
        return prefix
    storage = type_.storage
    return choose(storage, namespace, prefix, lambda name: state.storage.get(storage, namespace, name) is not None)


def check_namespace(state: State, call: Call, obj: JSONObject) -> None:
    """Raises `Failure` unless the namespace of a new object exists and is not terminating."""
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
