"""Counting, combining and holding back: the numbers of client-go, on a virtual clock."""

from __future__ import annotations

import pytest

from kubewright.api.core.v1 import ObjectReference
from kubewright.clock import VirtualClock
from kubewright.events import Correlator, EventRecord, EventType, Limits, Series

POD = ObjectReference(api_version="v1", kind="Pod", namespace="shop", name="web", uid="1")
OTHER = ObjectReference(api_version="v1", kind="Pod", namespace="shop", name="db", uid="2")


class Stage:
    def __init__(self, limits: Limits | None = None) -> None:
        self.clock = VirtualClock()
        self.correlator = Correlator(self.clock, limits)

    def record(
        self, message: str, reason: str = "Synced", about: ObjectReference = POD, type: EventType = "Normal"
    ) -> tuple[Series, bool]:
        return self.correlator.count(EventRecord.of(about, reason, message, type, "Reconcile", self.clock.now()))


async def test_repeated_record_is_one_event_with_a_count() -> None:
    stage = Stage()
    first, _ = stage.record("synced")
    await stage.clock.advance(60)
    again, _ = stage.record("synced")
    assert again is first
    assert (again.count, (again.last_at - again.first_at).total_seconds()) == (2, 60)
    assert stage.correlator.repeated == 1


def test_another_object_type_reason_or_message_is_another_event() -> None:
    stage = Stage()
    recorded = [
        stage.record("synced"),
        stage.record("synced", about=OTHER),
        stage.record("synced", type="Warning"),
        stage.record("synced", reason="Applied"),
        stage.record("all synced"),
    ]
    assert len({id(series) for series, _ in recorded}) == 5


@pytest.mark.promise(
    "Watching an operator",
    "Similar events become one, and an object is heard 25 times and then each five minutes.",
)
def test_the_tenth_similar_event_and_those_after_it_are_combined() -> None:
    stage = Stage()
    recorded = [stage.record(f"message {number}")[0] for number in range(12)]
    assert [series.combined for series in recorded] == [False] * 9 + [True] * 3
    assert recorded[9] is recorded[10] is recorded[11]
    assert (recorded[11].count, recorded[11].message) == (3, "(combined from similar events): message 11")
    assert stage.correlator.combined == 3


async def test_similar_events_that_lie_more_than_ten_minutes_apart_are_not_combined() -> None:
    stage = Stage()
    for number in range(9):
        stage.record(f"message {number}")
    await stage.clock.advance(601)
    assert not stage.record("message 9")[0].combined


@pytest.mark.promise(
    "Watching an operator",
    "Similar events become one, and an object is heard 25 times and then each five minutes.",
)
async def test_object_has_a_burst_of_25_events_and_then_one_every_five_minutes() -> None:
    stage = Stage()
    assert [stage.record("synced")[1] for _ in range(30)] == [True] * 25 + [False] * 5
    await stage.clock.advance(299)
    assert not stage.record("synced")[1]
    await stage.clock.advance(1)
    assert [stage.record("synced")[1] for _ in range(2)] == [True, False]
    assert stage.record("synced", about=OTHER)[1]
    assert stage.record("broken", type="Warning")[1]


def test_limited_records_still_raise_the_count() -> None:
    stage = Stage(Limits(burst=1))
    series = [stage.record("synced")[0] for _ in range(40)][-1]
    assert series.count == 40


def test_memory_is_bounded() -> None:
    stage = Stage(Limits(remembered=50))
    for number in range(2_000):
        about = ObjectReference(kind="Pod", namespace="shop", name=f"pod-{number}")
        stage.record(f"message {number}", about=about)
    correlator = stage.correlator
    kept = (correlator._series, correlator._groups, correlator._allowances)
    assert [len(recent.values()) for recent in kept] == [50, 50, 50]


def test_a_group_keeps_no_more_messages_than_it_needs() -> None:
    stage = Stage()
    for number in range(1_000):
        stage.record(f"message {number}")
    [group] = stage.correlator._groups.values()
    assert len(group.messages) < 10
