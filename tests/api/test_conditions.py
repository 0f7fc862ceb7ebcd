from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from kubewright.api import Model, encode, find_condition, is_condition_true, remove_condition, set_condition
from kubewright.api.core.v1 import PodCondition, PodStatus
from kubewright.api.meta.v1 import Condition

START = datetime(2030, 1, 1, tzinfo=UTC)
LATER = START + timedelta(minutes=5)


class FooStatus(Model):
    conditions: list[Condition] | None = None


class BarStatus(Model):
    conditions: list[Condition] = msgspec.field(default_factory=list)


def only(status: FooStatus | BarStatus) -> Condition:
    assert status.conditions is not None
    (condition,) = status.conditions
    return condition


@pytest.mark.parametrize("status", [FooStatus(), FooStatus(conditions=[]), BarStatus()])
def test_the_first_condition_is_added(status: FooStatus | BarStatus) -> None:
    assert set_condition(status, "Ready", True, "Started", "All is well", now=START, observed_generation=3)
    assert only(status) == Condition(
        type="Ready",
        status="True",
        reason="Started",
        message="All is well",
        last_transition_time=START,
        observed_generation=3,
    )


def test_it_is_written_as_the_server_writes_it() -> None:
    status = FooStatus()
    india = timezone(timedelta(hours=5, minutes=30))
    set_condition(status, "Ready", False, "Broken", now=datetime(2030, 1, 1, 5, 30, 0, 999999, tzinfo=india))
    assert msgspec.json.decode(encode(status)) == {
        "conditions": [
            {
                "type": "Ready",
                "status": "False",
                "reason": "Broken",
                "message": "",
                "lastTransitionTime": "2030-01-01T00:00:00Z",
            }
        ]
    }


def test_the_same_again_changes_nothing() -> None:
    status = FooStatus()
    set_condition(status, "Ready", True, "Started", "m", now=START, observed_generation=1)
    assert not set_condition(status, "Ready", "True", "Started", "m", now=LATER, observed_generation=1)
    assert only(status).last_transition_time == START


@pytest.mark.promise("Typed objects", "A condition's transition time moves only with its status.")
@pytest.mark.parametrize(
    ("reason", "message", "generation"), [("Other", "m", 1), ("Started", "other", 1), ("Started", "m", 2)]
)
def test_without_a_change_of_status_the_transition_time_stays(reason: str, message: str, generation: int) -> None:
    status = FooStatus()
    set_condition(status, "Ready", True, "Started", "m", now=START, observed_generation=1)
    before = only(status)
    assert set_condition(status, "Ready", True, reason, message, now=LATER, observed_generation=generation)
    assert only(status) is before
    assert (before.reason, before.message, before.observed_generation) == (reason, message, generation)
    assert before.last_transition_time == START


@pytest.mark.promise("Typed objects", "A condition's transition time moves only with its status.")
def test_a_change_of_status_moves_the_transition_time() -> None:
    status = FooStatus()
    set_condition(status, "Ready", True, "Started", now=START)
    assert set_condition(status, "Ready", "Unknown", "Started", now=LATER)
    assert only(status).status == "Unknown"
    assert only(status).last_transition_time == LATER


@pytest.mark.parametrize(
    ("message", "text"),
    [("no such file: caf\udce9", "no such file: caf\\udce9"), (ValueError("Grüße"), "Grüße")],
)
def test_a_message_can_be_written_whatever_it_is(message: Any, text: str) -> None:
    status = FooStatus()
    assert set_condition(status, "Ready", False, "NoFile", message, now=START)
    assert msgspec.json.decode(encode(status))["conditions"][0]["message"] == text
    assert not set_condition(status, "Ready", False, "NoFile", message, now=LATER), "it is the same"


def test_conditions_keep_their_order_and_do_not_touch_each_other() -> None:
    status = FooStatus()
    for name in ("Ready", "example.com/Synced", "Healthy"):
        set_condition(status, name, True, "Started", now=START)
    set_condition(status, "example.com/Synced", False, "Stopped", now=LATER)
    assert status.conditions is not None
    assert [(c.type, c.status) for c in status.conditions] == [
        ("Ready", "True"),
        ("example.com/Synced", "False"),
        ("Healthy", "True"),
    ]


def test_conditions_are_found_and_removed() -> None:
    status = FooStatus()
    set_condition(status, "Ready", True, "Started", now=START)
    set_condition(status, "Healthy", False, "Started", now=START)
    assert find_condition(status, "Ready") is (status.conditions or [])[0]
    assert is_condition_true(status, "Ready")
    assert not is_condition_true(status, "Healthy")
    assert remove_condition(status, "Ready")
    assert not remove_condition(status, "Ready")
    assert find_condition(status, "Ready") is None
    assert only(status).type == "Healthy"


def test_an_absent_status_has_no_conditions() -> None:
    assert find_condition(None, "Ready") is None
    assert not is_condition_true(None, "Ready")
    assert not is_condition_true(FooStatus(), "Ready")
    assert not remove_condition(FooStatus(), "Ready")


def test_conditions_of_built_in_kinds_can_be_read() -> None:
    status = PodStatus(conditions=[PodCondition(type="Ready", status="True")])
    assert is_condition_true(status, "Ready")
    found = find_condition(status, "Ready")
    assert isinstance(found, PodCondition)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Not ready", True, "R"), "condition type 'Not ready' must be a name such as Ready or example.com/Ready"),
        (("", True, "R"), "condition type '' must be a name such as Ready or example.com/Ready"),
        (("Ready", "true", "R"), "condition Ready: status 'true' must be True, False or \"Unknown\""),
        (("Ready", True, ""), "condition Ready: a reason is required, a CamelCase word such as MinimumReplicasAvail"),
        (("Ready", True, "not one word"), "condition Ready: reason 'not one word' must be a CamelCase word of at most"),
        (("Ready", True, "1st"), "condition Ready: reason '1st' must be"),
        (("Ready", True, "Ends:"), "condition Ready: reason 'Ends:' must be"),
        (("Ready", True, "R" * 1025), "... (1025 characters) must be"),
        (("Ready", True, "R", "m" * 32769), "condition Ready: the message has 32769 characters, at most 32768"),
    ],
)
def test_rejects_conditions_that_the_server_rejects(arguments: tuple[Any, ...], message: str) -> None:
    status = FooStatus()
    with pytest.raises(ValueError) as caught:
        set_condition(status, *arguments, now=START)
    assert message in str(caught.value)
    assert status.conditions is None


def test_rejects_negative_generation_and_naive_time() -> None:
    with pytest.raises(ValueError, match="observed_generation -1 must not be negative"):
        set_condition(FooStatus(), "Ready", True, "R", now=START, observed_generation=-1)
    with pytest.raises(ValueError, match="has no time zone"):
        set_condition(FooStatus(), "Ready", True, "R", now=datetime(2030, 1, 1))
