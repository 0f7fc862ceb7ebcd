"""Steps that all writes share: the object's path, its stored form, and the response."""

from __future__ import annotations

from typing import Final

from kubewright.cluster._state import State
from kubewright.cluster.conversion._webhook import convert_entries, to_storage
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import bad_request, name_mismatch
from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.cluster.machinery._responses import ApiResponse
from kubewright.cluster.output._format import output_format
from kubewright.cluster.storage._storage import Entry

__all__ = [
    "NAMESPACE_MISMATCH",
    "check_path",
    "check_path_namespace",
    "commit",
    "object_response",
    "store",
    "stored_form",
]

NAMESPACE_MISMATCH: Final = "the namespace of the provided object does not match the namespace sent on the request"


def object_response(state: State, call: Call, made: Entry | JSONObject, status: int) -> ApiResponse:
    """Returns a written object in the format that the client accepts."""
    output = output_format(call)
    body = output.encode_entry(state, made) if isinstance(made, Entry) else output.encode_object(state, made)
    return ApiResponse(body, status=status, warnings=call.warnings)


def check_path(call: Call, obj: JSONObject) -> None:
    """Sets namespace and name from the path; a PUT must have the name. Raises `Failure` if the body has others."""
    metadata = obj.setdefault("metadata", {})
    check_path_namespace(call, obj)
    if not call.name or call.verb == "create":
        return
    name = metadata.get("name", "")
    if not name and call.verb != "update":
        metadata["name"] = call.name
    elif name != call.name:
        raise name_mismatch(name, call.name)


def check_path_namespace(call: Call, obj: JSONObject) -> None:
    """Sets the namespace from the path. Raises `Failure` if the body has another one."""
    metadata = obj["metadata"]
    namespace = metadata.get("namespace", "")
    if not call.namespace:
        metadata.pop("namespace", None)
    elif not namespace:
        metadata["namespace"] = call.namespace
    elif namespace != call.namespace:
        raise bad_request(NAMESPACE_MISMATCH)


def stored_form(type_: ResourceType, obj: JSONObject) -> JSONObject:
    """Returns the stored form of an object."""
    return obj if type_.conversion is None else type_.conversion.to_storage(obj)


async def store(state: State, type_: ResourceType, obj: JSONObject, old: Entry | None) -> Entry:
    """Stores an object at a new revision. Awaits the conversion webhook, also for the read of the result.

    Raises `RevisionConflict` if the stored entry is not `old`.
    """
    entry = state.storage.put(type_.storage, await to_storage(type_, obj), old)
    await convert_entries(type_, [entry])
    return entry


def commit(state: State, type_: ResourceType, obj: JSONObject, old: Entry | None) -> Entry:
    """Stores an object at a new revision, without awaiting a conversion."""
    return state.storage.put(type_.storage, stored_form(type_, obj), old)
