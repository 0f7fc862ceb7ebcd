"""How often a controller looks at many pods: each look costs as much as there are pods, and each pod asks for looks."""

from __future__ import annotations

from typing import Any, Final

import kubewright as kw
from kubewright.cache import ObjectKey

__all__ = ["Pace"]

_SECONDS_PER_POD: Final = 0.0025
_LONGEST: Final = 1.0
_MANY: Final = 20
_LEAST: Final = 0.001  # seconds; a wait for less than the clock can tell apart would never end


class Pace:
    """Keeps looks at one object apart when the last one saw many pods; few pods are looked at whenever they change.

    The more pods, the longer it waits, up to a second. So what looking costs grows with the time, not with the square
    of the pods.
    """

    def __init__(self) -> None:
        self._last: dict[ObjectKey, tuple[float, int]] = {}

    def wait(self, ctx: kw.Context[Any]) -> kw.Result | None:
        """When to look again, if it is too early now."""
        moment, count = self._last.get(ctx.key, (0.0, 0))
        left = moment + min(count * _SECONDS_PER_POD, _LONGEST) - ctx.clock.monotonic()
        return kw.Result(requeue_after=left) if count > _MANY and left > _LEAST else None

    def looked(self, ctx: kw.Context[Any], count: int) -> None:
        """Take note of a look at that many pods."""
        if count > _MANY:
            self._last[ctx.key] = (ctx.clock.monotonic(), count)
        else:
            self._last.pop(ctx.key, None)
