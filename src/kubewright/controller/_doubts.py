"""Doubts: objects about which the cache and the server have contradicted each other."""

from __future__ import annotations

import logging
from typing import Any, Final, TypeAlias

import msgspec

from kubewright.api import Object
from kubewright.cache import Snapshot
from kubewright.clock import Clock
from kubewright.controller._contests import Place
from kubewright.durations import format_duration

__all__ = ["Doubts"]

logger = logging.getLogger("kubewright.controller")

_LONG: Final = 10.0
_REMEMBERED: Final = 10_000

_Said: TypeAlias = tuple[str, int] | None


class _Doubt(msgspec.Struct):
    """One object about which the two contradict each other."""

    said: _Said
    """By the cache: the uid and the revision, or None when it had no such object."""
    since: float
    last: float


class Doubts:
    """Objects that are to be read from the server, until it says of them what the cache says.

    A cache is behind at times, and what was decided by it is then decided anew. But one whose watch is broken stays
    behind, and whoever believed it each time would never get on. So the next look is at the server; and when the two
    still contradict each other after ten seconds, and the cache still says the very same, the log says so, once for
    each kind until they agree.
    """

    def __init__(self, clock: Clock) -> None:
        self._now = clock.monotonic
        self._doubts: dict[Place, _Doubt | None] = {}
        self._told: set[type[Object]] = set()

    def __contains__(self, place: object) -> bool:
        return place in self._doubts

    def suspect(self, place: Place) -> None:
        """Something was refused by the cache's word alone. The server may well say the same."""
        self._make_room(place)
        self._doubts.setdefault(place, None)

    def arose(self, place: Place, cached: Snapshot[Any] | None) -> None:
        """What was decided by the cache's word could not be done, or the server says otherwise."""
        now, said, doubt = self._now(), _said(cached), self._doubts.get(place)
        if doubt is None or doubt.said != said:
            self._make_room(place)
            self._doubts[place] = _Doubt(said, since=now, last=now)
            return
        doubt.last, seconds = now, now - doubt.since
        kind, key = place
        if seconds >= _LONG and kind not in self._told:
            self._told.add(kind)
            logger.warning(
                "the cache of %s and the server have contradicted each other for %s, about %s for instance: its"
                " watch may be broken. Such objects are read from the server until the two agree",
                kind.__name__,
                format_duration(seconds),
                key,
            )

    def looked(self, place: Place, cached: Snapshot[Any] | None, live: Snapshot[Any] | None) -> None:
        """This is what the two say now."""
        if cached is None and live is None:
            doubt = self._doubts.get(place)
            if doubt is not None and self._now() - doubt.last < _LONG:
                return  # the server itself said otherwise just now: who is right will be seen when it is made
        elif cached is None or live is None or cached.uid != live.uid:
            self.arose(place, cached)
            return
        self._doubts.pop(place, None)  # another reconcile may have looked meanwhile
        if all(kind is not place[0] for kind, _ in self._doubts):
            self._told.discard(place[0])

    def _make_room(self, place: Place) -> None:
        if place not in self._doubts and len(self._doubts) >= _REMEMBERED:
            self._doubts.clear()


def _said(cached: Snapshot[Any] | None) -> _Said:
    return None if cached is None else (cached.uid, cached.resource_version)
