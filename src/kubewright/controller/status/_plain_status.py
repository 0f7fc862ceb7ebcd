"""Statuses as plain JSON, and the JSON Patch from one to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kubewright.api import Object, Untyped, decode, encode, from_dict, info_of, to_dict
from kubewright.diff import ListKeys, Operation, diff

if TYPE_CHECKING:
    from kubewright.api.meta.v1 import Condition

__all__ = [
    "conditions_of",
    "has_conditions",
    "put_conditions",
    "put_status",
    "refuse_changed_status",
    "status_changes",
    "status_of",
]


class _Version(msgspec.Struct, gc=False, rename="camel"):
    resource_version: str


class _Content(msgspec.Struct, gc=False):
    """Only the compared fields: most objects are much larger than their status."""

    metadata: _Version
    status: Any = None


_decoder = msgspec.json.Decoder(_Content)


def status_of(obj: Object) -> Any:
    """Returns the object's status, of any type."""
    return obj.get("status") if isinstance(obj, Untyped) else getattr(obj, "status", None)


def put_status(obj: Object, status: Any) -> None:
    """Sets the object's status."""
    if isinstance(obj, Untyped):
        obj["status"] = status
    elif not hasattr(obj, "status"):
        raise TypeError(f"{obj.kind} has no status to write")
    else:
        obj.status = status


def refuse_changed_status(obj: Object) -> None:
    """Raises ValueError if an object's status was changed since it was read, and `update` would not write it.

    The server ignores a status outside of /status, so the change would be lost silently.
    """
    origin = obj.metadata.origin
    if origin is None or "status" not in info_of(obj).subresources:
        return
    if _plain(status_of(obj)) != _plain(status_of(decode(type(obj), origin.raw))):
        raise ValueError(
            f"update does not write the status of {obj}, and its status was changed: write the status with"
            " ctx.set_status(...) or ctx.patch_status(...), or ctx.client.update_status(obj) for another object"
        )


def has_conditions(status: Any) -> bool:
    """Returns whether a status, a model or plain JSON, can have conditions."""
    return isinstance(status, dict) or hasattr(status, "conditions")


def conditions_of(status: Any) -> list[Condition] | None:
    """Returns the conditions of a status; None if it has no such field."""
    if not isinstance(status, dict):
        found: list[Condition] | None = getattr(status, "conditions", None)
        return found
    from kubewright.api.meta.v1 import Condition

    plain = status.get("conditions")
    return None if plain is None else [from_dict(Condition, condition) for condition in plain]


def put_conditions(status: Any, conditions: list[Condition], known: Any) -> None:
    """Sets the conditions of a status. Unknown members of conditions in plain JSON are kept."""
    if not isinstance(status, dict):
        status.conditions = conditions
        return
    plain = status.get("conditions") or (known.get("conditions") if isinstance(known, dict) else None) or ()
    before = {condition.get("type"): condition for condition in plain}
    status["conditions"] = [before.get(one.type, {}) | to_dict(one) for one in conditions]


def status_changes(kind: type[Object], raw: bytes, known: Any, wanted: Any) -> list[Operation]:
    """Returns the JSON Patch from the object in `raw`, whose status is `known`, to one with `wanted`; empty if equal.

    Fields that the model does not know stay. Fields that the server does not have are written, also if they equal the
    model's default: a reader without our model cannot distinguish an absent number from 0. The patch carries the
    resourceVersion, so that the server rejects it if the object has changed.
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
    """Returns the model's view of the stored status, without the defaults that the model added."""
    if raw is None:
        return None
    if isinstance(model, dict) and isinstance(raw, dict):
        return {name: _only_known(value, raw[name]) for name, value in model.items() if raw.get(name) is not None}
    if isinstance(model, list) and isinstance(raw, list) and len(model) == len(raw):
        return [_only_known(value, there) for value, there in zip(model, raw, strict=True)]
    return model
