"""What the code of users raises is its own failure, unless Ctrl-C was pressed or the caller ends."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor

import pytest

from kubewright.user_code import being_cancelled, contained, containment, has_to_pass, in_thread


class Panic(BaseException):
    """As extensions written in Rust raise it."""


async def failing(raised: BaseException) -> None:
    raise raised


@pytest.mark.parametrize("raised", [Panic("oh"), SystemExit(2), GeneratorExit(), asyncio.CancelledError()], ids=repr)
async def test_other_base_exceptions_become_exceptions(raised: BaseException) -> None:
    assert not has_to_pass(raised)
    with pytest.raises(RuntimeError, match=r"^it raised .*, which is not an Exception$") as caught:
        await contained(failing(raised))
    assert caught.value.__cause__ is raised
    with ThreadPoolExecutor(1) as executor, pytest.raises(RuntimeError, match="which is not an Exception"):
        await in_thread(executor, asyncio.run, failing(raised))


async def test_an_exception_stays_what_it_is() -> None:
    raised = ValueError("no such zone")
    assert not has_to_pass(raised)
    with pytest.raises(ValueError, match="no such zone") as caught:
        await contained(failing(raised))
    assert caught.value is raised


@pytest.mark.promise(
    "What wakes a reconciler",
    "A predicate, map function, index or transform that fails, whatever it raises, spoils that object only.",
)
def test_ctrl_c_passes() -> None:
    assert has_to_pass(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt), containment:
        raise KeyboardInterrupt


async def test_cancellation_ends_only_the_cancelled_task() -> None:
    found: list[bool] = []

    async def waiting() -> None:
        found.append(being_cancelled())
        try:
            await contained(asyncio.Event().wait())
        finally:
            found.append(being_cancelled())

    task = asyncio.create_task(waiting())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert found == [False, True]
    assert not being_cancelled()


def test_discarded_call_is_not_a_failure() -> None:
    class Pause:
        def __await__(self) -> Generator[None, None, None]:
            yield

    thrown_away = contained(Pause())
    thrown_away.send(None)
    thrown_away.close()  # as the garbage collector does; a failure would be raised here
