"""`Killable`: a run that can be killed, as a process is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from functools import partial

from kubewright.clock import CancelScope, Clock, VirtualClock
from kubewright.programs import Killed, Program
from kubewright.watchdog import LoopWatchdog

__all__ = ["Killable"]


class Killable:
    """The part of a run that ends it without running any of its code."""

    def __init__(self, name: str, clock: Clock) -> None:
        self.clock: Clock = clock
        """The clock of this run."""
        self.killable = isinstance(clock, VirtualClock)
        """Whether this run can be killed. Set it to False before the start to save the cost: a task per request."""
        self.stopping = False
        self._run_name = name
        self._stack = AsyncExitStack()
        self._leader_stack = AsyncExitStack()
        self._of_process = ExitStack()  # what ends with a process, also if it is killed
        self._watchdogs: list[LoopWatchdog] = []
        self._program: Program | None = None

    async def _starting(self, start: Callable[[], Awaitable[None]]) -> None:
        """Calls `start`. If the run is killable, `kill` ends everything that it starts."""
        if not self.killable:
            await start()
            return
        self._program = program = Program(self._run_name)
        with CancelScope() as scope, program.entered():
            program.when_killed(partial(scope.cancel, Killed(f"{program.name} was killed while it started")))
            await start()

    @property
    def killed(self) -> bool:
        """Whether this run was killed."""
        return self._program is not None and self._program.killed

    def kill(self) -> None:
        """Kills the run immediately, as SIGKILL or the loss of a node does. No virtual time passes.

        None of its code runs another step: no `finally` block runs, no request is sent, no response is read, no timer
        fires, and its lease is not released. A request that the server has not served yet has no effect. Leaving the
        run then does nothing. To start again as a new process does, with new module state, load the program again:
        `load_operator(path).running(cluster, clock=clock)`.

        Call it in the event loop, also in a hook of the laboratory (`lab.on_request`). A start that has not finished
        raises `Killed`. Suspended code is discarded when the event loop ends. Threads of plain `def` handlers cannot be
        killed: they wait at their next call until then. Over HTTP, a request that was sent may still be served.

        Raises RuntimeError if the run has no virtual clock, or has not begun to start.
        """
        if self._program is None:
            raise RuntimeError(
                f"{self._run_name} cannot be killed: enter `operator.running(cluster, clock=clock)` with a"
                " VirtualClock first"
            )
        self.stopping = True
        self._program.keep((self, self._stack, self._leader_stack))
        self._program.kill()
        for watchdog in self._watchdogs:
            watchdog.stop()
        self._of_process.close()
