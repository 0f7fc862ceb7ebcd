"""Programs in this process that can be killed, as the kernel kills a process: for tests under virtual time.

A `Program` consists of the tasks that start in its context, and of their tasks. After `kill`, none of them runs another
step: no `except` and no `finally` block runs. The tasks stay suspended until the event loop ends; only then they are
closed. Timers that the program set on a virtual clock do not fire, and its work does not hold the clock.

Code that serves a program, such as an API server in this process, runs outside of it: `Program.call`. Threads cannot be
killed: a thread waits at its next call into the event loop until that loop ends.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from typing import Any, Final, Protocol, TypeVar
from weakref import WeakKeyDictionary

__all__ = ["Killed", "Program", "calling_program", "current_program"]

T = TypeVar("T")

_CLOSES: Final = 100
_PROGRAM: Final[ContextVar[Program | None]] = ContextVar("kubewright-program", default=None)
_CALLER: Final[ContextVar[Program | None]] = ContextVar("kubewright-calling-program", default=None)
_suspended: Final[set[asyncio.Future[Any]]] = set()  # otherwise Python would discard these tasks, and so close them


class Killed(Exception):
    """The program was killed while another program waited for it, for example for its start."""


class Closable(Protocol):
    """Something that is closed when its program is killed."""

    def close(self) -> None:
        """Closes it without waiting."""


def current_program() -> Program | None:
    """Returns the program that this code is a part of."""
    return _PROGRAM.get()


def calling_program() -> Program | None:
    """Returns the program that the current call serves."""
    return _CALLER.get()


class Program:
    """Tasks that can be killed together. It belongs to the event loop in which it is created."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.killed = False
        self._loop = asyncio.get_running_loop()
        # In the order of their start: that of a set would depend on addresses, and so differ between processes.
        self._tasks: WeakKeyDictionary[asyncio.Task[Any], None] = WeakKeyDictionary()
        self._calls: dict[asyncio.Task[Any], None] = {}
        self._closables: WeakKeyDictionary[Closable, None] = WeakKeyDictionary()
        self._when_killed: dict[Callable[[], object], None] = {}
        self._kept: list[object] = []
        self._cancelling: dict[asyncio.Task[Any], int] = {}
        _install(self._loop)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Makes the block and the tasks that it starts a part of the program."""
        token = _PROGRAM.set(self)
        try:
            yield
        finally:
            _PROGRAM.reset(token)

    async def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits work of another program on behalf of this one. A kill cancels that work.

        Raises `Killed` in code outside of the program that waits for it.
        """
        if self.killed:
            work.close()
            raise asyncio.CancelledError if _is_cancelled() else Killed(f"{self.name} was killed")
        outside = copy_context()
        outside.run(_PROGRAM.set, None)
        outside.run(_CALLER.set, self)
        task = self._loop.create_task(work, context=outside)
        self._calls[task] = None
        try:
            return await task
        except asyncio.CancelledError:
            if self.killed and not _is_cancelled():
                raise Killed(f"{self.name} was killed") from None
            raise
        finally:
            self._calls.pop(task, None)

    def owns(self, resource: Closable) -> None:
        """Closes a resource when the program is killed, unless it was discarded before."""
        self._closables[resource] = None

    def when_killed(self, callback: Callable[[], object]) -> None:
        """Calls back once when the program is killed. The same callback is called only once."""
        self._when_killed[callback] = None

    def keep(self, thing: object) -> None:
        """Keeps a thing from being discarded, which would run its `finally` blocks, until the event loop ends."""
        self._kept.append(thing)

    def adopt(self, task: asyncio.Task[Any]) -> None:
        """Adds a task."""
        self._tasks[task] = None

    def ends(self, task: asyncio.Task[Any] | None) -> bool:
        """Returns whether a task was cancelled since the kill, which only the end of the event loop does."""
        return self.killed and task is not None and task.cancelling() > self._cancelling.get(task, 0)

    def kill(self) -> None:
        """Kills the program immediately. Does nothing the second time. Call it in the event loop of the program."""
        if self.killed:
            return
        self.killed = True
        self._cancelling = {task: count for task in self._tasks if (count := task.cancelling())}
        for task in [*self._tasks, self._loop.create_task(self._suspend())]:
            if not task.done():
                _suspended.add(task)
                task.add_done_callback(_suspended.discard)
        for call in list(self._calls):
            call.cancel()
        for resource in list(self._closables):
            resource.close()
        for callback in list(self._when_killed):
            callback()
        self._when_killed.clear()

    async def _suspend(self) -> None:
        """Refers to everything that is kept, until the event loop cancels its tasks at its end."""
        with suppress(asyncio.CancelledError):
            await self._loop.create_future()


class _Mortal(Coroutine[Any, Any, Any]):
    """The coroutine of a task that runs no further step after its program was killed."""

    __slots__ = ("_coroutine", "_program")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], program: Program) -> None:
        self._coroutine = coroutine
        self._program = program

    def send(self, value: Any) -> Any:
        yielded = None if self._program.killed else self._coroutine.send(value)
        return _forever() if self._program.killed else yielded

    def throw(self, *error: Any) -> Any:
        if self._program.ends(asyncio.current_task()):
            self.close()
            raise asyncio.CancelledError
        # An error of something that a killed program waited for is dropped.
        yielded = None if self._program.killed else self._coroutine.throw(*error)
        return _forever() if self._program.killed else yielded

    def close(self) -> None:
        """Cancels the coroutine, and each `await` of its `finally` blocks."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # about coroutines that its `finally` blocks made
            for _ in range(_CLOSES):
                try:
                    self._coroutine.throw(asyncio.CancelledError())
                except BaseException:
                    return
            with suppress(RuntimeError):
                self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()

    # For asyncio's debug mode and the representation of tasks.

    @property
    def cr_code(self) -> Any:
        return getattr(self._coroutine, "cr_code", None)

    @property
    def cr_frame(self) -> Any:
        return getattr(self._coroutine, "cr_frame", None)

    @property
    def cr_running(self) -> Any:
        return getattr(self._coroutine, "cr_running", False)

    @property
    def cr_await(self) -> Any:
        return getattr(self._coroutine, "cr_await", None)

    @property
    def __name__(self) -> str:
        return str(getattr(self._coroutine, "__qualname__", type(self._coroutine).__qualname__))


def _is_cancelled() -> bool:
    """Returns whether the current task itself was cancelled: the event loop ends, or a start was interrupted."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _cancelled() -> None:
    raise asyncio.CancelledError


def _forever() -> asyncio.Future[Any]:
    """Returns a future that never ends, as a coroutine yields it to its task."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future._asyncio_future_blocking = True
    return future


class _Factory:
    """A task factory that makes the tasks of programs killable."""

    def __init__(self, before: Any) -> None:
        self._before = before

    def __call__(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> Any:
        context = options.get("context")
        program = _PROGRAM.get() if context is None else context.get(_PROGRAM)
        if program is not None and program.killed:
            coroutine.close()
            coroutine, program = _cancelled(), None
        elif program is not None:
            coroutine = _Mortal(coroutine, program)
        if self._before is not None:
            task = self._before(loop, coroutine, **options)
        else:
            task = asyncio.Task(coroutine, loop=loop, **options)
        if program is not None:
            program.adopt(task)
        return task


def _install(loop: asyncio.AbstractEventLoop) -> None:
    before = loop.get_task_factory()
    if not isinstance(before, _Factory):
        loop.set_task_factory(_Factory(before))
