"""Conditions and their history."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.clock import VirtualClock
from kubewright.console.objects import Condition, ConditionHistory, conditions_of, parse_time, problems_first


def having(*conditions: Any) -> dict[str, Any]:
    return {"status": {"conditions": [*conditions]}}


def ready(status: str, reason: str = "", second: int = 0) -> dict[str, Any]:
    return {
        "type": "Ready",
        "status": status,
        "reason": reason,
        "lastTransitionTime": f"2026-01-01T00:00:{second:02d}Z",
    }


def test_reads_conditions_and_omits_malformed_ones() -> None:
    found = conditions_of(having(ready("True", "Up"), "nonsense", {"status": "True"}, {"type": 7}, {"type": "Odd"}))
    assert found == [
        Condition("Ready", "True", "Up", "", parse_time("2026-01-01T00:00:00Z")),
        Condition("Odd", ""),
    ]
    for odd in ({}, {"status": "Ready"}, {"status": {"conditions": {"a": 1}}}, {"status": None}):
        assert conditions_of(odd) == []


@pytest.mark.promise(
    "Objects and operators in the console",
    "An object's page shows its reconciliation, conditions with history, and owned objects, live.",
)
def test_records_transitions_after_the_first_observation() -> None:
    book = ConditionHistory(VirtualClock())
    book.record("a", having(ready("False", "Starting")))
    assert book.history("a") == ()
    book.record("a", having(ready("False", "Starting")))
    book.record("a", having(ready("True", "Up", 5)))
    book.record("a", having())
    newest, oldest = book.history("a")
    assert (oldest.before, oldest.after, oldest.reason) == ("False", "True", "Up")
    assert oldest.at == parse_time("2026-01-01T00:00:05Z")
    assert (newest.type, newest.before, newest.after) == ("Ready", "True", "")


def test_records_reason_change_with_observation_time() -> None:
    clock = VirtualClock()
    book = ConditionHistory(clock)
    book.record("a", having(ready("False", "Starting")))
    book.record("a", having(ready("False", "ImagePullBackOff")))
    [change] = book.history("a")
    assert (change.at, change.reason) == (clock.now(), "ImagePullBackOff")


def test_bounds_objects_and_transitions() -> None:
    clock = VirtualClock()
    book = ConditionHistory(clock)
    for number in range(200):
        book.record("a", having(ready("True" if number % 2 else "False", second=number % 60)))
    assert len(book.history("a")) == 50
    for number in range(2_100):
        book.record(f"other-{number}", having(ready("True")))
    assert book.history("a") == ()


@pytest.mark.promise("Objects and operators in the console", "Conditions that are a problem come first.")
def test_problems_come_first() -> None:
    given = {
        "Ready": "True",
        "Degraded": "False",
        "MemoryPressure": "False",
        "Progressing": "False",
        "Suspended": "True",
        "Synced": "Unknown",
        "Odd": "",
        "Available": "False",
        "DiskPressure": "True",
        "Progressing2": "False",
        "ReplicaFailure": "True",
    }
    found = problems_first(Condition(name, status) for name, status in given.items())
    assert [one.type for one in found[:4]] == ["Available", "DiskPressure", "Progressing2", "ReplicaFailure"]
    assert [one.type for one in found[4:6]] == ["Synced", "Odd"]
    assert [one.type for one in found[6:]] == ["Ready", "Degraded", "MemoryPressure", "Progressing", "Suspended"]
    assert problems_first([*found, Condition("Progressing", "False", "ProgressDeadlineExceeded")])[4].reason
