"""Failures as events on the object."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import msgspec
import pytest

from kubewright.client import Cause, Invalid, Status, Unavailable
from kubewright.clock import VirtualClock
from kubewright.controller import Context, NotOwned, TerminalError
from kubewright.controller._failure_events import failure_message  # private: a pure function of the exception
from kubewright.operator import Operator
from tests.controller.conftest import Thing, thing, working


def failing_with(operator: Operator, *errors: Exception | None) -> None:
    outcomes: Iterator[Exception | None] = iter(errors)

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        if (error := next(outcomes, None)) is not None:
            raise error


@pytest.mark.promise("How a reconcile ends", "The first failure of a state, and each new reason, is a Warning event.")
async def test_records_the_first_failure_and_each_change_of_the_reason(operator: Operator, clock: VirtualClock) -> None:
    failing_with(operator, TerminalError("no zone"), KeyError("a"), KeyError("b"), ValueError("c"), KeyError("a"))
    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(1)
        assert stage.recorded() == [("ReconcileFailed", "no zone")]
        stage.put(thing(size=1, generation=2))
        await clock.advance(1)
        kinds = [message.split()[0] for _, message in stage.recorded()]
        assert kinds == ["KeyError", "ValueError"]
        assert stage.recorder.stats.recorded == 4  # the last is the first KeyError again, which is counted there


async def test_records_again_after_a_success_and_for_a_new_generation(operator: Operator, clock: VirtualClock) -> None:
    failing_with(operator, TerminalError("no"), TerminalError("no"), TerminalError("no"), None, TerminalError("no"))
    async with working(operator, clock) as stage:
        for generation, size in ((1, 0), (1, 1), (2, 2), (2, 3), (2, 4)):
            stage.put(thing(size=size, generation=generation))
            await clock.advance(1)
        assert stage.recorder.stats.recorded == 3  # generation 1, generation 2, after the success


async def test_records_nothing_if_disabled(clock: VirtualClock) -> None:
    operator = Operator("thing-operator", failure_events=False)
    failing_with(operator, TerminalError("no"))
    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(1)
        assert stage.recorded() == []


async def test_records_nothing_while_the_server_is_unreachable(operator: Operator, clock: VirtualClock) -> None:
    failing_with(operator, Unavailable(Status(message="connection refused")))
    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(1)
        assert stage.recorded() == []


@pytest.mark.promise("How a reconcile ends", "A failure event has no message of an exception that users did not write.")
def test_contains_no_value_of_an_exception() -> None:
    def connect(password: str) -> None:
        raise ConnectionError(f"postgres://admin:{password}@db")

    with pytest.raises(ConnectionError) as raised:
        connect("hunter2")
    message = failure_message(raised.value)
    assert message.startswith("ConnectionError in connect (test_failure_events.py:")
    assert "hunter2" not in message


def test_contains_the_fields_of_an_api_error_and_not_their_values() -> None:
    cause = Cause(reason="FieldValueInvalid", message='Invalid value: "hunter2": too short', field="spec.password")
    given = {"code": 422, "reason": "Invalid", "message": 'spec.password: "hunter2"', "details": {"causes": [cause]}}
    status = msgspec.convert(msgspec.to_builtins(given), Status)
    message = failure_message(Invalid(status, "patch foos/a"))
    assert message == "patch foos/a: Invalid at spec.password. See the operator's log"


def test_contains_messages_for_users() -> None:
    assert failure_message(TerminalError("spec.zone is unknown")) == "spec.zone is unknown"
    assert failure_message(NotOwned("ConfigMap a exists", thing())) == "ConfigMap a exists"
    assert failure_message(ExceptionGroup("", [TerminalError("spec.zone is unknown")])) == "spec.zone is unknown"
    several = failure_message(ExceptionGroup("", [KeyError("x"), ValueError("y"), asyncio.QueueFull()]))
    assert several == "3 errors (KeyError, ValueError, QueueFull). See the operator's log"


def test_withholds_tokens_in_messages_of_users() -> None:
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZG1pbiJ9.c2lnbmF0dXJl"
    assert token not in failure_message(TerminalError(f"rejected {token}"))
