"""Requests of users to reconcile an object now, by an annotation. RBAC decides who may set it."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubewright.cache import Change

__all__ = ["RECONCILE_ANNOTATION", "is_requested"]

RECONCILE_ANNOTATION: Final = "kubewright.dev/reconcile-requested-at"
"""A change of this annotation reconciles the object, whatever the predicates of its controller are."""

_NAME: Final = RECONCILE_ANNOTATION.encode()


class _Metadata(msgspec.Struct):
    annotations: dict[str, str] = {}


class _Annotated(msgspec.Struct):
    metadata: _Metadata


def is_requested(change: Change[Any]) -> bool:
    """Returns whether a change is a request. Decodes only objects that have the annotation."""
    old, new = change.old, change.new
    if change.type != "updated" or old is None or new is None or _NAME not in new.raw:
        return False
    return _requested_at(new.raw) != _requested_at(old.raw)


def _requested_at(raw: bytes) -> str | None:
    try:
        return msgspec.json.decode(raw, type=_Annotated).metadata.annotations.get(RECONCILE_ANNOTATION)
    except (msgspec.DecodeError, RecursionError):
        return None
