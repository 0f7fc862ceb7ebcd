"""Steps that all writes share: the object's path, its stored form, and the response."""

from __future__ import annotations

from typing import Final

from kubewright.cluster._state import State
from kubewright.cluster.conversion._webhook import ready, to_storage
from kubewright.cluster.machinery._answers import Answer
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import (
    bad_request,
)
from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.cluster.output._format import output_format
from kubewright.cluster.storage._storage import Entry

__all__ = ["NOT_HERE", "answer", "check_path_namespace", "commit", "place", "store", "stored_form"]

NOT_HERE: Final = "the namespace of the provided object does not match the namespace sent on the request"


def answer(state: State, call: Call, made: Entry | JSONObject, status: int) -> Answer:
    """A written object as the client wants to see it."""
    view = output_format(call)
    body = view.raw(state, made) if isinstance(made, Entry) else view.object(state, made)
    return Answer(body, status=status, warnings=call.warnings)


def place(call: Call, obj: JSONObject) -> None:
    """The object's namespace and name must be those of the path."""
    metadata = obj.setdefault("metadata", {})
    check_path_namespace(call, obj)
    if call.name and call.verb != "create":
        name = metadata.get("name", "")
        if not name:
            metadata["name"] = call.name
        elif name != call.name:
            raise bad_request(f"the name of the object ({name}) does not match the name on the URL ({call.name})")


def check_path_namespace(call: Call, obj: JSONObject) -> None:
    metadata = obj["metadata"]
    namespace = metadata.get("namespace", "")
    if not call.namespace:
        metadata.pop("namespace", None)
    elif not namespace:
        metadata["namespace"] = call.namespace
    elif namespace != call.namespace:
        raise bad_request(NOT_HERE)


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
