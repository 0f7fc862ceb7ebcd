"""A definition that is being deleted: it stays until its objects are gone, and they wait for their finalizers."""

from __future__ import annotations

from collections.abc import Sequence

from kubewright.api import Untyped, apiextensions
from kubewright.client import ApiError, Client

__all__ = ["describe_blockers", "objects_with_finalizers"]

_SHOWN = 5


async def objects_with_finalizers(client: Client, definition: apiextensions.CustomResourceDefinition) -> list[str]:
    """The objects of a kind that wait for their finalizers, each in a few words; none where they cannot be read."""
    spec = definition.spec
    stored = next(one for one in spec.versions if one.storage)
    # Stored objects need no conversion, which may be done by an operator that is gone.
    version = stored if stored.served else next((one for one in spec.versions if one.served), stored)
    kind = Untyped.kind_of(
        f"{spec.group}/{version.name}", spec.names.kind, plural=spec.names.plural, namespaced=spec.scope == "Namespaced"
    )
    try:
        found = await client.list(kind)
    except ApiError:
        return []
    return [
        f"{spec.names.kind} {_place(obj)} has the finalizers {', '.join(obj.metadata.finalizers)}"
        for obj in found
        if obj.metadata.finalizers
    ]


def _place(obj: Untyped) -> str:
    return f"{obj.metadata.namespace}/{obj.metadata.name}" if obj.metadata.namespace else obj.metadata.name


def describe_blockers(held: Sequence[str]) -> str:
    """What a deletion waits for, in a sentence."""
    if not held:
        return "no object tells why, so look again in a moment"
    shown = "; ".join(held[:_SHOWN]) + (f"; and {len(held) - _SHOWN} more" if len(held) > _SHOWN else "")
    return f"{shown}. Is the operator that removes them running?"
