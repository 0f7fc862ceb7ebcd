"""Exception groups are named by the errors in them."""

from __future__ import annotations

import asyncio
import traceback

import pytest

from kubewright.causes import error_text, only_cause, raise_cause, ungrouped


def test_the_one_error_of_nested_groups_is_found() -> None:
    cause = ValueError("no such zone")
    assert only_cause(ExceptionGroup("outer", [ExceptionGroup("inner", [cause])])) is cause
    several = ExceptionGroup("outer", [cause, KeyError("a")])
    assert only_cause(several) is several
    assert only_cause(cause) is cause


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no such zone"), "ValueError: no such zone"),
        (ExceptionGroup("g", [ValueError("no such zone")]), "ValueError: no such zone"),
        (ExceptionGroup("g", [ValueError("a"), KeyError("b")]), "2 errors: ValueError: a; KeyError: 'b'"),
        (
            ExceptionGroup("g", [ValueError("a"), ExceptionGroup("h", [ValueError(str(n)) for n in range(4)])]),
            "5 errors: ValueError: a; ValueError: 0; ValueError: 1 and 2 more",
        ),
    ],
)
def test_message_of_a_group_names_its_errors(error: BaseException, text: str) -> None:
    assert error_text(error) == text


def test_notes_stand_behind_the_message() -> None:
    error = ValueError("no such zone.")
    error.add_note("Name one of the zones")
    assert error_text(error) == "ValueError: no such zone. Name one of the zones"
    assert error_text(ExceptionGroup("g", [error])) == error_text(error)


async def test_a_task_group_raises_its_one_error_without_the_group() -> None:
    async def fail() -> None:
        raise ValueError("no such zone") from KeyError("zone")

    with pytest.raises(ValueError, match="no such zone") as caught, ungrouped():
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
    shown = "".join(traceback.format_exception(caught.value))
    assert "TaskGroup (1 sub-exception)" not in shown
    assert "KeyError: 'zone'" in shown


async def test_several_errors_of_a_task_group_stay_a_group() -> None:
    with pytest.raises(ExceptionGroup), ungrouped():
        raise ExceptionGroup("g", [ValueError("a"), ValueError("b")])
    raise_cause(ValueError("not a group"))
