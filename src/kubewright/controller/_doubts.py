"""Doubts: objects about which the cache and the server have contradicted each other."""

from __future__ import annotations

import logging
from typing import Any, Final

from kubewright.api import Object
from kubewright.cache import Snapshot
from kubewright.clock import Clock
from kubewright.controller._contests import Place

__all__ = ["Doubts"]

logger = logging.getLogger("kubewright.controller")

_LONG: Final = 10.0
_REMEMBERED: Final = 10_000


class Doubts:
    """Objects that are to be read from the server, until it says of them what the cache says.

    A cache is behind at times, and what was decided by it is then decided anew. But one whose watch is broken stays
    behind, and whoever believed it each time would never get on. So the next look is at the server; and when the two
    still contradict each other after ten seconds, the log says so, once for each kind until they agree.
    """

    def __init__(self, clock: Clock) -> None:
        self._now = clock.monotonic
        self._since: dict[Place, float] = {}
        self._told: set[type[Object]] = set()

    def __contains__(self, place: object) -> bool:
        return place in self._since

    def arose(self, place: Place) -> None:
        """What was decided by the cache's word could not be done, or the server says otherwise."""
        if place not in self._since and len(self._since) >= _REMEMBERED:
            self._since.clear()
        kind, key = place
        seconds = self._now() - self._since.setdefault(place, self._now())
        if seconds >= _LONG and kind not in self._told:
            self._told.add(kind)
            logger.warning(
                "the cache of %s and the server have contradicted each other for %.0f s, about %s for instance: its"
                " watch may be broken. Such objects are read from the server until the two agree",
                kind.__name__,
                seconds,
                key,
            )

    def looked(self, place: Place, cached: Snapshot[Any] | None, live: Snapshot[Any] | None) -> None:
        """This is what the two say now."""
        if cached is None and live is None:
            return  # who was right will be seen when it is made
        if cached is None or live is None or cached.uid != live.uid:
            self.arose(place)
            return
        del self._since[place]
        if all(kind is not place[0] for kind, _ in self._since):
            self._told.discard(place[0])
