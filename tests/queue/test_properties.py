"""The queue beside a model that is too simple to be wrong, through any sequence of events."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kubewright.clock import VirtualClock
from kubewright.queue import ExponentialBackoff, QueueShutDown, WorkQueue

T = TypeVar("T")

KEYS = st.sampled_from("abcdef")
PRIORITIES = st.sampled_from([-100, 0, 0, 7])
# Times are sixty-fourths of a second: exact as floats and as nanoseconds, so that equal times are equal.
TICK = 1 / 64
BASE, CAP = 1, 8


class Wish:
    """That a key shall run: how urgently, from when on (None: now), and its turn among its equals."""

    def __init__(self, priority: int, due: int | None, turn: int) -> None:
        self.priority = priority
        self.due = due
        self.turn = turn


class Model:
    """One wish for each key, and a search through all of them whenever a worker is free."""

    def __init__(self) -> None:
        self.now = 0
        self.turns = 0
        self.wishes: dict[str, Wish] = {}
        self.running: dict[str, int] = {}
        self.failures: dict[str, int] = {}
        self.idle = 0
        self.handed_out: list[str] = []
        self.shut_down = False

    def turn(self) -> int:
        self.turns += 1
        return self.turns

    def add(self, key: str, priority: int, ticks: int = 0) -> None:
        if self.shut_down:
            return
        due = self.now + ticks if ticks > 0 else None
        wish = self.wishes.get(key)
        if wish is None:
            self.wishes[key] = Wish(priority, due, self.turn())
        else:
            earlier = wish.due is not None and (due is None or due < wish.due)
            if earlier:
                wish.due = due
            if earlier or priority > wish.priority:
                wish.turn = self.turn()
            wish.priority = max(wish.priority, priority)
        self.hand_out()

    def backoff(self, key: str) -> int:
        failures = self.failures.get(key, 0)
        self.failures[key] = failures + 1
        return int(min(BASE * 2**failures, CAP))

    def ready(self) -> list[str]:
        keys = [key for key, wish in self.wishes.items() if wish.due is None and key not in self.running]
        return sorted(keys, key=lambda key: (-self.wishes[key].priority, self.wishes[key].turn))

    def hand_out(self) -> None:
        while self.idle and (ready := self.ready()):
            self.idle -= 1
            self.running[ready[0]] = self.wishes.pop(ready[0]).priority
            self.handed_out.append(ready[0])
        if self.shut_down and not self.wishes:
            self.idle = 0

    def done(self, key: str) -> None:
        del self.running[key]
        if key in self.wishes and self.wishes[key].due is None:
            self.wishes[key].turn = self.turn()
        self.hand_out()

    def advance(self, ticks: int) -> None:
        for _ in range(ticks):
            self.now += 1
            due = [key for key, wish in self.wishes.items() if wish.due is not None and wish.due <= self.now]
            for key in sorted(due, key=lambda key: self.wishes[key].turn):
                self.wishes[key].due = None
                self.wishes[key].turn = self.turn()
            self.hand_out()

    def shutdown(self, drain: bool) -> None:
        self.shut_down = True
        self.wishes = {key: wish for key, wish in self.wishes.items() if drain and wish.due is None}
        self.hand_out()


class QueueAndModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = VirtualClock()
        self.queue = WorkQueue[str]("model", clock=self.clock, rate_limiter=ExponentialBackoff(BASE * TICK, CAP * TICK))
        self.model = Model()
        self.workers: list[asyncio.Future[None]] = []
        self.in_work: list[str] = []
        self.handed_out: list[str] = []
        self.sent_home = 0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def settle(self) -> None:
        self.run(self.clock.settled())

    async def work_once(self) -> None:
        try:
            key = await self.queue.get()
        except QueueShutDown:
            self.sent_home += 1
            return
        assert key not in self.in_work, f"{key} is with two workers"
        self.in_work.append(key)
        self.handed_out.append(key)

    @initialize(workers=st.integers(0, 2))
    def workers_come_before_there_is_work(self, workers: int) -> None:
        for _ in range(workers):
            self.a_worker_comes()

    @rule(key=KEYS, priority=PRIORITIES)
    def add(self, key: str, priority: int) -> None:
        self.queue.add(key, priority=priority)
        self.settle()
        self.model.add(key, priority)

    @rule(adds=st.lists(st.tuples(KEYS, PRIORITIES), min_size=2, max_size=8))
    @precondition(lambda self: not self.model.idle)
    def add_many_at_once(self, adds: list[tuple[str, int]]) -> None:
        for key, priority in adds:
            self.queue.add(key, priority=priority)
            self.model.add(key, priority)
        self.settle()

    @rule(key=KEYS, ticks=st.integers(-1, 20), priority=st.none() | PRIORITIES)
    def add_after(self, key: str, ticks: int, priority: int | None) -> None:
        self.queue.add_after(key, ticks * TICK, priority=priority)
        self.settle()
        self.model.add(key, self.model.running.get(key, 0) if priority is None else priority, ticks)

    @rule(key=KEYS)
    def add_rate_limited(self, key: str) -> None:
        self.queue.add_rate_limited(key)
        self.settle()
        if not self.model.shut_down:
            self.model.add(key, self.model.running.get(key, 0), self.model.backoff(key))

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        self.queue.forget(key)
        self.model.failures.pop(key, None)

    @rule()
    @precondition(lambda self: len(self.workers) < 4)
    def a_worker_comes(self) -> None:
        self.workers.append(self.loop.create_task(self.work_once()))
        self.settle()
        self.model.idle += 1
        self.model.hand_out()

    @rule(data=st.data())
    @precondition(lambda self: self.workers)
    def a_worker_gives_up_waiting(self, data: st.DataObject) -> None:
        worker = data.draw(st.sampled_from(self.workers))
        worker.cancel()
        self.settle()
        self.model.idle -= 1

    @rule(key=KEYS, priority=PRIORITIES)
    @precondition(lambda self: self.workers)
    def a_worker_gives_up_in_the_moment_a_key_comes(self, key: str, priority: int) -> None:
        self.queue.add(key, priority=priority)
        self.workers[0].cancel()
        self.settle()
        self.model.idle -= 1
        self.model.add(key, priority)

    @rule(data=st.data())
    @precondition(lambda self: self.in_work)
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(self.in_work))
        self.in_work.remove(key)
        self.queue.done(key)
        self.settle()
        self.model.done(key)

    @rule(ticks=st.integers(1, 12))
    def time_passes(self, ticks: int) -> None:
        self.run(self.clock.advance(ticks * TICK))
        self.model.advance(ticks)

    @rule(drain=st.booleans())
    @precondition(lambda self: self.model.turns > 15)
    def shutdown(self, drain: bool) -> None:
        self.queue.shutdown(drain=drain)
        self.settle()
        self.model.shutdown(drain)

    @invariant()
    def both_agree(self) -> None:
        self.workers = [worker for worker in self.workers if not worker.done() or self._failed(worker)]
        model = self.model
        assert self.handed_out == model.handed_out
        assert sorted(self.in_work) == sorted(model.running)
        assert len(self.workers) == model.idle
        assert self.queue.keys() == {*model.wishes, *model.running}
        assert len(self.queue) == sum(wish.due is None for wish in model.wishes.values())
        for key in "abcdef":
            state, wish = self.queue.state(key), model.wishes.get(key)
            assert (state.running_for is not None) == (key in model.running)
            assert (state.waiting_for is not None) == (wish is not None and wish.due is None)
            assert state.ready_in == (None if wish is None or wish.due is None else (wish.due - model.now) * TICK)
            assert state.priority == (wish.priority if wish else model.running.get(key))
            assert state.retries == model.failures.get(key, 0)

    @staticmethod
    def _failed(worker: asyncio.Future[None]) -> bool:
        if not worker.cancelled():
            worker.result()
        return False

    def teardown(self) -> None:
        try:
            self.everything_ready_is_handed_out_at_the_end()
        finally:
            for worker in self.workers:
                worker.cancel()
            self.settle()
            self.loop.close()

    def everything_ready_is_handed_out_at_the_end(self) -> None:
        expected = {key for key, wish in self.model.wishes.items() if wish.due is None}
        self.queue.shutdown()
        before = len(self.handed_out)
        while self.queue.keys():
            self.loop.create_task(self.work_once())
            self.settle()
            for key in self.in_work:
                self.queue.done(key)
            self.in_work.clear()
        self.run(self.queue.drained())
        assert sorted(self.handed_out[before:]) == sorted(expected)


QueueAndModel.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
TestQueueAndModel = pytest.mark.promise(
    "The queue",
    "After any sequence of events it does what a simple model does: no key twice at once, nothing lost, order, delays.",
)(QueueAndModel.TestCase)
