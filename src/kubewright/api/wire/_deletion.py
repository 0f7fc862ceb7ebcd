"""Whether an object that is being deleted still exists."""

from __future__ import annotations

import msgspec

from kubewright.api._object import ResourceInfo

__all__ = ["is_kept"]


class _Metadata(msgspec.Struct, gc=False, rename="camel"):
    deletion_grace_period_seconds: int | None = None
    finalizers: list[str] | None = None


class _Object(msgspec.Struct, gc=False):
    metadata: _Metadata


class _Spec(msgspec.Struct, gc=False):
    finalizers: list[str] | None = None


class _Namespace(msgspec.Struct, gc=False):
    spec: _Spec = msgspec.field(default_factory=_Spec)


_objects = msgspec.json.Decoder(_Object)
_namespaces = msgspec.json.Decoder(_Namespace)


def is_kept(info: ResourceInfo, raw: bytes) -> bool:
    """Whether finalizers or a grace period keep an object, given as the server's JSON, that is being deleted.

    A Namespace also has finalizers in its spec, until everything in it is gone.
    """
    metadata = _objects.decode(raw).metadata
    if metadata.finalizers or metadata.deletion_grace_period_seconds:
        return True
    return info.kind == "Namespace" and not info.group and bool(_namespaces.decode(raw).spec.finalizers)
