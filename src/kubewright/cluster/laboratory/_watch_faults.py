"""`WatchFaults`: the part of the laboratory that disturbs watches and cached reads."""

from __future__ import annotations

import random

from kubewright.clock import VirtualClock
from kubewright.cluster._state import State
from kubewright.cluster.laboratory._resources import Kind, storage_of
from kubewright.cluster.laboratory._watches import (
    Audience,
    Delayed,
    Disturbance,
    Dropped,
    Frozen,
    Gates,
    Reordered,
    Stale,
)

__all__ = ["WatchFaults"]


class WatchFaults:
    """Disturbs the watches of a kind.

    Each method takes a `user`, and a `client`, which is a part of its User-Agent header. Default: the watches of all
    clients, except those of the cluster's own controllers (`system:kube-controller-manager`), which you name to
    disturb them.
    """

    def __init__(self, state: State, rng: random.Random) -> None:
        self._state = state
        self._rng = rng
        self._gates = Gates()
        state.gate = self._gates

    def frozen_watch(self, kind: Kind, *, user: str = "", client: str = "") -> Disturbance:
        """Holds back all events of a kind until the end of the block: `async with lab.frozen_watch(Deployment):`.

        Watches that start in the block send the current state and then freeze, too. No event is lost.
        """
        return self._disturbed(Frozen(self._audience(kind, user, client)))

    def delayed_watch(self, kind: Kind, seconds: float, *, user: str = "", client: str = "") -> Disturbance:
        """Delays all events of a kind, by the cluster's clock."""
        return self._disturbed(Delayed(self._audience(kind, user, client), seconds, self._state.clock))

    def dropped_watch(
        self,
        kind: Kind,
        *,
        name: str = "",
        nth: int = 1,
        times: int | None = None,
        user: str = "",
        client: str = "",
    ) -> Disturbance:
        """Drops events of a kind: from the n-th on, `times` of them. Default: all.

        A watch that restarts from an earlier revision receives them once the disturbance has ended.
        """
        if nth < 1 or (times is not None and times < 1):
            raise ValueError(f"nth and times must be at least 1, got nth={nth}, times={times}")
        return self._disturbed(Dropped(self._audience(kind, user, client), name, nth, times))

    def reordered_watch(self, kind: Kind, *, window: int = 10, user: str = "", client: str = "") -> Disturbance:
        """Reorders events of different objects of a kind within windows of that many events.

        Events wait until a window is full, or until the disturbance ends. Events of one object keep their order.
        """
        if window < 2:
            raise ValueError(f"window must be at least 2, got {window}")
        return self._disturbed(Reordered(self._audience(kind, user, client), window, self._rng))

    def stale(self, kind: Kind, *, revision: int | None = None, user: str = "", client: str = "") -> Disturbance:
        """Lets the server's cache of a kind lag behind, at a revision (default: the current one).

        As on a real server, this affects only reads from the cache: gets and lists with `resourceVersion=0` or an
        older one, and watches, whose later events wait for the end. Gets and lists without a resourceVersion, and
        writes, use the current state. A client that requests a newer revision, or the initial events of a watch
        without a resourceVersion, waits 3 s and gets the real server's timeout error.

        Raises ValueError for an unknown revision.
        """
        storage = self._state.storage
        at = storage.revision if revision is None else revision
        if not storage.compacted <= at <= storage.revision:
            raise ValueError(f"revision {at} is unknown: use one from {storage.compacted} to {storage.revision}")
        return self._disturbed(Stale(self._audience(kind, user, client), at))

    def end_watches(self, kind: Kind = "", *, user: str = "", client: str = "") -> int:
        """Ends the open watches of a kind (default: all), like a server that shuts down. Returns their number."""
        audience = self._audience(kind, user, client) if kind else Audience("", user, client)
        return self._state.end_watches(audience.storage, audience.has)

    def _audience(self, kind: Kind, user: str, client: str) -> Audience:
        return Audience(storage_of(self._state, kind), user, client)

    def _disturbed(self, disturbance: Disturbance) -> Disturbance:
        self._gates.add(disturbance)
        if isinstance(self._state.clock, VirtualClock):  # clients detect a stalled watch by a missing bookmark
            self._state.clock.stop_deferring()
        return disturbance
