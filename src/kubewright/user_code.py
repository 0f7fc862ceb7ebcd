"""Calls code of the user, so that any failure is a failure of that call only.

Not everything that is raised is an `Exception`: `sys.exit()` in a library, the panic of an extension written in Rust,
`pytest.fail()`, or the `CancelledError` of a future that another task has cancelled. Each of them would silently end
the calling task, or the whole program. And an executor of Python 3.11 loses a call whose function raises
`StopIteration`, as `next()` does: the caller would wait indefinitely.

Code that handles a failure itself calls `has_to_pass`. Code that passes it on calls under `containment`.
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
    """Whether the current task itself is being cancelled. Any other `CancelledError` is an ordinary failure."""
    task = _current_task()
    return task is not None and task.cancelling() > 0


def has_to_pass(error: BaseException) -> bool:
    """Whether an error must propagate, because it ends the caller: Ctrl-C, or the caller's own cancellation."""
    if isinstance(error, asyncio.CancelledError):
        return being_cancelled()
    if isinstance(error, GeneratorExit):
        return _current_task() is None  # no task is running: the caller's generator is being discarded
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
"""Use `with containment:` around a call of user code. Errors that `has_to_pass` does not let through leave the block as
an `Exception`."""


async def contained(work: Awaitable[T]) -> T:
    """Awaits the work under `containment`."""
    with containment:
        return await work


def in_thread(executor: Executor, function: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
    """Calls a function in a thread of the executor. Its failures are always an `Exception`."""
    return asyncio.wrap_future(submitted(executor, function, *arguments))


def submitted(executor: Executor, function: Callable[..., T], *arguments: Any) -> Future[T]:
    """Does the same as `in_thread`, and returns a future that has the outcome even if no task waits for it."""
    return executor.submit(_called, function, arguments)


def _called(function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    try:
        return function(*arguments)
    except StopIteration as error:
        raise RuntimeError(f"it raised {error!r}: next() found nothing and has no default") from error
    except BaseException as error:
        if isinstance(error, Exception):
            raise
        raise no_exception(error) from error


def no_exception(error: BaseException) -> RuntimeError:
    """Returns the error to raise instead of one that is not an `Exception`."""
    return RuntimeError(f"it raised {error!r}, which is not an Exception")


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no event loop is running
        return None
