"""Limits how often a controller reconciles objects with many pods: each pod triggers reconciliations over all pods."""

from __future__ import annotations

from typing import Any, Final

import kubewright as kw
from kubewright.cache import ObjectKey

__all__ = ["Pace"]

_SECONDS_PER_POD: Final = 0.0025
_MAX_DELAY_SECONDS: Final = 1.0
_UNPACED_PODS: Final = 20
_LEAST: Final = 0.001  # seconds; a shorter wait than the clock's resolution would never end


class Pace:
    """Delays reconciliations of an object after one with many pods; few pods are processed on every change.

    The delay grows with the number of pods, up to a second. The total cost therefore grows with time, not with the
    square of the pods.
    """

    def __init__(self) -> None:
        self._last: dict[ObjectKey, tuple[float, int]] = {}

    def wait(self, ctx: kw.Context[Any]) -> kw.Result | None:
        """Returns when to reconcile if it is too early now."""
        moment, count = self._last.get(ctx.key, (0.0, 0))
        left = moment + min(count * _SECONDS_PER_POD, _MAX_DELAY_SECONDS) - ctx.clock.monotonic()
        return kw.Result(requeue_after=left) if count > _UNPACED_PODS and left > _LEAST else None

    def record(self, ctx: kw.Context[Any], count: int) -> None:
        """Records a reconciliation with that many pods."""
        if count > _UNPACED_PODS:
            self._last[ctx.key] = (ctx.clock.monotonic(), count)
        else:
            self._last.pop(ctx.key, None)
