"""`Rows`: the rows of a cache, computed once per change of the object and of its state.

A state depends on the object, on its last reconcile, and on time: an object that is not ready for too long is failing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

import msgspec

from kubewright.api import Untyped
from kubewright.api.wire import UNREADABLE
from kubewright.cache import ObjectKey, Snapshot
from kubewright.clock import Clock
from kubewright.console.kinds import Kind
from kubewright.console.objects import Health, State, health_of, with_failure
from kubewright.observe import FailingObject

__all__ = ["Row", "Rows"]

Row: TypeAlias = dict[str, Any]
"""The cells of an object: `id`, `uid`, `namespace`, `name`, `state`, `why`, `message`, `since`, `created`,
`deleted`, `labels` (as a string), and the printer columns under their `field`. All of it is untrusted text.
"""


class _CachedRow(NamedTuple):
    resource_version: int
    failure: FailingObject | None
    rows: tuple[Row, Row]
    """The row without the error of the last reconcile, and with it."""


class Rows:
    """The rows of one kind's objects, and the failed reconciles that they show."""

    def __init__(self, kind: Kind, clock: Clock) -> None:
        self._kind = kind
        self._clock = clock
        self._cached: dict[ObjectKey, _CachedRow] = {}
        self._failures: Mapping[ObjectKey, FailingObject] = {}
        self._overdue_at: dict[ObjectKey, datetime] = {}
        self._next_overdue: datetime | None = None

    def of(self, snapshot: Snapshot[Untyped], *, show_error: bool) -> Row:
        """Returns the row of an object. The error of its last reconcile is part of it only with `show_error`."""
        known = self._cached.get(snapshot.key)
        failure = self._failures.get(snapshot.key)
        if known is None or known.resource_version != snapshot.resource_version or known.failure is not failure:
            known = self._cached[snapshot.key] = _CachedRow(
                snapshot.resource_version, failure, self._make(snapshot, failure)
            )
        return known.rows[show_error]

    def _make(self, snapshot: Snapshot[Untyped], failure: FailingObject | None) -> tuple[Row, Row]:
        obj = self._decoded(snapshot)
        health = self._track_overdue(snapshot.key, health_of(self._kind, obj))
        row = _row(self._kind, snapshot, obj, with_failure(health, failure, show_error=False))
        if failure is None:
            return row, row
        shown = with_failure(health, failure, show_error=True)
        return row, row | {"message": _message(shown)}

    def health(self, snapshot: Snapshot[Untyped], *, show_error: bool) -> Health:
        """Returns the state of an object."""
        health = health_of(self._kind, self._decoded(snapshot)).at(self._clock.now())
        return with_failure(health, self._failures.get(snapshot.key), show_error=show_error)

    def _decoded(self, snapshot: Snapshot[Untyped]) -> dict[str, Any]:
        try:
            obj = msgspec.json.decode(snapshot.raw)
        except UNREADABLE:
            obj = None
        if not isinstance(obj, dict):
            obj = {"metadata": {"name": snapshot.name}}
        return {"apiVersion": self._kind.api_version, "kind": self._kind.kind, **obj}

    def _track_overdue(self, key: ObjectKey, health: Health) -> Health:
        """Returns the current health, and stores when the object becomes overdue."""
        shown = health.at(self._clock.now())
        if shown.overdue_at is None:
            self._overdue_at.pop(key, None)
        else:
            self._overdue_at[key] = shown.overdue_at
            self._next_overdue = min(self._next_overdue or shown.overdue_at, shown.overdue_at)
        return shown

    # Changes

    def failing_keys(self) -> frozenset[ObjectKey]:
        """Returns the objects whose last reconcile failed."""
        return frozenset(self._failures)

    def set_failures(self, failures: Mapping[ObjectKey, FailingObject]) -> set[ObjectKey]:
        """Replaces the failed reconciles. Returns the objects whose rows may have changed."""
        before, kept = self._failures, dict(failures)
        for key, old in before.items():
            if key in kept and _is_same(kept[key], old):
                kept[key] = old  # the identical value, so that its row is kept
        self._failures = kept
        return {key for key in before.keys() | kept.keys() if before.get(key) is not kept.get(key)}

    def pop_overdue(self) -> set[ObjectKey]:
        """Returns the objects that have become failing because they were not ready for too long."""
        now = self._clock.now()
        if self._next_overdue is None or now < self._next_overdue:
            return set()
        found = {key for key, at in self._overdue_at.items() if at <= now}
        for key in found:
            self.drop(key)
        self._next_overdue = min(self._overdue_at.values(), default=None)
        return found

    def drop(self, key: ObjectKey) -> None:
        """Drops the row of an object."""
        self._cached.pop(key, None)
        self._overdue_at.pop(key, None)

    def redefine(self, kind: Kind) -> None:
        """Drops all rows, because the definition of the kind has changed."""
        self._kind = kind
        self._cached.clear()


def _is_same(one: FailingObject, other: FailingObject) -> bool:
    """Whether both describe the same reconcile. Times are computed for each report and differ by microseconds."""
    return (one.result, one.attempt, one.error) == (other.result, other.attempt, other.error)


def _row(kind: Kind, snapshot: Snapshot[Untyped], obj: dict[str, Any], health: Health) -> Row:
    return {
        "id": str(snapshot.key),
        "uid": snapshot.uid,
        "namespace": snapshot.namespace,
        "name": snapshot.name,
        "state": str(health.state),
        "why": health.why,
        "message": _message(health),
        "since": None if health.since is None else health.since.isoformat(timespec="seconds"),
        "created": (obj.get("metadata") or {}).get("creationTimestamp"),
        "deleted": (obj.get("metadata") or {}).get("deletionTimestamp"),
        "labels": ",".join(f"{name}={value}" for name, value in snapshot.label_items),
        **kind.printer.cells(obj),
    }


def _message(health: Health) -> str:
    """Returns the message of an object that needs an explanation."""
    return "" if health.state is State.READY else health.message or health.why
