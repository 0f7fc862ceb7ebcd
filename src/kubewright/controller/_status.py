"""What must be written so that an object has a certain status."""

from __future__ import annotations

from typing import Any

import msgspec

from kubewright.api import Object, Untyped, encode, to_dict
from kubewright.client._diff import Operation, diff
from kubewright.client._list_keys import ListKeys

__all__ = ["put_status", "status_changes", "status_of"]


class _Version(msgspec.Struct, gc=False, rename="camel"):
    resource_version: str


class _Content(msgspec.Struct, gc=False):
    """Only what is compared: most objects are larger than their status."""

    metadata: _Version
    status: Any = None


_decoder = msgspec.json.Decoder(_Content)


def status_of(obj: Object) -> Any:
    """The object's status, of whatever type."""
    return obj.get("status") if isinstance(obj, Untyped) else getattr(obj, "status", None)


def put_status(obj: Object, status: Any) -> None:
    """Give the object that status."""
    if isinstance(obj, Untyped):
        obj["status"] = status
    elif not hasattr(obj, "status"):
        raise TypeError(f"{obj.kind} has no status to write")
    else:
        obj.status = status


def status_changes(kind: type[Object], raw: bytes, known: Any, wanted: Any) -> list[Operation]:
    """The JSON patch from the object in `raw`, whose status is `known`, to one with `wanted`; empty when equal.

    What the model does not know stays. What the server does not have yet is written, also when it equals the model's
    default: a reader without our model cannot tell an absent number from 0. The patch carries the resource version, so
    that the server refuses it when the object has changed meanwhile.
    """
    content = _decoder.decode(raw)
    there = content.status
    before = _only_known(_plain(known), there)
    operations = list(diff(ListKeys(kind), _part(there), _part(before), _part(_plain(wanted))))
    if not operations:
        return []
    version = content.metadata.resource_version
    return [{"op": "replace", "path": "/metadata/resourceVersion", "value": version}, *operations]


def _plain(status: Any) -> Any:
    return msgspec.json.decode(encode(status)) if isinstance(status, msgspec.Struct) else to_dict(status)


def _part(status: Any) -> dict[str, Any]:
    return {} if status is None else {"status": status}


def _only_known(model: Any, raw: Any) -> Any:
    """The model's view of what the server has, without the defaults that the model added to it."""
    if raw is None:
        return None
    if isinstance(model, dict) and isinstance(raw, dict):
        return {name: _only_known(value, raw[name]) for name, value in model.items() if raw.get(name) is not None}
    if isinstance(model, list) and isinstance(raw, list) and len(model) == len(raw):
        return [_only_known(value, there) for value, there in zip(model, raw, strict=True)]
    return model
