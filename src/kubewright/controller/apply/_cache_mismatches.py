"""Cache mismatches: objects about which the cache and the server disagree."""

from __future__ import annotations

import logging
from typing import Any, Final, TypeAlias

import msgspec

from kubewright.api import Object
from kubewright.cache import Snapshot
from kubewright.clock import Clock
from kubewright.controller.apply._write_conflicts import KindKey
from kubewright.durations import format_duration

__all__ = ["CacheMismatches"]

_logger = logging.getLogger("kubewright.controller")

_REPORT_AFTER: Final = 10.0
_REMEMBERED: Final = 10_000

_CachedVersion: TypeAlias = tuple[str, int] | None


class _Mismatch(msgspec.Struct):
    """One object about which the cache and the server disagree."""

    cached: _CachedVersion
    """The uid and the resourceVersion in the cache; None if the cache has no such object."""
    since: float
    last: float


class CacheMismatches:
    """Objects that are read from the server until it agrees with the cache.

    A cache that only lags behind catches up, and the decision is made again. A cache whose watch is broken stays
    behind, and a caller that trusts it never makes progress. So after a mismatch the object is read from the server. If
    the two still disagree after ten seconds, and the cache has not changed, a warning is logged, once per kind until
    they agree.
    """

    def __init__(self, clock: Clock) -> None:
        self._now = clock.monotonic
        self._mismatches: dict[KindKey, _Mismatch | None] = {}
        self._reported: set[type[Object]] = set()

    def __contains__(self, target: object) -> bool:
        return target in self._mismatches

    def suspect(self, target: KindKey) -> None:
        """Records that a request was refused only because of the cache. The server might accept it."""
        self._make_room(target)
        self._mismatches.setdefault(target, None)

    def found(self, target: KindKey, cached: Snapshot[Any] | None) -> None:
        """Records that the server contradicted the cached state."""
        now, version, mismatch = self._now(), _version(cached), self._mismatches.get(target)
        if mismatch is None or mismatch.cached != version:
            self._make_room(target)
            self._mismatches[target] = _Mismatch(version, since=now, last=now)
            return
        mismatch.last, seconds = now, now - mismatch.since
        kind, key = target
        if seconds >= _REPORT_AFTER and kind not in self._reported:
            self._reported.add(kind)
            _logger.warning(
                "the cache of %s and the server have contradicted each other for %s, for example about %s: the watch"
                " may be broken. Such objects are read from the server until the two agree",
                kind.__name__,
                format_duration(seconds),
                key,
            )

    def compare(self, target: KindKey, cached: Snapshot[Any] | None, live: Snapshot[Any] | None) -> None:
        """Compares the cached state with the server's, and drops the mismatch if they agree."""
        if cached is None and live is None:
            mismatch = self._mismatches.get(target)
            if mismatch is not None and self._now() - mismatch.last < _REPORT_AFTER:
                return  # the server itself reported the object just now: the next create shows which answer is right
        elif cached is None or live is None or cached.uid != live.uid:
            self.found(target, cached)
            return
        self._mismatches.pop(target, None)  # a concurrent reconcile may have dropped it
        if all(kind is not target[0] for kind, _ in self._mismatches):
            self._reported.discard(target[0])

    def _make_room(self, target: KindKey) -> None:
        if target not in self._mismatches and len(self._mismatches) >= _REMEMBERED:
            del self._mismatches[next(iter(self._mismatches))]


def _version(cached: Snapshot[Any] | None) -> _CachedVersion:
    return None if cached is None else (cached.uid, cached.resource_version)
