"""`find_objects`: searches live objects of all kinds by name. Finds only objects that the viewer may see."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, NamedTuple

from kubewright.cache import CacheSyncError, ObjectKey
from kubewright.client import ApiError
from kubewright.console.access import Viewer
from kubewright.console.caches._pool import CacheHandle
from kubewright.console.caches._rows import Row
from kubewright.console.kinds import Kind

__all__ = ["MAX_SEARCHED_KINDS", "Found", "find_objects", "searched_kinds"]

MAX_SEARCHED_KINDS: Final = 60
"""The most kinds that a search reads. Each costs the API server a watch for a minute."""
_CONCURRENT: Final = 8
_MAX_WORDS: Final = 8
_MAX_LENGTH: Final = 200
_COMMON_KINDS: Final = (
    *("core/pods", "apps/deployments", "apps/statefulsets", "apps/daemonsets", "batch/jobs", "batch/cronjobs"),
    *("core/services", "networking.k8s.io/ingresses", "core/configmaps", "core/secrets"),
    *("core/persistentvolumeclaims", "core/serviceaccounts", "core/namespaces", "core/nodes"),
)
_SKIPPED: Final = frozenset(
    [
        *("core/events", "events.k8s.io/events", "coordination.k8s.io/leases", "core/endpoints"),
        *("discovery.k8s.io/endpointslices", "core/componentstatuses", "apps/controllerrevisions"),
    ]
)
"""Kinds that a search skips. They have many objects, which users find through the objects that they belong to."""


class Found(NamedTuple):
    """The best matches of one kind, best first, and the number of all its matches."""

    kind: Kind
    rows: Sequence[tuple[int, Row]]
    """Rank and row. 0: the name is the query; 1: the name begins with it; 2: it contains the words."""
    total: int


def searched_kinds(kinds: Sequence[Kind]) -> tuple[list[Kind], int]:
    """Returns the kinds that a search reads, and how many others there are: custom resources first, then the common
    built-in kinds, then the others.
    """
    by_path = {kind.path: kind for kind in kinds if kind.path not in _SKIPPED}
    custom = [kind for kind in by_path.values() if kind.custom]
    common = [by_path[path] for path in _COMMON_KINDS if path in by_path and not by_path[path].custom]
    wanted = [*dict.fromkeys([*custom, *common, *by_path.values()])]
    return wanted[:MAX_SEARCHED_KINDS], len(wanted) - len(wanted[:MAX_SEARCHED_KINDS])


async def find_objects(
    cache_of: Callable[[Kind], CacheHandle],
    viewer: Viewer,
    kinds: Sequence[Kind],
    namespaces: Sequence[str],
    query: str,
    *,
    most: int,
) -> AsyncIterator[Found]:
    """Yields the matches of each kind when its cache is ready. Kinds that the viewer may not list are not read.

    Every word of the query must be part of name, namespace or kind, and one of them part of the name.

    Args:
        cache_of: returns the cache of a kind.
        viewer: whose permissions apply.
        kinds: the kinds to read.
        namespaces: all namespaces, to determine where the viewer may list a kind.
        query: the words.
        most: the most rows to return of each kind.
    """
    words = query.lower()[:_MAX_LENGTH].split()[:_MAX_WORDS]
    if not words:
        return
    gate = asyncio.Semaphore(_CONCURRENT)

    async def search(kind: Kind) -> Found | None:
        async with gate:
            try:
                if not await viewer.visibility(kind, namespaces):
                    return None
                async with cache_of(kind) as cache:
                    names = f"{kind.kind} {kind.plural} {' '.join(kind.short_names)}".lower()
                    seen = await cache.visible(viewer)
                    ranked = [(rank, one.key) for one in seen if (rank := _rank(words, names, one.key)) is not None]
                    best = sorted(ranked)[:most]
                    rows = {row["id"]: row for row in await cache.rows_of(viewer, [key for _, key in best])}
                    shown = [(rank, rows[str(key)]) for rank, key in best if str(key) in rows]
                    return Found(kind, shown, len(ranked)) if shown else None
            except (ApiError, CacheSyncError, OSError):
                return None  # the frame reports a lost connection

    tasks = [asyncio.ensure_future(search(kind)) for kind in kinds]
    try:
        for done in asyncio.as_completed(tasks):
            found = await done
            if found is not None:
                yield found
    finally:
        for task in tasks:
            task.cancel()


def _rank(words: Sequence[str], kind_names: str, key: ObjectKey) -> int | None:
    name = key.name.lower()
    whole = f"{key.namespace}/{name} {kind_names}"
    if not all(word in whole for word in words):
        return None
    own = [word for word in words if word in name]
    if not own and not any("/" in word for word in words):
        return None
    return 0 if name in words else 1 if any(name.startswith(word) for word in own) else 2
