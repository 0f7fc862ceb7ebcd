"""`RepairBackoff`: delays repeated repairs of an object that another program keeps changing.

A CA bundle that was lost by mistake is written again immediately. If another program writes the same field, each would
undo the changes of the other as fast as it can. So the delay doubles with each further repair, up to five minutes, and
the log names the other field manager once an hour. A bundle that stays for ten minutes resets the delay.
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

__all__ = ["RepairBackoff"]

logger = logging.getLogger("kubewright.webhook")

_FIRST_DELAY: Final = 1.0
_MAX_DELAY: Final = 300.0
_RESET_SECONDS: Final = 600.0
_WARNING_INTERVAL: Final = 3600.0
_WARNING_FROM: Final = 3
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)

_Key: TypeAlias = tuple[str, str]


class _Written(msgspec.Struct, frozen=True):
    bundle: bytes
    at: float
    again: float


class RepairBackoff:
    """The delays of repairs by object. `manager` is the operator's own field manager."""

    def __init__(self, clock: Clock, manager: str) -> None:
        self._clock = clock
        self._manager = manager
        self._backoff: ExponentialBackoff[_Key] = ExponentialBackoff(base=_FIRST_DELAY, cap=_MAX_DELAY)
        self._written: dict[_Key, _Written] = {}
        self._warned: dict[_Key, float] = {}

    def wait(self, target: Target, bundle: bytes) -> float:
        """Returns the seconds until the bundle may be written again; 0 for now. Another bundle need not wait."""
        last = self._last(target, bundle)
        return max(last.again - self._clock.monotonic(), 0.0) if last is not None else 0.0

    def wrote(self, target: Target, bundle: bytes) -> None:
        """Records that the bundle was written. `target` is the object as it was before."""
        key, now = _key(target), self._clock.monotonic()
        if self._last(target, bundle) is None:
            self._backoff.forget(key)
            self._written[key] = _Written(bundle, now, now)
            return
        self._written[key] = _Written(bundle, now, now + self._backoff.when(key))
        if (
            self._backoff.retries(key) >= _WARNING_FROM
            and now - self._warned.get(key, -_WARNING_INTERVAL) >= _WARNING_INTERVAL
        ):
            self._warned[key] = now
            logger.warning(
                "the CA bundle that this operator writes into %s %s does not stay: %s. Let only one program write"
                " it. Until then the delay between repairs grows to %s",
                target.kind,
                target.metadata.name,
                _other_writer(target, self._manager),
                format_duration(_MAX_DELAY),
            )

    def _last(self, target: Target, bundle: bytes) -> _Written | None:
        """Returns the last write of this bundle, or None if it was another bundle or long ago."""
        last = self._written.get(_key(target))
        if last is None or last.bundle != bundle or self._clock.monotonic() - last.again >= _RESET_SECONDS:
            return None
        return last


def _other_writer(target: Target, manager: str) -> str:
    """Returns which other field manager last wrote a bundle. A removed field has no manager."""
    others = [
        entry
        for entry in target.metadata.managed_fields or ()
        if entry.manager != manager and b'"f:caBundle"' in msgspec.json.encode(entry.fields())
    ]
    last = max(others, key=lambda entry: entry.time or _LONG_AGO, default=None)
    if last is None:
        return "another program removes it, and managedFields does not name the program"
    return f"the field manager {last.manager!r} writes it too"


def _key(target: Target) -> _Key:
    return str(target.kind), str(target.metadata.name)
