"""`Stems`: runs plans in child processes, from the latest stem before their first fault."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from kubewright.explore.model import Apply, Create, Fault, Outcome, Plan, Step, Wait
from kubewright.explore.runner import _frames
from kubewright.explore.runner._branches import CPU_SECONDS, Order, Ready, become_run, become_stem, send_order
from kubewright.explore.runner._controllers import controllers_for, resource_of
from kubewright.explore.runner._coverage import Programs
from kubewright.explore.runner._stage import CALL_FAULTS, READ_FAULTS, STEP_FAULTS

__all__ = ["Stems"]

_RUN_TIMEOUT_SECONDS: Final = 300.0
"""Real seconds that a run may take."""
_MAX_STEMS: Final = 6
"""Stems of one server. Each one is a process that shares most of its memory."""
_TWICE: Final = 2
"""Plans with the same first steps after which these become a stem. The start of an operator always is one: most
explorations use it again, and a process that continues costs less than a start."""


class _Stem:
    """A process that waits in the middle of a run."""

    def __init__(self, connection: socket.socket, process: int) -> None:
        self.connection = connection
        self.process = process

    def close(self) -> None:
        """Ends the process."""
        self.connection.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)


class Stems:
    """Runs plans. The outcome is the same with and without stems.

    Args:
        descriptors: the server's own descriptors, which its children close.
    """

    def __init__(self, descriptors: Sequence[int]) -> None:
        self._descriptors = descriptors
        self._stems: OrderedDict[bytes, _Stem] = OrderedDict()
        self._wanted: Counter[bytes] = Counter()
        self._sent: dict[bytes, tuple[int, int, int]] = {}
        """The operator's writes, external calls and reads in the undisturbed beginning of a story."""
        self._barren: set[bytes] = set()
        self._programs = Programs()
        self._files: dict[str, tuple[str, ...]] = {}
        """The modules of each operator that has run."""

    def run(self, target: str, plan: Plan, *, fresh: bool = False) -> Outcome:
        """Runs a plan; from the beginning if it is to be `fresh`."""
        made = [step.object for step in plan.story.steps if isinstance(step, Create | Apply)]
        controllers = controllers_for(map(resource_of, made))
        origin = _Origin(target, plan, controllers)
        outcome = None if fresh else self._branched(origin)
        if outcome is None:
            outcome = self._fresh(origin, controllers)
        if outcome is None:  # the operator writes kinds that it does not declare
            outcome = self._fresh(origin, None)
        assert outcome is not None
        self._learn(origin, outcome)
        return outcome

    def close(self) -> None:
        """Ends all stems."""
        for stem in self._stems.values():
            stem.close()
        self._stems.clear()

    # Where to begin

    def _branched(self, origin: _Origin) -> Outcome | None:
        """Runs a plan from a stem; returns None if there is none that could be used."""
        for count, key in origin.beginnings():
            if not self._is_before(origin.plan.faults, count, key):
                continue
            self._wanted[key] += 1
            needed = _TWICE if count else 1
            if key not in self._stems and self._wanted[key] >= needed and key not in self._barren:
                self._grow(origin, count, key)
            if key in self._stems and self._is_before(origin.plan.faults, count, key):
                self._stems.move_to_end(key)
                return self._from(self._stems[key], origin.plan, key)
        return None

    def _is_before(self, faults: Sequence[Fault], count: int, key: bytes) -> bool:
        """Returns whether all faults occur after the first steps of a story."""
        sent = self._sent.get(key, (0, 0, 0) if count == 0 else None)
        for fault in faults:
            if fault.kind == "takeover" and count:
                return False  # the standby starts before the first step, and its requests take time
            if fault.kind in STEP_FAULTS:
                before = fault.at >= count
            else:
                before = sent is not None and fault.at > sent[_counter(fault)]
            if not before:
                return False
        return True

    def _learn(self, origin: _Origin, outcome: Outcome) -> None:
        """Notes which modules the operator has, and how many writes the undisturbed beginning of a story has."""
        self._files[origin.target] = tuple(outcome.lines)
        keys = dict(origin.beginnings())
        for checkpoint in outcome.checkpoints:
            count = checkpoint.step + 1
            if count in keys and keys[count] not in self._sent:
                calls = sum(call.time <= checkpoint.time for call in outcome.calls)
                reads = sum(read.time <= checkpoint.time for read in outcome.reads)
                self._sent[keys[count]] = (checkpoint.sent, calls, reads)
                if not self._is_before(origin.plan.faults, count, keys[count]):
                    del self._sent[keys[count]]

    # Processes

    def _fresh(self, origin: _Origin, controllers: frozenset[str] | None) -> Outcome | None:
        self._programs.prepare(self._files.get(origin.target, ()))
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            self._leave()
            become_run(origin.target, origin.plan, controllers, self._programs, writer)
        os.close(writer)
        try:
            return _outcome(reader)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def _leave(self) -> None:
        """Closes what belongs to the server, in a child process."""
        devnull = os.open(os.devnull, os.O_RDWR)
        os.dup2(devnull, 2)
        for descriptor in self._descriptors:
            os.close(descriptor)
        for stem in self._stems.values():
            stem.connection.close()

    def _grow(self, origin: _Origin, count: int, key: bytes) -> None:
        """Starts a stem that has played the first steps of a story."""
        parent, played = None, 0
        for fewer, other in origin.beginnings():
            if fewer < count and other in self._stems:
                parent, played = self._stems[other], fewer
                break
        if parent is None and count:
            root = next(other for fewer, other in origin.beginnings() if not fewer)
            if root not in self._barren:
                self._grow(origin, 0, root)
            parent = self._stems.get(root)
            if parent is None:
                self._barren.add(key)
                return
        connection, other_end = socket.socketpair()
        steps = origin.plan.story.steps[played:count]
        process = self._root(origin, connection, other_end) if parent is None else _order(parent, steps, other_end)
        other_end.close()
        stem = _Stem(connection, process)
        ready = _ready(connection)

        so_far = (ready.sent, ready.calls, ready.reads)
        if ready.problem or self._sent.setdefault(key, so_far) != so_far:
            self._barren.add(key)
            stem.close()
            return
        self._stems[key] = stem
        if len(self._stems) > _MAX_STEMS:
            self._stems.popitem(last=False)[1].close()

    def _root(self, origin: _Origin, connection: socket.socket, other_end: socket.socket) -> int:
        self._programs.prepare(self._files.get(origin.target, ()))
        child = os.fork()
        if not child:
            connection.close()
            self._leave()
            become_stem(origin.target, origin.plan.conditions, origin.controllers, self._programs, other_end)
        return child

    def _from(self, stem: _Stem, plan: Plan, key: bytes) -> Outcome | None:
        reader, writer = os.pipe()
        try:
            child = send_order(stem.connection, Order(plan=plan), writer)
        except (OSError, EOFError):  # the stem has ended
            self._stems.pop(key).close()
            self._barren.add(key)
            os.close(reader)
            return None
        finally:
            os.close(writer)
        return _outcome(reader, child)


class _Origin:
    """A plan, and the beginnings of its story, which other plans share."""

    def __init__(self, target: str, plan: Plan, controllers: frozenset[str]) -> None:
        self.target = target
        self.plan = plan
        self.controllers = controllers
        place = msgspec.json.encode((target, plan.conditions, sorted(controllers)))
        steps = plan.story.steps
        counts = [count for count in range(len(steps), 0, -1) if isinstance(steps[count - 1], Wait)]
        self._beginnings = [(count, place + _encoded(steps[:count])) for count in (*counts, 0)]

    def beginnings(self) -> Iterator[tuple[int, bytes]]:
        """Yields each number of steps that can be shared, with the key of these steps; the most steps first."""
        yield from self._beginnings


def _counter(fault: Fault) -> int:
    """Returns what the number of a fault counts: 0 for writes, 1 for external calls, 2 for reads."""
    return 1 if fault.kind in CALL_FAULTS else 2 if fault.kind in READ_FAULTS else 0


def _encoded(steps: Sequence[Step]) -> bytes:
    return msgspec.json.encode(steps)


def _order(parent: _Stem, steps: Sequence[Step], answers: socket.socket) -> int:
    try:
        return send_order(parent.connection, Order(steps=tuple(steps)), answers.fileno())
    except (OSError, EOFError):
        return 0


def _ready(connection: socket.socket) -> Ready:
    try:
        found: Ready = _frames.read(connection.fileno(), _RUN_TIMEOUT_SECONDS)
    except (OSError, EOFError):  # TimeoutError is an OSError
        return Ready(problem="the process has ended")
    return found


def _outcome(reader: int, child: int = 0) -> Outcome | None:
    """Returns the outcome of a run; None if it needs controllers that do not run. Kills a run that does not end."""
    try:
        found: Outcome | None = _frames.read(reader, _RUN_TIMEOUT_SECONDS)
    except EOFError:
        return Outcome(broken=f"the run ended without a result, or took more than {CPU_SECONDS} CPU seconds")
    except TimeoutError:
        if child:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        return Outcome(broken=f"the run did not end within {_RUN_TIMEOUT_SECONDS:g} real seconds")
    finally:
        os.close(reader)
    return found
