"""`Run`: runs a plan on an embedded cluster in this process, in virtual time."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from kubewright.api import core
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.nodes import HEARTBEAT_SECONDS, PodPlan
from kubewright.cluster.workloads import Workloads, usual_plan
from kubewright.explore.model import (
    MISSING_IMAGE,
    Apply,
    Checkpoint,
    Conditions,
    Create,
    Delete,
    Fault,
    Outcome,
    Pause,
    Plan,
    Restart,
    Revise,
    Step,
    Wait,
)
from kubewright.explore.runner._actors import Actor, Refused, type_of_kind
from kubewright.explore.runner._companions import Companions
from kubewright.explore.runner._controllers import controllers_for
from kubewright.explore.runner._determinism import Determinism
from kubewright.explore.runner._incarnations import Incarnations, Problems
from kubewright.explore.runner._recorder import Recorder
from kubewright.explore.runner._reviewed import ReviewedUser
from kubewright.explore.runner._stage import Stage
from kubewright.operator import load_operator
from kubewright.webhook import SimulatedWebhooks

__all__ = ["Run"]

_START: Final = datetime(2030, 1, 1, tzinfo=UTC)
_SHORTEST: Final = 90.0
"""Virtual seconds without a change after which a cluster is quiet."""
_MAX_PLANNED_WAIT: Final = 3600.0
"""How long to wait for a retry or resync that is already planned."""
_MAX_WAIT: Final = 3 * 3600.0
"""Virtual seconds within which the cluster must become quiet after the last fault."""
_PERIOD: Final = 1200.0
_PERIODIC: Final = 60
"""Up to this many changes in a period are a schedule, not a loop. The checkpoint is taken although they continue."""
_READY: Final = 5.0
"""Virtual seconds until a pod is ready."""
_DOWN: Final = 1.0
"""Virtual seconds between two starts of the operator."""
_READS: Final = frozenset({"get", "list", "watch", "*"})
_PACE: Final = 0.05
"""Virtual seconds between two steps without a wait between them."""


def _pods(conditions: Conditions) -> Callable[[core.Pod], PodPlan]:
    """Returns the behavior of pods: they need a few seconds to become ready, as real ones do."""

    def plan(pod: core.Pod) -> PodPlan:
        return dataclasses.replace(
            usual_plan(pod),
            ready_delay=_READY,
            becomes_ready=not conditions.unready,
            image_missing=any(MISSING_IMAGE in (each.image or "") for each in pod.spec.containers),
        )

    return plan


class Run:
    """A run of a plan: `start`, then `proceed` with the steps of its story, then `outcome`.

    Between two calls of `proceed`, nothing happens, and no virtual time passes.

    Args:
        target: the operator.
        conditions: the circumstances.
        escapes: collects the calls that are not deterministic.
        controllers: controllers of the cluster that run in addition to those of the operator's kinds; None for all.
    """

    def __init__(
        self, target: str, conditions: Conditions, escapes: Determinism, controllers: frozenset[str] | None
    ) -> None:
        self.clock = VirtualClock(_START + timedelta(days=conditions.start), longest_hold=10)
        escapes.clock = self.clock
        self._escapes = escapes
        loaded = load_operator(target)
        reads_events = any(each.resource == "events" and each.verb in _READS for each in loaded.permissions())
        self._controllers = controllers
        if controllers is not None:
            kinds = {each.qualified.partition("/")[0] for each in loaded.permissions()}
            self._controllers = controllers | controllers_for(kinds)
        self.cluster = Cluster(
            clock=self.clock,
            seed=conditions.seed,
            service_range=f"10.{96 + conditions.addresses}.0.0/16",
            workloads=Workloads(
                pod_range=f"10.{244 - conditions.addresses}.0.0/16",
                plan=_pods(conditions),
                controllers=self._controllers,
                events=reads_events,
                heartbeat=HEARTBEAT_SECONDS if self._controllers is None or "nodes" in self._controllers else None,
            ),
        )
        self._loaded, self._target, self._conditions = loaded, target, conditions
        self.played = 0
        """The steps that were played."""
        self._refused: list[tuple[int, str]] = []
        self._checkpoints: list[Checkpoint] = []
        self._last_change = 0.0
        self._seen_changes = 0
        self._horizon = 0.0

    async def start(self, plan: Plan) -> None:
        """Starts the cluster and the operator."""
        await self.cluster.start()
        self.recorder = Recorder(self.cluster)
        self.stage = Stage(self._conditions, self.cluster, self.clock, self.recorder)
        self.stage.arm(plan)
        self.operator = Incarnations(self._target, self._loaded, self.cluster, self.clock, self.stage)
        self.user = Actor(self.cluster, "user")
        if self._loaded.has_webhooks:
            self.user = ReviewedUser(self.cluster, "user", SimulatedWebhooks(self._loaded.webhooks, self.clock))
        self.problems = Problems(self.stage)
        root = logging.getLogger()
        root.handlers = [self.problems]
        root.setLevel(logging.WARNING)
        self.companions = Companions(self.cluster, self.clock)
        await self.companions.start(self._loaded)
        self.recorder.start()
        self.operator.start()
        await self.clock.advance_until(self._has_started, limit=600)
        await self.clock.advance(_PACE)  # so that what the operator creates at its start precedes the story
        if self.operator.error is not None:
            raise self.operator.error

    async def proceed(self, steps: Sequence[Step]) -> None:
        """Plays further steps, unless the operator has exceeded its budget of writes."""
        if any(fault.kind == "takeover" for fault in self.stage.plan.faults):
            await self.operator.stand_by()
        for step in steps:
            if self.stage.over_budget:
                return
            self.recorder.step = self.played
            await self._step(self.played, step)
            self.played += 1

    def outcome(self) -> Outcome | None:
        """Returns the outcome so far; None if the run needs controllers of the cluster that do not run.

        Raises the error of a companion.
        """
        self.companions.check()
        stage = self.stage
        touched = {*stage.touched, *(write.resource for write in self.recorder.writes)}
        if self._controllers is not None and controllers_for(touched) - self._controllers:
            return None
        ended = self.operator.error
        return Outcome(
            checkpoints=self._checkpoints,
            requests=stage.requests,
            calls=stage.calls,
            reads=stage.reads,
            invariants=self.recorder.broken,
            writes=self.recorder.writes,
            failures=self.problems.found,
            refused=self._refused,
            hits=stage.hits,
            escapes=sorted(self._escapes.found),
            over_budget=stage.over_budget,
            broken="" if ended is None else f"the operator ended: {ended!r}",
            watched=sorted(stage.watched),
            permitted=self.operator.permitted(),
            journal=self.recorder.digest(),
            lines=self._escapes.coverage.lines(),
        )

    @property
    def open_connections(self) -> int:
        """The descriptors that the event loop observes, except its own."""
        selector = getattr(asyncio.get_running_loop(), "_selector", None)
        return 0 if selector is None else len(selector.get_map()) - 1

    def _has_started(self) -> bool:
        """Returns whether the story begins: a user does not wait for an operator that a fault ended."""
        return self.operator.is_up or self.operator.error is not None or self.stage.was_disturbed

    async def _step(self, number: int, step: Step) -> None:
        faults = [(index, fault) for index, fault in enumerate(self.stage.plan.faults) if fault.at == number]
        downtime = 0.0
        for index, fault in faults:
            match fault.kind:
                case "slow-watch":
                    self.stage.slow_down(fault.resource, fault.seconds)
                    self.stage.hits[index] = True
                case "reordered-watch":
                    self.stage.reorder(fault.resource, fault.seconds)
                    self.stage.hits[index] = True
                case "expired-watch":
                    self.stage.slow_down(fault.resource, fault.seconds)
                    self.clock.call_later(fault.seconds * 0.9, partial(self.stage.expire, fault.resource))
                    self.stage.hits[index] = True
                case "slow-garbage":
                    self.stage.delay_garbage_collection(fault.seconds)
                    self.stage.hits[index] = True
                case "downtime":
                    self.operator.kill()
                    downtime = max(fault.seconds, 1.0)
                    self.stage.hits[index] = True
        if isinstance(step, Wait):
            await self._wait(number, step, [(index, fault) for index, fault in faults])
        elif isinstance(step, Pause):
            await self.clock.advance(step.seconds)
        elif isinstance(step, Restart):
            self.operator.kill()
            try:
                await self.clock.run(self._leave(step), 60)
            except Refused as error:
                self._refused.append((number, str(error)))
            await self.clock.advance(_DOWN)
            self.operator.start()
        else:
            await self._act(number, step)
            await self.clock.advance(_PACE)
        if downtime:
            await self.clock.advance(downtime)
            self.operator.start()

    async def _act(self, number: int, step: Create | Apply | Revise | Delete) -> None:
        try:
            await self.clock.run(self._request(step), 60)
        except Refused as error:
            self._refused.append((number, str(error)))

    async def _request(self, step: Create | Apply | Revise | Delete) -> None:
        if isinstance(step, Create | Apply):
            await (self.user.create if isinstance(step, Create) else self.user.apply)(step.object)
            return
        type_ = type_of_kind(self.cluster, step.api_version, step.kind)
        if isinstance(step, Delete):
            await self.user.delete(type_.qualified, step.namespace, step.name)
            return
        path = "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in step.path)
        replace = "replace" if isinstance(step.path[-1], int) else "add"  # add would insert into a list
        change = {"op": "remove", "path": path} if step.remove else {"op": replace, "path": path, "value": step.value}
        await self.user.json_patch(type_.qualified, step.namespace, step.name, [change])

    async def _leave(self, step: Restart) -> None:
        """Replaces the objects that this process has made by those that another process has left."""
        for key in step.made:
            await self.stage.other.delete(*key)
        for resource, obj in step.left:
            await self.stage.other.restore(resource, obj)

    # Waiting

    async def _wait(self, number: int, step: Wait, faults: list[tuple[int, Fault]]) -> None:
        quiet = await self._quiet()
        for index, fault in faults:
            if await self._disturb(fault):
                self.stage.hits[index] = True
                quiet = await self._quiet()
        first = len(self.stage.requests)
        if step.rest and quiet:
            await self.clock.advance(step.rest)
        self._checkpoints.append(
            Checkpoint(
                step=number,
                time=self.clock.monotonic(),
                quiet=quiet,
                world=self.recorder.world(),
                sent=len(self.stage.requests),
                rest=(first, len(self.stage.requests)),
            )
        )

    async def _disturb(self, fault: Fault) -> bool:
        """Applies a fault of a cluster at rest. Returns whether it could be applied."""
        other = self.stage.other
        try:
            match fault.kind:
                case "restart":
                    self.operator.kill()
                    await self.clock.advance(max(fault.seconds, 0.1))
                    self.operator.start()
                case "remove":
                    await other.delete(fault.resource, fault.namespace, fault.name)
                case "label":
                    return await self.stage.interfere(fault.resource, fault.namespace, fault.name)
                case "edit":
                    path = "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in fault.path)
                    change = {"op": "add", "path": path, "value": fault.value}
                    await other.json_patch(fault.resource, fault.namespace, fault.name, [change])
                case _:
                    return False
        except Refused:
            return False
        return True

    async def _quiet(self) -> bool:
        """Waits until nothing has changed for a while and nothing is planned. Returns False at the limit."""
        begin = self.clock.monotonic()
        self._last_change = begin
        self._seen_changes = self.recorder.changes
        await self.clock.advance(1)
        self._horizon = self._new_horizon()
        period: tuple[float, int] | None = None
        retried = 0.0
        while True:
            now = self.clock.monotonic()
            if self.recorder.changes != self._seen_changes:
                self._seen_changes = self.recorder.changes
                self._last_change = now
                self._horizon = self._new_horizon()
            disturbed = self.stage.disturbed_until
            if disturbed > now or not self.operator.is_up:
                self._horizon = max(self._horizon, max(disturbed, now) + _SHORTEST)
            elif now >= self._horizon and not self.operator.is_busy():
                if retried == disturbed or not self.operator.is_failing():
                    return True
                # A reconcile that failed because of a fault is retried once after the end of the fault.
                retried = disturbed
                self._horizon = now + min(self.operator.pending(), _MAX_PLANNED_WAIT) + 5.0
            passed = now - max(begin, disturbed)
            if passed > _PERIOD and self.operator.is_up and not self.operator.is_failing():
                if period is None:
                    period = (now, self.recorder.changes)
                elif now - period[0] >= _PERIOD:
                    if self.recorder.changes - period[1] <= _PERIODIC:
                        return True
                    period = (now, self.recorder.changes)
            if passed > _MAX_WAIT or self.stage.over_budget or self.operator.error is not None:
                return False
            await self.clock.advance(min(max(self._horizon - now, 1.0), 30.0))
            await asyncio.sleep(0)

    def _new_horizon(self) -> float:
        planned = min(self.operator.pending(), _MAX_PLANNED_WAIT)
        return self._last_change + max(_SHORTEST, planned + 5.0)
