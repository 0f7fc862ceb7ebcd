"""Stored objects in the version that a request asks for."""

from __future__ import annotations

from kubewright.cluster.conversion._webhook import AsyncConversion
from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.cluster.storage._storage import Entry

__all__ = ["converted", "decoded"]


def decoded(type_: ResourceType, entry: Entry) -> JSONObject:
    """Returns a new copy of a stored object in a version."""
    if isinstance(type_.conversion, AsyncConversion):
        return type_.conversion.shown(entry)
    return converted(type_, entry.decode())


def converted(type_: ResourceType, obj: JSONObject) -> JSONObject:
    """Returns a decoded stored object in a version. May change `obj`."""
    if type_.conversion is not None:
        obj = type_.conversion.from_storage(obj)
    obj["apiVersion"], obj["kind"] = type_.api_version, type_.kind
    return obj
