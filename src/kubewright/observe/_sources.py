"""`Sources`: the parts of an operator that metrics and reports read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from kubewright.cache import Informer
from kubewright.clock import Clock
from kubewright.events import EventRecorder
from kubewright.observe._inspection import Observed
from kubewright.observe._requests import RequestStats
from kubewright.observe._webhooks import Expiring, WebhookStats
from kubewright.watchdog import LoopWatchdog

if TYPE_CHECKING:
    from kubewright.election import ElectionStatus

__all__ = ["Elector", "Sources"]


def _none() -> Sequence[Any]:
    return ()


class Elector(Protocol):
    """The part of `LeaderElector` that metrics and reports use."""

    name: str

    @property
    def is_leader(self) -> bool:
        """Whether this process leads now."""

    @property
    def status(self) -> ElectionStatus:
        """The state of the election."""


class Sources(msgspec.Struct, kw_only=True):
    """Functions that return the parts of an operator. Each scrape calls them, because parts start and stop."""

    controllers: Callable[[], Sequence[Observed]] = _none
    informers: Callable[[], Sequence[Informer[Any]]] = _none
    requests: Callable[[], Sequence[RequestStats]] = _none
    recorders: Callable[[], Sequence[EventRecorder]] = _none
    electors: Callable[[], Sequence[Elector]] = _none
    webhooks: Callable[[], Sequence[WebhookStats]] = _none
    certificates: Callable[[], Sequence[Expiring]] = _none
    watchdogs: Callable[[], Sequence[LoopWatchdog]] = _none
    clock: Clock | None = None
