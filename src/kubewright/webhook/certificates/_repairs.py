"""`Repairs`: when an object that somebody else keeps changing is repaired again, and who that is.

A bundle that was lost by mistake is written again at once. When another program writes the same field, each of the two
would undo what the other has done as fast as it can. So each further repair waits twice as long as the one before, five
minutes at most, and the log says now and then who writes against it. What then stays for ten minutes begins anew.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Final, TypeAlias

import msgspec

from kubewright.clock import Clock
from kubewright.durations import format_duration
from kubewright.queue import ExponentialBackoff
from kubewright.webhook.certificates._targets import Target

__all__ = ["Repairs"]

logger = logging.getLogger("kubewright.webhook")

_FIRST: Final = 1.0
_LONGEST: Final = 300.0
_CALM: Final = 600.0
_TOLD_EVERY: Final = 3600.0
_TOLD_FROM: Final = 3
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)

_Key: TypeAlias = tuple[str, str]


class _Written(msgspec.Struct, frozen=True):
    bundle: bytes
    at: float
    again: float


class Repairs:
    """What was written into which object, and when it may be again. `manager` is the name that it is written under."""

    def __init__(self, clock: Clock, manager: str) -> None:
        self._clock = clock
        self._manager = manager
        self._backoff: ExponentialBackoff[_Key] = ExponentialBackoff(base=_FIRST, cap=_LONGEST)
        self._written: dict[_Key, _Written] = {}
        self._told: dict[_Key, float] = {}

    def wait(self, target: Target, bundle: bytes) -> float:
        """Seconds until the bundle may be written into the object; 0 when that is now. Another bundle need not wait."""
        last = self._last(target, bundle)
        return max(last.again - self._clock.monotonic(), 0.0) if last is not None else 0.0

    def wrote(self, target: Target, bundle: bytes) -> None:
        """The bundle was written into the object, which was found like this."""
        key, now = _key(target), self._clock.monotonic()
        if self._last(target, bundle) is None:
            self._backoff.forget(key)
            self._written[key] = _Written(bundle, now, now)
            return
        self._written[key] = _Written(bundle, now, now + self._backoff.when(key))
        if self._backoff.retries(key) >= _TOLD_FROM and now - self._told.get(key, -_TOLD_EVERY) >= _TOLD_EVERY:
            self._told[key] = now
            logger.warning(
                "the CA bundle that this operator writes into %s %s does not stay: %s. Let only one program write"
                " it; until then it is written again ever more rarely, at last every %s",
                target.kind,
                target.metadata.name,
                _against(target, self._manager),
                format_duration(_LONGEST),
            )

    def _last(self, target: Target, bundle: bytes) -> _Written | None:
        """When it was written for the last time, unless that was another one, or long ago."""
        last = self._written.get(_key(target))
        if last is None or last.bundle != bundle or self._clock.monotonic() - last.again >= _CALM:
            return None
        return last


def _against(target: Target, manager: str) -> str:
    """Who else has written bundles into the object, the last one, by its managed fields. Nobody owns what is gone."""
    others = [
        entry
        for entry in target.metadata.managed_fields or ()
        if entry.manager != manager and b'"f:caBundle"' in msgspec.json.encode(entry.fields())
    ]
    last = max(others, key=lambda entry: entry.time or _LONG_AGO, default=None)
    if last is None:
        return "somebody takes it away, and the managed fields do not tell who"
    return f"{last.manager} writes it, too"


def _key(target: Target) -> _Key:
    return str(target.kind), str(target.metadata.name)
