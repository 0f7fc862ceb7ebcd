"""`Stage`: the faults of a plan, at the requests and steps for which they are planned."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.laboratory import Failing, Incoming
from kubewright.explore.model import Fault, Plan, Sent
from kubewright.explore.runner._actors import Actor, Refused
from kubewright.explore.runner._connection import OPERATOR, Connection
from kubewright.explore.runner._recorder import Recorder

__all__ = ["MOST_WRITES", "OTHER_FIELD", "Stage"]

MOST_WRITES: Final = 1500
"""The budget of writes of a run. An operator that exceeds it writes in a loop."""
OTHER_FIELD: Final = "other-client.example.com/field"
"""The annotation of the other writer."""
_REQUEST_FAULTS: Final = frozenset({"crash", "fail", "lost", "hang", "conflict", "forbidden"})


class Stage:
    """Applies faults to requests, and keeps the state of those that last."""

    def __init__(self, plan: Plan, cluster: Cluster, clock: VirtualClock, recorder: Recorder) -> None:
        self.plan = plan
        self.clock = clock
        self.latency = plan.conditions.latency
        self.recorder = recorder
        self.requests: list[Sent] = []
        self.watched: set[str] = set()
        self.hits = [False] * len(plan.faults)
        self.over_budget = False
        self.killed: Callable[[Connection, float], None] = lambda connection, downtime: None
        """Called when the operator crashes, with the seconds until its restart."""
        self.other = Actor(cluster, "other")
        self._cluster = cluster
        self._failing: Failing | None = None
        self._slow: dict[str, float] = {}
        self._forbidden: list[tuple[str, str, float]] = []
        self._busy_until = 0.0
        self._at_write: dict[int, list[int]] = {}
        for index, fault in enumerate(plan.faults):
            if fault.kind in _REQUEST_FAULTS:
                self._at_write.setdefault(fault.at, []).append(index)
        cluster.lab.on_request(self._decide)

    @property
    def disturbed_until(self) -> float:
        """The virtual time at which the last fault that lasts ends."""
        return max([self._busy_until, *self._slow.values(), *(until for *_, until in self._forbidden)])

    def _decide(self, incoming: Incoming) -> Failing | None:
        if incoming.user != OPERATOR:
            return None
        failing, self._failing = self._failing, None
        return failing

    def sent(self, verb: str, resource: str, namespace: str, name: str, subresource: str, incarnation: int) -> Sent:
        """Records a write request before it is sent."""
        made = Sent(
            number=len(self.requests) + 1,
            time=self.clock.monotonic(),
            step=self.recorder.step,
            verb=verb,
            resource=resource,
            namespace=namespace,
            name=name,
            subresource=subresource,
            incarnation=incarnation,
        )
        self.requests.append(made)
        if len(self.requests) > MOST_WRITES:
            self.over_budget = True
        return made

    async def before(self, sent: Sent, connection: Connection) -> None:
        """Applies the faults before a write."""
        now = self.clock.monotonic()
        for verb, resource, until in self._forbidden:
            if (verb, resource) == (sent.verb, sent.resource) and now < until:
                self._fail(sent, Failing(403), "forbidden")
        for index in self._at_write.get(sent.number, ()):
            await self._strike(index, self.plan.faults[index], sent, connection)

    async def _strike(self, index: int, fault: Fault, sent: Sent, connection: Connection) -> None:
        match fault.kind:
            case "fail":
                if fault.status == 409 and sent.verb == "create":
                    return
                self._fail(sent, Failing(fault.status, fault.after), f"failed with {fault.status}")
            case "lost":
                self._fail(sent, Failing("lost", fault.after), "the response was lost")
            case "hang":
                self._fail(sent, Failing("timeout", fault.after), "no response until the timeout")
            case "forbidden":
                until = self.clock.monotonic() + fault.seconds
                self._forbidden.append((sent.verb, sent.resource, until))
                self._fail(sent, Failing(403), "forbidden")
            case "conflict":
                if sent.verb == "create" or not await self.interfere(sent.resource, sent.namespace, sent.name):
                    return
                sent.fault = "another client changed the object just before"
            case "crash":
                if fault.after:
                    return
                sent.fault = "the operator was killed before this request"
                self.crash(connection, fault.seconds)
            case _:
                return
        self.hits[index] = True

    async def interfere(self, resource: str, namespace: str, name: str) -> bool:
        """Changes an object as another client. Returns False if it does not exist."""
        try:
            await self.other.patch(resource, namespace, name, {"metadata": {"annotations": {OTHER_FIELD: "kept"}}})
        except Refused:
            return False
        return True

    def _fail(self, sent: Sent, failing: Failing, story: str) -> None:
        self._failing = failing
        sent.fault = story + (" after it took effect" if failing.committed else "")

    def crash(self, connection: Connection, downtime: float) -> None:
        """Kills the operator; it is started again after the downtime."""
        self._busy_until = max(self._busy_until, self.clock.monotonic() + downtime + 1)
        connection.cut()
        self.killed(connection, downtime)

    async def after(self, sent: Sent, connection: Connection) -> None:
        """Applies the faults after a write took effect."""
        for index in self._at_write.get(sent.number, ()):
            fault = self.plan.faults[index]
            if fault.kind == "crash" and fault.after:
                self.hits[index] = True
                sent.fault = "the operator was killed after this request took effect"
                self.crash(connection, fault.seconds)
        if self.over_budget:
            await asyncio.get_running_loop().create_future()

    # Watches

    def slow_down(self, resource: str, seconds: float) -> None:
        """Holds back the events of a resource; empty for all."""
        self._slow[resource] = self.clock.monotonic() + seconds

    async def passed(self, resource: str) -> None:
        """Waits until events of a resource may arrive."""
        while (wait := max(self._slow.get(resource, 0), self._slow.get("", 0)) - self.clock.monotonic()) > 0:
            await self.clock.sleep(wait)

    def expire(self) -> None:
        """Ends all watches of the operator, so that it lists again."""
        self._cluster.lab.compact()
        self._cluster.lab.end_watches()
