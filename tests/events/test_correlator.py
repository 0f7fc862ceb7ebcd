"""Counting, combining and holding back: the numbers of client-go, on a virtual clock."""

from __future__ import annotations

import pytest

from kubewright.api.core.v1 import ObjectReference
from kubewright.clock import VirtualClock
from kubewright.events import Correlator, EventRecord, EventType, Limits, Series
from kubewright.events._correlator import COMBINED

POD = ObjectReference(api_version="v1", kind="Pod", namespace="shop", name="web", uid="1")
OTHER = ObjectReference(api_version="v1", kind="Pod", namespace="shop", name="db", uid="2")


class Stage:
    def __init__(self, limits: Limits | None = None) -> None:
        self.clock = VirtualClock()
        self.correlator = Correlator(self.clock, limits)

    def tell(
        self, message: str, reason: str = "Synced", about: ObjectReference = POD, type: EventType = "Normal"
    ) -> tuple[Series, bool]:
        return self.correlator.tell(EventRecord.of(about, reason, message, type, "Reconcile", self.clock.now()))


async def test_the_same_thing_told_again_is_one_event_with_a_count() -> None:
    stage = Stage()
    first, _ = stage.tell("synced")
    await stage.clock.advance(60)
    again, _ = stage.tell("synced")
    assert again is first
    assert (again.count, (again.last_at - again.first_at).total_seconds()) == (2, 60)
    assert stage.correlator.repeated == 1


def test_another_object_type_reason_or_message_is_another_event() -> None:
    stage = Stage()
    told = [
        stage.tell("synced"),
        stage.tell("synced", about=OTHER),
        stage.tell("synced", type="Warning"),
        stage.tell("synced", reason="Applied"),
        stage.tell("all synced"),
    ]
    assert len({id(series) for series, _ in told}) == 5


@pytest.mark.promise(
    "Watching an operator",
    "Similar events become one, and an object is heard 25 times and then each five minutes.",
)
def test_the_tenth_similar_event_and_those_after_it_are_combined() -> None:
    stage = Stage()
    told = [stage.tell(f"message {number}")[0] for number in range(12)]
    assert [series.combined for series in told] == [False] * 9 + [True] * 3
    assert told[9] is told[10] is told[11]
    assert (told[11].count, told[11].message) == (3, f"{COMBINED}message 11")
    assert stage.correlator.combined == 3


async def test_similar_events_that_lie_more_than_ten_minutes_apart_are_not_combined() -> None:
    stage = Stage()
    for number in range(9):
        stage.tell(f"message {number}")
    await stage.clock.advance(601)
    assert not stage.tell("message 9")[0].combined


@pytest.mark.promise(
    "Watching an operator",
    "Similar events become one, and an object is heard 25 times and then each five minutes.",
)
async def test_of_one_object_25_events_pass_at_once_and_then_one_each_five_minutes() -> None:
    stage = Stage()
    assert [stage.tell("synced")[1] for _ in range(30)] == [True] * 25 + [False] * 5
    await stage.clock.advance(299)
    assert not stage.tell("synced")[1]
    await stage.clock.advance(1)
    assert [stage.tell("synced")[1] for _ in range(2)] == [True, False]
    assert stage.tell("synced", about=OTHER)[1]
    assert stage.tell("broken", type="Warning")[1]


def test_what_is_held_back_still_raises_the_count() -> None:
    stage = Stage(Limits(burst=1))
    series = [stage.tell("synced")[0] for _ in range(40)][-1]
    assert series.count == 40


def test_memory_is_bounded_whatever_is_told() -> None:
    stage = Stage(Limits(remembered=50))
    for number in range(2_000):
        about = ObjectReference(kind="Pod", namespace="shop", name=f"pod-{number}")
        stage.tell(f"message {number}", about=about)
    correlator = stage.correlator
    kept = (correlator._series, correlator._groups, correlator._allowances)
    assert [len(recent.values()) for recent in kept] == [50, 50, 50]


def test_a_group_keeps_no_more_messages_than_it_needs() -> None:
    stage = Stage()
    for number in range(1_000):
        stage.tell(f"message {number}")
    [group] = stage.correlator._groups.values()
    assert len(group.messages) < 10
