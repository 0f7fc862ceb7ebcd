"""Calling the code of users: whatever it raises is a failure of that call, and of nothing else.

Not everything that is raised is an `Exception`. `sys.exit()` in a library that thinks it is a program, the panic of an
extension written in Rust, `pytest.fail()`, the `CancelledError` of a future that somebody else has cancelled: each of
them would end the task that called it without a word, or the whole program. And an executor of Python 3.11 loses a call
whose function raises `StopIteration`, as `next()` does: whoever waits for it waits for ever.

Whoever deals with a failure on the spot asks `has_to_pass`; whoever hands it on calls under `containment`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, Future
from types import TracebackType
from typing import Any, Final, TypeVar

__all__ = [
    "THREAD_NAME_PREFIX",
    "being_cancelled",
    "contained",
    "containment",
    "has_to_pass",
    "in_thread",
    "no_exception",
    "submitted",
]

T = TypeVar("T")

THREAD_NAME_PREFIX: Final = "reconcile-"
"""The prefix of the names of threads that run users' plain functions. A stopping operator does not wait for them."""


def being_cancelled() -> bool:
    """Whether the task that asks is itself to end. A `CancelledError` that it meets otherwise is a failure like any."""
    task = _current_task()
    return task is not None and task.cancelling() > 0


def has_to_pass(error: BaseException) -> bool:
    """Whether an error is no failure of the code that raised it: Ctrl-C was pressed, or it is the caller that ends."""
    if isinstance(error, asyncio.CancelledError):
        return being_cancelled()
    if isinstance(error, GeneratorExit):
        return _current_task() is None  # nobody runs: the caller is being thrown away
    return isinstance(error, KeyboardInterrupt)


class _Containment:
    """See `containment`."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not isinstance(error, Exception) and not has_to_pass(error):
            raise no_exception(error) from error


containment: Final = _Containment()
"""`with containment:` around a call of the code of users. What leaves it is an `Exception`, unless it has to pass."""


async def contained(work: Awaitable[T]) -> T:
    """Await the work, under `containment`."""
    with containment:
        return await work


def in_thread(executor: Executor, function: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
    """Call a function in a thread of the executor. What it raises is an `Exception`."""
    return asyncio.wrap_future(submitted(executor, function, *arguments))


def submitted(executor: Executor, function: Callable[..., T], *arguments: Any) -> Future[T]:
    """The same, for those who want to know what becomes of the call when nobody waits for it any more."""
    return executor.submit(_called, function, arguments)


def _called(function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    try:
        return function(*arguments)
    except StopIteration as error:
        raise RuntimeError(f"it raised {error!r}: next() found nothing, and was given no default") from error
    except BaseException as error:
        if isinstance(error, Exception):
            raise
        raise no_exception(error) from error


def no_exception(error: BaseException) -> RuntimeError:
    """What to raise instead of something that is not an `Exception`."""
    return RuntimeError(f"it raised {error!r}, which is not an Exception")


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no event loop is running
        return None
