"""Field managers: connects requests with `kubewright.cluster.merge`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubewright.cluster._state import State
from kubewright.cluster.conversion._webhook import AsyncConversion
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import Failure
from kubewright.cluster.machinery._resources import JSONObject, ResourceType

if TYPE_CHECKING:
    from kubewright.cluster.merge import FieldManager, Refused

__all__ = ["manager_name_of", "manager_of", "merge_failure"]


def manager_of(state: State, type_: ResourceType, subresource: str = "") -> FieldManager:
    """Returns the field manager of a resource and one of its subresources. Cached."""
    key = (type_, subresource)
    found = state.managers.get(key)
    if found is None:
        found = state.managers[key] = _made(state, type_, subresource)
    return found


def _made(state: State, type_: ResourceType, subresource: str) -> FieldManager:
    from kubewright.cluster.merge import FieldManager, reset_fields

    # CRDs add and remove versions; they are looked up once per change.
    known: dict[str, ResourceType] = {}
    generation = -1

    def version(api_version: str) -> ResourceType | None:
        nonlocal generation
        if generation != state.types.generation:
            generation = state.types.generation
            known.clear()
            known.update({other.api_version: other for other in state.types.stored_as(type_.storage)})
        return known.get(api_version)

    def schema_of(api_version: str) -> Any:
        other = version(api_version)
        return None if other is None else other.schema()

    def convert(obj: JSONObject, api_version: str) -> JSONObject:
        other = version(api_version)
        if other is None or other.api_version == obj.get("apiVersion"):
            return obj
        if isinstance(other.conversion, AsyncConversion):
            return other.conversion.between(obj, other)
        source = version(obj.get("apiVersion", ""))
        stored = obj if source is None or source.conversion is None else source.conversion.to_storage(obj)
        shown = stored if other.conversion is None else other.conversion.from_storage(stored)
        return {**shown, "apiVersion": other.api_version, "kind": other.kind}

    others = state.types.stored_as(type_.storage)
    converts = any(other.conversion is not None for other in others)
    reset = reset_fields(type_.api_version, type_.kind, subresource, has_status=type_.has_status, custom=type_.custom)
    # of all versions: otherwise managers of other versions would lose fields
    if type_.custom and subresource == "status":
        for other in others:
            reset |= reset_fields(other.api_version, other.kind, "status", has_status=True, custom=True)
    return FieldManager(
        type_.api_version,
        type_.kind,
        schema_of=schema_of,
        subresource=subresource,
        reset=reset,
        convert=convert if converts else None,
        default=type_.strategy.default,
    )


def manager_name_of(call: Call) -> str:
    """Returns the name of the field manager of a write: `fieldManager`, or the program's name in the User-Agent."""
    from kubewright.cluster.merge import manager_name

    return manager_name(call.query.get("fieldManager", ""), call.header("User-Agent"))


def merge_failure(error: Refused, type_: ResourceType, name: str) -> Failure:
    """Returns the response for an error of `merge`."""
    details: JSONObject | None = {} if error.code == 422 else None
    if error.causes:
        details = {"causes": list(error.causes)}
    return Failure(error.code, error.reason, error.message, details)
