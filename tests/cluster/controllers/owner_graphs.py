"""Random graphs of owner references for any cluster."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple, TypeAlias

from kubewright.api import core, meta
from kubewright.client import Client, MergePatch, NotFound, Propagation

__all__ = ["HELD", "Graph", "Outcome", "Reference", "play", "random_graph", "snapshot"]

Outcome: TypeAlias = dict[str, list[str]]
"""The remaining objects with their owners and finalizers; an exclamation mark marks a blocking reference."""
Check: TypeAlias = Callable[[str], Awaitable[None]]
_MISSING = "missing"
HELD = "example.com/held"


class Reference(NamedTuple):
    """An owner reference. The owner `missing` does not exist."""

    dependent: str
    owner: str
    blocks: bool


class Graph(NamedTuple):
    """Objects `a0`, `a1`, … in one namespace and `b0`, … in another, their references, and the deletions in order.

    Objects that are `held` have a finalizer that no controller removes.
    """

    objects: list[str]
    references: list[Reference]
    deletions: list[tuple[str, Propagation]]
    held: frozenset[str] = frozenset()


def random_graph(seed: int) -> Graph:
    """Returns a graph with cycles, missing owners and owners in another namespace."""
    chance = random.Random(seed)
    objects = [f"a{number}" for number in range(chance.randint(2, 6))] + ["b0"] * chance.randint(0, 1)
    owners = objects + [_MISSING] * (chance.random() < 0.2)
    pairs = {(chance.choice(objects), chance.choice(owners)) for _ in range(chance.randint(1, 2 * len(objects)))}
    references = [Reference(one, other, chance.random() < 0.7) for one, other in sorted(pairs) if one != other]
    policies: list[Literal["Background", "Foreground", "Orphan"]] = ["Background", "Foreground", "Orphan"]
    deletions = [(name, chance.choice(policies)) for name in chance.sample(objects, chance.randint(1, 2))]
    held = frozenset(chance.sample(objects, 1)) if chance.random() < 0.3 else frozenset[str]()
    return Graph(objects, references, deletions, held)


async def play(graph: Graph, client: Client, prefix: str, check: Check) -> None:
    """Creates the objects, sets their owners, and deletes some; calls `check` after each step.

    The object `b0` is in the namespace `<prefix>-b`, the others are in `<prefix>-a`; both exist.
    """
    uids = {_MISSING: "11111111-2222-3333-4444-555555555555"}
    for name in graph.objects:
        metadata = meta.ObjectMeta(name=name, namespace=_namespace(prefix, name))
        metadata.finalizers = [HELD] if name in graph.held else []
        made = core.ConfigMap(metadata=metadata)
        uids[name] = str((await client.create(made)).metadata.uid)
    for name in graph.objects:
        references = [each for each in graph.references if each.dependent == name]
        if references:
            patch = MergePatch({"metadata": {"ownerReferences": [_reference(each, uids) for each in references]}})
            await _present(client.patch(core.ConfigMap, name, patch, _namespace(prefix, name)))
            await check(f"the owners of {name}")
    for name, policy in graph.deletions:
        await _present(client.delete(core.ConfigMap, name, _namespace(prefix, name), propagation=policy))
        await check(f"the deletion of {name} ({policy})")


async def snapshot(client: Client, prefix: str) -> Outcome:
    """Returns the remaining objects of one graph."""
    found = [each for space in "ab" for each in await client.list(core.ConfigMap, f"{prefix}-{space}")]
    return {
        each.metadata.name: [
            *sorted(
                f"{owner.name}{'!' * bool(owner.block_owner_deletion)}" for owner in each.metadata.owner_references
            ),
            *(f"+{finalizer}" for finalizer in each.metadata.finalizers),
        ]
        for each in found
        if each.metadata.name != "kube-root-ca.crt"
    }


def _namespace(prefix: str, name: str) -> str:
    return f"{prefix}-{name[0]}"


def _reference(reference: Reference, uids: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": reference.owner,
        "uid": uids[reference.owner],
        "blockOwnerDeletion": reference.blocks,
    }


async def _present(writing: Awaitable[object]) -> None:
    """Writes to an object that the collector may have deleted already."""
    with contextlib.suppress(NotFound):
        await writing
