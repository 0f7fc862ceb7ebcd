"""What the log says of an object that fails again and again."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator

import pytest

from kubewright.cache import ObjectKey
from kubewright.clock import VirtualClock
from kubewright.controller import Context, TerminalError
from kubewright.controller._repeated_errors import RepeatedErrors  # private: a bound of two keys instead of thousands
from kubewright.operator import Operator
from kubewright.operator.logs import JsonFormatter, PrettyFormatter
from tests.controller.conftest import Thing, thing, working


@pytest.fixture
def failures(caplog: pytest.LogCaptureFixture) -> Callable[[], list[tuple[str, bool]]]:
    """Returns the logged failures without their common prefix, and whether each has a traceback."""

    def messages() -> list[tuple[str, bool]]:
        records = [record for record in caplog.records if record.levelno == logging.ERROR]
        return [(record.getMessage().rpartition("ms: ")[2], record.exc_info is not None) for record in records]

    return messages


def failing_with(operator: Operator, *errors: Exception | None) -> None:
    """Reconciles that end so, one after the other, each error raised at the same place."""
    outcomes: Iterator[Exception | None] = iter(errors)

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        if (error := next(outcomes, None)) is not None:
            raise error


@pytest.mark.promise("How a reconcile ends", "An exception: backoff from 5 ms, and a full line in the log.")
async def test_the_same_error_has_its_traceback_once_and_then_a_line_that_counts(
    operator: Operator, clock: VirtualClock, failures: Callable[[], list[tuple[str, bool]]]
) -> None:
    failing_with(operator, *(RuntimeError(f"no zone {number}") for number in range(4)))
    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(1)
    assert failures() == [
        ("RuntimeError: no zone 0", True),
        ("RuntimeError: no zone 1 (once more since its traceback)", False),
        ("RuntimeError: no zone 2 (2 times more since its traceback)", False),
        ("RuntimeError: no zone 3 (3 times more since its traceback)", False),
    ]


async def test_another_error_and_a_success_in_between_have_a_traceback_again(
    operator: Operator, clock: VirtualClock, failures: Callable[[], list[tuple[str, bool]]]
) -> None:
    failing_with(operator, KeyError("a"), KeyError("a"), ValueError("b"), KeyError("a"), None, KeyError("a"))
    async with working(operator, clock) as stage:
        stage.put(thing(size=1))
        await clock.advance(1)
        stage.put(thing(size=2))
        await clock.advance(1)
    assert [traceback for _, traceback in failures()] == [True, False, True, True, True]


async def test_the_same_type_from_another_place_is_another_error(
    operator: Operator, clock: VirtualClock, failures: Callable[[], list[tuple[str, bool]]]
) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        if ctx.attempt == 1:
            raise RuntimeError("here")
        if ctx.attempt <= 3:
            raise RuntimeError("there")

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(1)
    assert [traceback for _, traceback in failures()] == [True, True, False]


async def test_logs_one_traceback_per_object_and_for_a_recreated_object(
    operator: Operator, clock: VirtualClock, failures: Callable[[], list[tuple[str, bool]]]
) -> None:
    failing_with(operator, *(TerminalError("no such zone") for _ in range(4)))
    async with working(operator, clock) as stage:
        stage.put(thing("one"))
        await clock.advance(1)
        stage.put(thing("two"))
        await clock.advance(1)
        stage.put(thing("one", size=2))
        await clock.advance(1)
        stage.remove(thing("one"))
        stage.put(thing("one", size=3))
        await clock.advance(1)
    assert [traceback for _, traceback in failures()] == [True, True, False, True]


async def test_json_lines_keep_the_error_and_count_and_pretty_lines_are_one_line(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    failing_with(operator, *(RuntimeError("no such zone") for _ in range(3)))
    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.advance(1)
    records = [record for record in caplog.records if record.levelno == logging.ERROR]
    lines = [json.loads(JsonFormatter().format(record)) for record in records]
    assert [line["error"] for line in lines] == ["RuntimeError: no such zone"] * 3
    assert [line.get("repeated") for line in lines] == [None, 1, 2]
    assert ["traceback" in line for line in lines] == [True, False, False]
    for_people = PrettyFormatter().format(records[2])
    assert for_people.endswith("in 20ms: RuntimeError: no such zone (2 times more since its traceback)")
    assert "\n" not in for_people


def test_drops_the_key_that_failed_least_recently() -> None:
    failures = RepeatedErrors(keys=2)
    error = RuntimeError("no such zone")
    one, two, three = (ObjectKey("default", name) for name in ("one", "two", "three"))
    assert [failures.again(key, error) for key in (one, two, one, three)] == [0, 0, 1, 0]
    assert len(failures) == 2
    assert [failures.again(key, error) for key in (one, two)] == [2, 0]
