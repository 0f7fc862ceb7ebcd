"""The tree of objects that an object owns, with the health of each.

Owner references follow the rules of the garbage collector: by UID, within a namespace, or from a cluster-scoped owner.
References are untrusted: cycles are cut, and a tree has at most 500 nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from kubewright.cache import ObjectKey, Snapshot
from kubewright.console.kinds import Kind
from kubewright.console.objects.states import Health
from kubewright.observe import KindName

__all__ = ["Node", "Tree", "child_kinds", "owned_tree", "with_dependents"]

_MAX_NODES: Final = 500
_MAX_DEPTH: Final = 12
_MAX_OTHERS: Final = 40

_BELOW: Final[Mapping[str, tuple[str, ...]]] = {
    "apps/deployments": ("apps/replicasets",),
    "apps/replicasets": ("core/pods",),
    "apps/statefulsets": ("core/pods", "core/persistentvolumeclaims", "apps/controllerrevisions"),
    "apps/daemonsets": ("core/pods", "apps/controllerrevisions"),
    "batch/cronjobs": ("batch/jobs",),
    "batch/jobs": ("core/pods",),
    "core/replicationcontrollers": ("core/pods",),
    "core/services": ("discovery.k8s.io/endpointslices",),
}
"""The kinds that Kubernetes' own controllers create for these kinds."""

_USUAL: Final = (
    *("apps/deployments", "apps/statefulsets", "apps/daemonsets", "batch/jobs", "batch/cronjobs", "core/pods"),
    *("core/services", "core/configmaps", "core/persistentvolumeclaims", "core/serviceaccounts"),
    "networking.k8s.io/ingresses",
)
"""The kinds to search if no operator reports what it owns."""


class Readable(Protocol):
    """The part of a cache that this module needs."""

    kind: Kind

    def owned_by(self, uid: str) -> list[Snapshot[Any]]:
        """Returns the objects with an owner reference to this UID."""

    def state(self, snapshot: Snapshot[Any], *, show_error: bool = False) -> Health:
        """Returns the state of an object."""


@dataclass(frozen=True)
class Node:
    """An object in the tree."""

    kind: Kind
    key: ObjectKey
    uid: str
    health: Health
    children: tuple[Node, ...] = ()

    def walk(self) -> Iterable[Node]:
        """Yields this node and all nodes below it."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class Tree:
    """The objects that an object owns."""

    children: tuple[Node, ...] = ()
    truncated: bool = False
    """Whether objects are missing because the tree is too large."""

    def walk(self) -> Iterable[Node]:
        """Yields all nodes."""
        for child in self.children:
            yield from child.walk()


def child_kinds(kind: Kind, every: Sequence[Kind], owned: Iterable[KindName]) -> list[Kind]:
    """Returns the kinds to search for objects that a kind's objects own, at any depth.

    These are the kinds that an operator reports as owned, and their dependents. Without a report: the usual workloads,
    and the cluster's other custom resources, those of the same group first. Secrets are included only if an operator
    owns them.
    """
    by_path = {one.path: one for one in every}
    owned_paths = [f"{one.group or 'core'}/{one.plural}" for one in owned]
    if owned_paths:
        wanted = owned_paths
    elif kind.path in _BELOW:
        wanted = [*_BELOW[kind.path]]
    else:
        others = sorted((one for one in every if one.custom and one != kind), key=lambda one: one.group != kind.group)
        wanted = [*_USUAL, *(one.path for one in others[:_MAX_OTHERS])]
    return [by_path[path] for path in with_dependents(wanted) if path in by_path]


def with_dependents(paths: Iterable[str]) -> list[str]:
    """Returns these kinds, and the kinds that Kubernetes' own controllers create for them, at any depth."""
    found: dict[str, None] = {}
    wanted = [*paths]
    while wanted:
        path = wanted.pop(0)
        if path not in found:
            found[path] = None
            wanted += _BELOW.get(path, ())
    return [*found]


def owned_tree(
    key: ObjectKey, uid: str, caches: Sequence[Readable], allowed: Callable[[Kind, ObjectKey], bool]
) -> Tree:
    """Returns the visible objects that the object with this UID owns. Objects below a hidden node are hidden too."""
    seen = {uid}
    truncated = False

    def below(owner: ObjectKey, owner_uid: str, depth: int) -> tuple[Node, ...]:
        nonlocal truncated
        found: list[Node] = []
        for cache in caches:
            for snapshot in sorted(cache.owned_by(owner_uid), key=lambda one: one.key):
                if snapshot.uid in seen or (owner.namespace and snapshot.namespace != owner.namespace):
                    continue
                if not allowed(cache.kind, snapshot.key):
                    continue
                if len(seen) > _MAX_NODES or depth > _MAX_DEPTH:
                    truncated = True
                    return tuple(found)
                seen.add(snapshot.uid)
                children = below(snapshot.key, snapshot.uid, depth + 1)
                health = cache.state(snapshot)
                found.append(Node(cache.kind, snapshot.key, snapshot.uid, health, children))
        return tuple(found)

    return Tree(below(key, uid, 1), truncated)
