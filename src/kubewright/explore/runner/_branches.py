"""The processes of a server: runs, and stems, which have played a part of a story and from which runs branch off.

A stem is a process that waits, in the middle of a run, for orders. For each one it forks: the child continues the run
with the faults of a plan, or plays further steps and becomes a stem itself. Runs are deterministic, so that a run that
branches off is equal to one from the beginning, as long as its faults come later.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import resource
import selectors
import signal
import socket
import threading
import time
import traceback
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from kubewright.explore.model import Conditions, Outcome, Plan, Step, Story
from kubewright.explore.runner import _frames
from kubewright.explore.runner._coverage import Programs
from kubewright.explore.runner._determinism import Determinism, deterministic
from kubewright.explore.runner._play import Run

__all__ = ["CPU_SECONDS", "Order", "Ready", "become_run", "become_stem", "send_order"]

CPU_SECONDS: Final = 60
"""CPU seconds that a run may take."""
_MEMORY: Final = 4 << 30


class Order(msgspec.Struct, frozen=True):
    """An order for a stem: to run a plan, or else to play further steps and to become another stem."""

    plan: Plan | None = None
    steps: tuple[Step, ...] = ()


class Ready(msgspec.Struct, frozen=True):
    """The answer of a new stem."""

    sent: int = 0
    """The operator's writes so far."""
    calls: int = 0
    """Its calls of external systems so far."""
    reads: int = 0
    """Its reads so far."""
    problem: str = ""
    """Why no runs can branch off, such as a thread, which a fork would lose."""


def send_order(connection: socket.socket, order: Order, descriptor: int) -> int:
    """Sends an order to a stem, with the descriptor for the answer. Returns the process that executes it."""
    socket.send_fds(connection, [b"!"], [descriptor])
    _frames.write(connection.fileno(), order)
    child: int = _frames.read(connection.fileno(), 60)
    return child


def become_run(target: str, plan: Plan, controllers: frozenset[str] | None, programs: Programs, answer: int) -> None:
    """Runs a plan from the beginning, and answers with its outcome. The process ends."""

    async def run(escapes: Determinism) -> None:
        made = Run(target, plan.conditions, escapes, controllers)
        await made.start(plan)
        await made.proceed(plan.story.steps)
        _answer(answer, made.outcome())

    _in_loop(target, plan.conditions, programs, run, lambda error: _answer(answer, Outcome(broken=error)))


def become_stem(
    target: str, conditions: Conditions, controllers: frozenset[str], programs: Programs, connection: socket.socket
) -> None:
    """Starts the operator and waits for orders. The process ends with the connection."""

    async def run(escapes: Determinism) -> None:
        made = Run(target, conditions, escapes, controllers)
        await made.start(Plan(Story("", ()), (), conditions))
        await _wait_for_orders(made, connection)

    _in_loop(target, conditions, programs, run, lambda error: _answer(connection.fileno(), Ready(problem=error)))


def _in_loop(
    target: str,
    conditions: Conditions,
    programs: Programs,
    run: Callable[[Determinism], Awaitable[None]],
    failed: Callable[[str], None],
) -> None:
    """Calls a function in an event loop that survives a fork. Nothing is stopped: the process is only for this run."""
    gc.disable()  # the process is short-lived, and a collection would copy the memory that it shares
    with contextlib.suppress(ValueError, OSError):  # macOS has no limit of the address space
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))

    async def reported(escapes: Determinism) -> None:
        try:
            await run(escapes)
        except BaseException as error:
            failed("".join(traceback.format_exception(error)))

    try:
        runner = asyncio.Runner(loop_factory=_forkable_loop)
        with deterministic(target, conditions.seed, programs) as escapes, runner:
            runner.run(reported(escapes))
    finally:
        os._exit(1)


class _Loop(asyncio.SelectorEventLoop):
    """Takes the time from the machine directly: the replaced `time.monotonic` looks for its caller first."""

    time = staticmethod(time.monotonic)


def _forkable_loop() -> asyncio.AbstractEventLoop:
    # The descriptors that poll() observes are in the memory of the process, those of epoll are shared after a fork.
    return _Loop(selectors.PollSelector())


def _answer(descriptor: int, value: object) -> None:
    _frames.write(descriptor, value)
    os._exit(0)


async def _wait_for_orders(run: Run, connection: socket.socket) -> None:
    """Executes orders in child processes, until the connection ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that the kernel discards children that have ended
    loop = asyncio.get_running_loop()
    _frames.write(connection.fileno(), _readiness(run))
    while True:
        order, descriptor = _received(connection)
        if child := os.fork():
            os.close(descriptor)
            _frames.write(connection.fileno(), child)
            continue
        asyncio._set_running_loop(loop)  # asyncio forgets it in a child process
        connection.close()
        if order.plan is not None:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            await _branch_off(run, order.plan, descriptor)
        connection = socket.socket(fileno=descriptor)
        await run.proceed(order.steps)
        _frames.write(connection.fileno(), _readiness(run))


def _received(connection: socket.socket) -> tuple[Order, int]:
    """Returns the next order and the descriptor for its answer. Ends the process with the connection."""
    try:
        mark, descriptors, *_ = socket.recv_fds(connection, 1, 1)
        if not mark:
            os._exit(0)
        order: Order = _frames.read(connection.fileno())
    except OSError:
        os._exit(0)
    return order, descriptors[0]


async def _branch_off(run: Run, plan: Plan, answer: int) -> None:
    """Continues a run with the faults of a plan."""
    try:
        run.stage.arm(plan)
        await run.proceed(plan.story.steps[run.played :])
        _answer(answer, run.outcome())
    except BaseException as error:
        _answer(answer, Outcome(broken="".join(traceback.format_exception(error))))


def _readiness(run: Run) -> Ready:
    """Returns whether runs can branch off here."""
    problem = ""
    if threading.active_count() > 1:
        problem = "the operator uses threads"
    elif run.open_connections:
        problem = "the operator has network connections"
    elif not run.operator.is_up or run.stage.over_budget or asyncio.current_task() is None:
        problem = "the operator does not run"
    stage = run.stage
    return Ready(sent=len(stage.requests), calls=len(stage.calls), reads=len(stage.reads), problem=problem)
