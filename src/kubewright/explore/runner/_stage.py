"""`Stage`: the faults of a plan, at the requests and steps for which they are planned."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.laboratory import ExternalCall, Failing, Incoming, Served
from kubewright.controller import Replacement
from kubewright.explore.model import Conditions, Fault, Plan, Sent, Story
from kubewright.explore.runner._actors import OPERATOR, STANDBY, Actor, Refused
from kubewright.explore.runner._recorder import NOISE, Recorder
from kubewright.operator import Operator

__all__ = ["CALL_FAULTS", "MOST_WRITES", "OTHER_FIELD", "READ_FAULTS", "REQUEST_FAULTS", "STEP_FAULTS", "Stage"]

MOST_CALLS: Final = 20_000
"""The budget of calls of external systems."""
MOST_WRITES: Final = 1500
"""The budget of writes of a run. An operator that exceeds it writes in a loop."""
OTHER_FIELD: Final = "other-client.example.com/field"
"""The annotation of the other client."""
REQUEST_FAULTS: Final = frozenset(
    {"crash", "fail", "lost", "hang", "conflict", "forbidden", "webhook-down", "takeover"}
)
CALL_FAULTS: Final = frozenset({"external-crash", "external-fail"})
READ_FAULTS: Final = frozenset({"read-fail", "read-forbidden"})
STEP_FAULTS: Final = frozenset(
    {"slow-watch", "reordered-watch", "expired-watch", "downtime", "restart", "edit", "remove", "label", "slow-garbage"}
)
"""Faults whose `at` is a step. It is a write in `REQUEST_FAULTS`, a call in `CALL_FAULTS`, a read in `READ_FAULTS`."""
_READ: Final = "read"
_READS: Final = frozenset({"get", "list", "watch"})
_REFUSALS: Final = {403: "forbidden", 500: "failed, because an admission webhook is down"}
_REVIEWS: Final = ("reviews.authorization.k8s.io", "reviews.authentication.k8s.io")


class Stage:
    """Records the operator's writes, applies faults to them, and keeps the state of ongoing faults."""

    def __init__(self, conditions: Conditions, cluster: Cluster, clock: VirtualClock, recorder: Recorder) -> None:
        self.plan = Plan(Story("", ()))
        self.clock = clock
        self.recorder = recorder
        self.requests: list[Sent] = []
        self.watched: set[str] = set()
        self.touched: set[str] = set()
        """The resources of the operator's requests."""
        self.hits: list[bool] = []
        self.over_budget = False
        self.crashed: Callable[[float], None] = lambda downtime: None
        """Kills the operator; it is started again after this many seconds."""
        self.has_standby: Callable[[], bool] = lambda: False
        """Whether the caches of a standby are in sync."""
        self.taken_over: Callable[[], None] = lambda: None
        """Kills the operator and gives the leadership to its standby."""
        self.incarnation = 0
        self._user = OPERATOR
        self._lagging = False
        self.other = Actor(cluster, "other")
        self._lab = cluster.lab
        self._serving: dict[int, Sent] = {}
        self._slow_until = 0.0
        self._refusing: list[tuple[str, str, float, int]] = []
        """Verbs and resources of writes that fail, until when, and with which status; an empty verb for all."""
        self._down_until = 0.0
        self._at_write: dict[int, list[int]] = {}
        self.reads: list[Sent] = []
        self._at_read: dict[int, list[int]] = {}
        self.calls: list[Sent] = []
        self._at_call: dict[int, list[int]] = {}
        for user in (OPERATOR, STANDBY):
            self._lab.on_request(self._before, user=user)
            self._lab.on_request(self._after, when="after", user=user, verb="write")
            if conditions.latency:
                self._lab.latency(conditions.latency, user=user)

    def arm(self, plan: Plan) -> None:
        """Sets the faults of the run. The moments at which they occur must be in the future."""
        self.plan = plan
        self.hits = [False] * len(plan.faults)
        for index, fault in enumerate(plan.faults):
            if fault.kind in REQUEST_FAULTS:
                for number in dict.fromkeys((fault.at, fault.until or fault.at)):
                    self._at_write.setdefault(number, []).append(index)
            elif fault.kind in CALL_FAULTS:
                self._at_call.setdefault(fault.at, []).append(index)
            elif fault.kind in READ_FAULTS:
                self._at_read.setdefault(fault.at, []).append(index)

    @property
    def disturbed_until(self) -> float:
        """The virtual time at which the last ongoing fault ends."""
        return max([self._down_until, self._slow_until, *(until for *_, until, _ in self._refusing)])

    @property
    def was_disturbed(self) -> bool:
        """Whether a fault has occurred."""
        return any(self.hits)

    # Requests

    async def _before(self, incoming: Incoming) -> Failing | None:
        self.touched.add(incoming.resource)
        if incoming.verb == "watch":
            self.watched.add(incoming.resource)
        if incoming.verb in _READS:
            return self._read(incoming)
        if not _counts(incoming):
            return None
        if self.over_budget:
            await asyncio.get_running_loop().create_future()
        sent = self._recorded(incoming)
        now = self.clock.monotonic()
        for verb, resource, until, status in self._refusing:
            if verb in ("", sent.verb) and resource == sent.resource and now < until:
                return _failing(sent, Failing(status), _REFUSALS[status])
        for index in self._at_write.get(sent.number, ()):
            failing = await self._strike(index, self.plan.faults[index], sent)
            if failing is not None:
                return failing
        return None

    def _read(self, incoming: Incoming) -> Failing | None:
        """Records a read and returns how it fails. A watch is not a read, but needs the permission."""
        if incoming.resource in NOISE:
            return None
        read = self._sent(incoming, len(self.reads) + 1)
        if incoming.verb != "watch":
            self.reads.append(read)
            for index in self._at_read.get(read.number, ()):
                fault = self.plan.faults[index]
                self.hits[index] = True
                if fault.kind == "read-fail":
                    return _failing(read, Failing(fault.status), f"failed with {fault.status}")
                self._refusing.append((_READ, read.resource, self.clock.monotonic() + fault.seconds, 403))
        now = self.clock.monotonic()
        refused = {resource for verb, resource, until, _ in self._refusing if verb == _READ and now < until}
        if read.resource in refused:
            return _failing(read, Failing(403), _REFUSALS[403])
        return None

    def _recorded(self, incoming: Incoming) -> Sent:
        sent = self._sent(incoming, len(self.requests) + 1)
        self.requests.append(sent)
        self._serving[incoming.number] = sent
        self.recorder.numbers[incoming.number] = sent.number
        self.over_budget = len(self.requests) > MOST_WRITES
        return sent

    def _sent(self, incoming: Incoming, number: int) -> Sent:
        return Sent(
            number=number,
            time=self.clock.monotonic(),
            step=self.recorder.step,
            verb=incoming.verb,
            resource=incoming.resource,
            namespace=incoming.namespace,
            name=incoming.name,
            subresource=incoming.subresource,
            incarnation=self.incarnation,
        )

    async def _strike(self, index: int, fault: Fault, sent: Sent) -> Failing | None:
        """Applies a fault before a write. Returns how the write fails."""
        failing: Failing | None = None
        match fault.kind:
            case "fail":
                if fault.status == 409 and sent.verb == "create":
                    return None
                failing = _failing(sent, Failing(fault.status, fault.after), f"failed with {fault.status}")
            case "lost":
                failing = _failing(sent, Failing("lost", fault.after), "the response was lost")
            case "hang":
                failing = _failing(sent, Failing("timeout", fault.after), "no response until the timeout")
            case "forbidden" | "webhook-down":
                verb, status = (sent.verb, 403) if fault.kind == "forbidden" else ("", 500)
                self._refusing.append((verb, sent.resource, self.clock.monotonic() + fault.seconds, status))
                failing = _failing(sent, Failing(status), _REFUSALS[status])
            case "takeover":
                # The standby sees everything before this write, and neither the write nor its consequences.
                if self.has_standby() and sent.number == fault.at:
                    self.slow_down("", fault.seconds, STANDBY)
                    self._lagging = True
                return None
            case "conflict":
                if sent.verb == "create" or not await self.interfere(sent.resource, sent.namespace, sent.name):
                    return None
                sent.fault = "another client changed the object just before"
            case "crash":
                if fault.after:
                    return None
                sent.fault = "the operator was killed before this request"
                self.crash(fault.seconds)
        self.hits[index] = True
        return failing

    async def _after(self, served: Served) -> None:
        sent = self._serving.get(served.request.number)
        if sent is None:
            return
        sent.status = served.status
        for index in self._at_write.get(sent.number, ()):
            fault = self.plan.faults[index]
            if fault.kind == "crash" and fault.after:
                self.hits[index] = True
                sent.fault = "the operator was killed after this request took effect"
                self.crash(fault.seconds)
            elif fault.kind == "takeover" and self._lagging and sent.number == (fault.until or fault.at):
                self.hits[index] = True
                sent.fault = "the operator lost the leadership after this request, and the standby took over"
                self._user = STANDBY
                self._down_until = self.clock.monotonic() + fault.seconds
                self.taken_over()

    # External systems

    def prepare(self, operator: Operator) -> list[Replacement]:
        """Checks the operator's invariants from now on, and returns its simulated external systems."""
        self.recorder.invariants = dict(operator.invariants)
        replacements = []
        for dependency in operator.dependencies:
            if dependency.simulated is not None:
                external = self._lab.external(dependency)
                external.on_call(self._before_call)
                external.on_call(self._after_call, when="after")
                replacements.append(external.replacement)
        return replacements

    def _before_call(self, call: ExternalCall) -> bool:
        if self.over_budget:
            return True
        number, now = len(self.calls) + 1, self.clock.monotonic()
        called = Sent(number, now, self.recorder.step, call.method, call.system, "", "", "")
        called.incarnation = self.incarnation
        self.calls.append(called)
        self.over_budget = len(self.calls) > MOST_CALLS
        return self._strike_call(called, after=False)

    def _after_call(self, call: ExternalCall) -> bool:
        return self._strike_call(self.calls[-1], after=True)

    def _strike_call(self, called: Sent, *, after: bool) -> bool:
        """Applies a fault to a call. Returns whether it fails."""
        moment = "after it took effect" if after else "before it took effect"
        for index in self._at_call.get(called.number, ()):
            fault = self.plan.faults[index]
            if fault.after is not after:
                continue
            self.hits[index] = True
            if fault.kind == "external-fail":
                called.fault = f"failed {moment}"
                return True
            called.fault = f"the operator was killed {moment}"
            self.crash(fault.seconds)
        return False

    async def interfere(self, resource: str, namespace: str, name: str) -> bool:
        """Changes an object as another client. Returns False if it does not exist."""
        try:
            await self.other.patch(resource, namespace, name, {"metadata": {"annotations": {OTHER_FIELD: "kept"}}})
        except Refused:
            return False
        return True

    def crash(self, downtime: float) -> None:
        """Kills the operator; it is started again after the downtime."""
        self._down_until = max(self._down_until, self.clock.monotonic() + downtime + 1)
        self.crashed(downtime)

    # Watches

    def slow_down(self, resource: str, seconds: float, user: str = "") -> None:
        """Holds back the events of a resource from the operator; empty for all that it watches."""
        self._slow_until = max(self._slow_until, self.clock.monotonic() + seconds)
        for each in [resource] if resource else sorted(self.watched):
            disturbance = self._lab.frozen_watch(each, user=user or self._user)
            self.clock.call_later(seconds, disturbance.end)

    def reorder(self, first: str, seconds: float) -> None:
        """Delivers the events of a resource first, and those of the others one kind after the other."""
        others = [each for each in sorted(self.watched) if each != first]
        for number, each in enumerate(others, 1):
            self.slow_down(each, seconds * number / len(others))

    def expire(self, resource: str = "") -> None:
        """Ends watches of the operator and drops the history, so that it lists again and skips states."""
        self._lab.compact()
        self._lab.end_watches(resource, user=self._user)

    def delay_garbage_collection(self, seconds: float) -> None:
        """Delays the garbage collector from now on, for as long as the run lasts."""
        self._slow_until = max(self._slow_until, self.clock.monotonic() + seconds)
        self._lab.delay_garbage_collection(seconds)


def _counts(incoming: Incoming) -> bool:
    """Returns whether a request is a write at which faults occur: not a dry run, an event, a lease or a definition."""
    return (
        incoming.writes
        and incoming.resource not in NOISE
        and not incoming.resource.endswith(_REVIEWS)
        and incoming.subresource != "token"
    )


def _failing(sent: Sent, failing: Failing, story: str) -> Failing:
    sent.fault = story + (" after it took effect" if failing.committed else "")
    return failing
