"""Definitions that are being deleted: they wait for their objects, which wait for their finalizers."""

from __future__ import annotations

from collections.abc import Sequence

from kubewright.api import Untyped, apiextensions
from kubewright.client import ApiError, Client

__all__ = ["describe_blockers", "objects_with_finalizers"]

_SHOWN = 5


async def objects_with_finalizers(client: Client, definition: apiextensions.CustomResourceDefinition) -> list[str]:
    """Describes each object of a kind that has finalizers. Returns none if the objects cannot be read."""
    spec = definition.spec
    stored = next(one for one in spec.versions if one.storage)
    # Reading the stored version needs no conversion webhook, whose operator may be gone.
    version = stored if stored.served else next((one for one in spec.versions if one.served), stored)
    kind = Untyped.kind_of(
        f"{spec.group}/{version.name}", spec.names.kind, plural=spec.names.plural, namespaced=spec.scope == "Namespaced"
    )
    try:
        found = await client.list(kind)
    except ApiError:
        return []
    return [
        f"{spec.names.kind} {_key(obj)} has the finalizers {', '.join(obj.metadata.finalizers)}"
        for obj in found
        if obj.metadata.finalizers
    ]


def _key(obj: Untyped) -> str:
    return f"{obj.metadata.namespace}/{obj.metadata.name}" if obj.metadata.namespace else obj.metadata.name


def describe_blockers(held: Sequence[str]) -> str:
    """Returns a sentence about the objects that a deletion waits for."""
    if not held:
        return "no object has finalizers; check again in a moment"
    shown = "; ".join(held[:_SHOWN]) + (f"; and {len(held) - _SHOWN} more" if len(held) > _SHOWN else "")
    return f"{shown}. Is the operator that removes them running?"
