"""Managed fields of the scale subresource.

A Scale is not stored; what it says is in its parent. So before a write to it the parent's owners of the replicas become
owners of the Scale's replicas, and afterwards they become the parent's again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubewright.cluster.merge._entries import Owned, read_entries, written
from kubewright.cluster.merge._trees import difference, has, tree_of

__all__ = ["parent_managed_fields", "scale_managed_fields"]

_SCALE_VERSION: Final = "autoscaling/v1"
_REPLICAS: Final = ("f:spec", "f:replicas")

Mappings = Mapping[str, Sequence[str]]
"""The path of the replicas in the parent, by the parent's version."""


def scale_managed_fields(entries: Any, mappings: Mappings) -> list[dict[str, Any]]:
    """The managedFields of the Scale object, from its parent's."""
    found = {}
    for manager, owned in read_entries(entries).items():
        where = mappings.get(owned.api_version)
        if where is not None and has(owned.tree, *_steps(where)):
            found[manager] = Owned(tree_of(_REPLICAS), _SCALE_VERSION, owned.time)
    return written(found)


def parent_managed_fields(
    entries: Any, scale_entries: Any, mappings: Mappings, api_version: str
) -> list[dict[str, Any]]:
    """The managedFields of the parent after a write to its Scale, from its own before and the Scale's after.

    `api_version` is the version of the parent in which new owners of the replicas name them. An entry of a version that
    `mappings` does not know is dropped.
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
            before = parent.get(manager)  # the server keeps no time for one that is new
            time = before.time if before else None
            found[manager] = Owned(tree_of(_steps(mappings[api_version])), api_version, time)
    return written(found)


def _steps(where: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"f:{name}" for name in where)
