"""`Incarnations`: the operator's process, which can be killed and started again."""

from __future__ import annotations

import asyncio
import logging
import traceback
from typing import Final

from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster, User
from kubewright.explore.model import Failure
from kubewright.explore.runner._actors import OPERATOR, STANDBY
from kubewright.explore.runner._companions import current_companions
from kubewright.explore.runner._parsing import is_parsing
from kubewright.explore.runner._settings import UNSERVED
from kubewright.explore.runner._stage import Stage
from kubewright.explore.runner._standby import SETTINGS, Standby
from kubewright.operator import Killed, Operator, Running, load_operator

__all__ = ["Incarnations", "Problems"]

_FIRST_BACKOFF: Final = 10.0
_LONGEST_BACKOFF: Final = 300.0
_STARTS: Final = 10
"""Failed starts in a row after which the operator is not started again."""


class Problems(logging.Handler):
    """Collects the errors in the log."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(logging.WARNING)
        self._stage = stage
        self.found: list[Failure] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Adds a failure, unless a companion caused it."""
        error = record.exc_info[1] if record.exc_info else None
        if (companions := current_companions()) is not None:
            companions.note(record, error)
            return
        if error is None and record.levelno < logging.ERROR:
            return
        self.found.append(
            Failure(
                time=self._stage.clock.monotonic(),
                step=self._stage.recorder.step,
                type=type(error).__name__ if error is not None else "",
                message=f"{record.getMessage()}: {error}" if error is not None else record.getMessage(),
                traceback="".join(traceback.format_exception(error)) if error is not None else "",
                during_fault=any(request.fault for request in self._stage.requests),
                parsing=error is not None and is_parsing(error),
            )
        )


class Incarnations:
    """Starts the operator, kills it, and starts it again with fresh modules.

    If the start fails, for instance because of a fault, the operator is started again after a delay that doubles, as a
    kubelet does. `error` has the exception of an operator that ended by itself after its start, or that never starts.
    """

    def __init__(self, target: str, first: Operator, cluster: Cluster, clock: VirtualClock, stage: Stage) -> None:
        self._target = target
        self._first: Operator | None = first
        self._cluster = cluster
        self._clock = clock
        self._stage = stage
        self._starting: Running | None = None
        self.running: Running | None = None
        self.operator: Operator | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._failed_starts = 0
        self._standby: Standby | None = None
        self.error: BaseException | None = None
        stage.crashed = self._crashed
        stage.taken_over = self._taken_over
        stage.has_standby = self._has_standby

    def start(self) -> None:
        """Starts the operator in the background, as a new process does."""
        self._stage.incarnation += 1
        name = f"start {self._stage.incarnation} of the operator"
        self._tasks.append(asyncio.create_task(self._operate(), name=name))

    async def _operate(self) -> None:
        try:
            self.operator, self._first = self._first or load_operator(self._target), None
            client = self._cluster.client(user=User(OPERATOR, ("system:masters",)))
            simulated = self._stage.prepare(self.operator)
            running = self.operator.running(client, clock=self._clock, replace=simulated, **UNSERVED)
            self._starting = running
            async with running:
                self.running = running
                self._failed_starts = 0
                await asyncio.get_running_loop().create_future()
        except Killed:
            pass
        except Exception as error:
            self._ended(error)

    def _ended(self, error: Exception) -> None:
        was_up = self.running is not None
        self._starting = self.running = None
        self._failed_starts += 1
        if was_up or self._failed_starts >= _STARTS or not self._stage.was_disturbed:
            self.error = error
            return
        delay = min(_FIRST_BACKOFF * 2.0 ** (self._failed_starts - 1), _LONGEST_BACKOFF)
        self._clock.call_later(delay, self.start)

    async def stand_by(self) -> None:
        """Starts a second replica, whose caches are in sync and which waits for the leadership."""

        def running() -> Running:
            client = self._cluster.client(user=User(STANDBY, ("system:masters",)))
            operator = load_operator(self._target)
            simulated = self._stage.prepare(operator)
            return operator.running(client, clock=self._clock, replace=simulated, **{**UNSERVED, **SETTINGS})

        if self._standby is None:
            self._standby = Standby(self._cluster, self._clock, running)
            await self._standby.start()

    def _has_standby(self) -> bool:
        return self._standby is not None and self._standby.running is not None

    def _taken_over(self) -> None:
        assert self._standby is not None
        assert self._standby.running is not None
        self.kill()
        self._stage.incarnation += 1
        self._starting = self.running = self._standby.running
        self._standby.release()

    def _crashed(self, downtime: float) -> None:
        self.kill()
        self._clock.call_later(downtime, self.start)

    def kill(self) -> None:
        """Kills the operator."""
        if self._starting is not None:
            self._starting.kill()
        self._starting = self.running = None

    @property
    def is_up(self) -> bool:
        """Whether the operator runs and its caches are in sync."""
        return self.running is not None

    def pending(self) -> float:
        """Returns the seconds until every object has been reconciled again, as far as this is planned."""
        longest = 0.0
        if self.running is None:
            return longest
        for controller in self.running.controllers:
            for key in controller.queue.keys():  # noqa: SIM118 - iterating a queue takes keys
                state = controller.queue.state(key)
                longest = max(longest, state.ready_in or 0.0)
            longest = max(longest, controller.resync_in or 0.0)
        return longest

    def is_failing(self) -> bool:
        """Returns whether a reconcile waits for a retry after a failure."""
        if self.running is None:
            return False
        return any(
            controller.queue.retries(key)
            for controller in self.running.controllers
            for key in controller.queue.keys()  # noqa: SIM118 - iterating a queue takes keys
        )

    def permitted(self) -> list[str]:
        """Returns the verbs and resources that the generated roles allow to write, such as `create configmaps`."""
        if self.operator is None:
            return []
        needed = [each for each in self.operator.permissions() if each.verb in _WRITES]
        return sorted({f"{each.verb} {each.qualified.partition('/')[0]}" for each in needed})

    def is_busy(self) -> bool:
        """Returns whether a reconcile runs or is due now."""
        return self.running is None or not all(controller.idle for controller in self.running.controllers)


_WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection", "*"})
