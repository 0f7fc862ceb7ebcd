"""`failing_objects`: the objects whose last reconcile failed, for lists of many objects."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

import msgspec

from kubewright.observe._inspection import Observed
from kubewright.observe._stats import Ending

__all__ = ["FailingObject", "FailingObjects", "failing_objects"]

_OBJECTS_AT_MOST: Final = 1_000
_ERROR_LENGTH: Final = 500


class FailingObject(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An object whose last reconcile failed."""

    controller: str
    namespace: str = ""
    name: str
    result: Ending
    attempt: int = 1
    """How often it failed in a row, as far as the queue counts."""
    since: datetime
    """When the first of these reconciles ended."""
    ended_at: datetime
    """When the last reconcile ended."""
    error: str = ""


class FailingObjects(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The failing objects of an operator."""

    objects: tuple[FailingObject, ...] = ()
    """At most 1,000, by controller, the newest failures first."""
    total: int = 0


def failing_objects(controllers: Iterable[Observed]) -> FailingObjects:
    """Returns the existing objects whose last reconcile failed. Call it in the controllers' event loop."""
    found: list[FailingObject] = []
    total = 0
    for controller in controllers:
        now, monotonic = controller.clock.now(), controller.clock.monotonic()
        failing = [one for one in controller.history.failing() if controller.snapshot(one[0]) is not None]
        total += len(failing)
        for key, since in islice(reversed(failing), _OBJECTS_AT_MOST - len(found)):
            newest = controller.history.newest(key)
            if newest is None:
                continue
            found.append(
                FailingObject(
                    controller=controller.name,
                    namespace=key.namespace,
                    name=key.name,
                    result=newest.ending,
                    attempt=newest.attempt,
                    since=now + timedelta(seconds=since - monotonic),
                    ended_at=now + timedelta(seconds=newest.ended - monotonic),
                    error=newest.error[:_ERROR_LENGTH],
                )
            )
    return FailingObjects(objects=tuple(found), total=total)
