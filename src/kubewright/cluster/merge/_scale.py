"""Managed fields of the scale subresource.

A Scale is not stored; its parent contains the replicas. Before a write, the parent's owners of the replicas become
owners of the Scale's replicas; afterwards they are converted back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubewright.cluster.merge._entries import Owned, encode_entries, read_entries
from kubewright.cluster.merge._trees import difference, has, tree_of

__all__ = ["parent_managed_fields", "scale_managed_fields"]

_SCALE_VERSION: Final = "autoscaling/v1"
_REPLICAS: Final = ("f:spec", "f:replicas")

Mappings = Mapping[str, Sequence[str]]
"""The path of the replicas in the parent, by the parent's version."""


def scale_managed_fields(entries: Any, mappings: Mappings) -> list[dict[str, Any]]:
    """Returns the managedFields of the Scale object, from its parent's."""
    found = {}
    for manager, owned in read_entries(entries).items():
        where = mappings.get(owned.api_version)
        if where is not None and has(owned.tree, *_steps(where)):
            found[manager] = Owned(tree_of(_REPLICAS), _SCALE_VERSION, owned.time)
    return encode_entries(found)


def parent_managed_fields(
    entries: Any, scale_entries: Any, mappings: Mappings, api_version: str
) -> list[dict[str, Any]]:
    """Returns the managedFields of the parent after a write to its Scale.

    `api_version` is the version of the parent that new owners of the replicas use. Entries of versions that `mappings`
    does not contain are dropped.
    """
    scale = read_entries(scale_entries)
    parent = read_entries(entries)
    found = {}
    for manager, owned in parent.items():
        where = mappings.get(owned.api_version)
        if where is None:
            continue
        steps = _steps(where)
        if not has(owned.tree, *steps):
            found[manager] = owned
        elif manager in scale:
            found[manager] = owned
            del scale[manager]
        else:
            tree = difference(owned.tree, tree_of(steps))
            if tree:
                found[manager] = owned._replace(tree=tree)
    for manager, owned in scale.items():
        if has(owned.tree, *_REPLICAS):
            before = parent.get(manager)  # the server stores no time for a new manager
            time = before.time if before else None
            found[manager] = Owned(tree_of(_steps(mappings[api_version])), api_version, time)
    return encode_entries(found)


def _steps(where: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"f:{name}" for name in where)
