"""Calling the code of users: whatever it raises is a failure of that call, and of nothing else.

Not everything that is raised is an `Exception`. `sys.exit()` in a library that thinks it is a program, the panic of an
extension written in Rust, `pytest.fail()`: each of them would end the task that called it without a word, or the whole
program. And an executor of Python 3.11 loses a call whose function raises `StopIteration`, as `next()` does: whoever
waits for it waits for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from typing import Any, TypeVar

__all__ = ["contained", "failure_in_place_of", "in_thread"]

T = TypeVar("T")


def failure_in_place_of(error: BaseException) -> RuntimeError | None:
    """What to raise in place of an error that is no `Exception`; None for one that is, or that has to pass.

    It has to pass when Ctrl-C was pressed, or when it is not the called code that ends, but whoever called it.
    """
    if isinstance(error, Exception | KeyboardInterrupt | asyncio.CancelledError):
        return None
    if isinstance(error, GeneratorExit) and _current_task() is None:
        return None  # nobody runs: the caller is being thrown away
    return _no_exception(error)


async def contained(work: Awaitable[T]) -> T:
    """Await the work. What it raises is an `Exception`, unless it has to pass."""
    try:
        return await work
    except BaseException as error:
        if (failure := failure_in_place_of(error)) is not None:
            raise failure from error
        raise


def in_thread(executor: Executor, function: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
    """Call a function in a thread of the executor. What it raises is an `Exception`."""
    return asyncio.get_running_loop().run_in_executor(executor, _called, function, arguments)


def _called(function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    try:
        return function(*arguments)
    except StopIteration as error:
        raise RuntimeError(f"it raised {error!r}: next() found nothing, and was given no default") from error
    except BaseException as error:
        if isinstance(error, Exception):
            raise
        raise _no_exception(error) from error


def _no_exception(error: BaseException) -> RuntimeError:
    return RuntimeError(f"it raised {error!r}, which is not an Exception")


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no event loop is running
        return None
