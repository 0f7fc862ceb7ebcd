"""What a queue counts, measures and tells about one key."""

import pytest

from kubewright.clock import VirtualClock
from kubewright.queue import BUCKETS, LOW_PRIORITY, Histogram, KeyState, QueueMetrics, WorkQueue


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


class Recorder:
    """The depth, and everything else that was heard, in order."""

    def __init__(self) -> None:
        self.heard: list[tuple[object, ...]] = []
        self.depth: dict[int, int] = {}

    def _change(self, priority: int, by: int) -> None:
        self.depth[priority] = self.depth.get(priority, 0) + by

    def added(self, priority: int) -> None:
        self._change(priority, +1)
        self.heard.append(("added", priority))

    def raised(self, old: int, new: int) -> None:
        self._change(old, -1)
        self._change(new, +1)
        self.heard.append(("raised", old, new))

    def taken(self, priority: int, waited: float) -> None:
        self._change(priority, -1)
        self.heard.append(("taken", priority, waited))

    def dropped(self, priority: int) -> None:
        self._change(priority, -1)
        self.heard.append(("dropped", priority))

    def finished(self, worked: float) -> None:
        self.heard.append(("finished", worked))

    def retried(self) -> None:
        self.heard.append(("retried",))


async def test_stats_count_adds_that_made_a_key_ready_and_adds_with_a_delay(clock: VirtualClock) -> None:
    queue = WorkQueue[str]("foos", clock=clock)
    queue.add("a")
    queue.add("a")
    queue.add("b", priority=LOW_PRIORITY)
    queue.add_after("c", 10)
    queue.add_rate_limited("d")
    stats = queue.stats()
    assert (stats.name, stats.depth, stats.delayed, stats.running) == ("foos", 2, 2, 0)
    assert stats.depth_by_priority == {0: 1, LOW_PRIORITY: 1}
    assert (stats.adds, stats.retries) == (2, 2)
    await clock.advance(10)
    stats = queue.stats()
    assert (stats.depth, stats.delayed, stats.adds, stats.retries) == (4, 0, 4, 2)


async def test_stats_measure_how_long_keys_wait_and_are_worked_on(clock: VirtualClock) -> None:
    queue = WorkQueue[str](clock=clock)
    queue.add("a")
    await clock.advance(2)
    await queue.get()
    await clock.advance(30)
    assert queue.stats().unfinished_work_seconds == 30
    queue.done("a")
    stats = queue.stats()
    assert (stats.queue_duration.count, stats.queue_duration.sum) == (1, 2)
    assert (stats.work_duration.count, stats.work_duration.sum) == (1, 30)
    assert (stats.unfinished_work_seconds, stats.longest_running_processor_seconds) == (0, 0)


async def test_a_delay_does_not_count_as_waiting(clock: VirtualClock) -> None:
    queue = WorkQueue[str](clock=clock)
    queue.add_after("a", 100)
    await clock.advance(101)
    await queue.get()
    assert queue.stats().queue_duration.sum == pytest.approx(1)


async def test_a_raised_priority_does_not_shorten_the_waiting(clock: VirtualClock) -> None:
    queue = WorkQueue[str](clock=clock)
    queue.add("a")
    await clock.advance(3)
    queue.add("a", priority=1)
    await queue.get()
    assert queue.stats().queue_duration.sum == 3


async def test_stats_include_unfinished_work(clock: VirtualClock) -> None:
    queue = WorkQueue[str](clock=clock)
    for key in "ab":
        queue.add(key)
        await queue.get()
        await clock.advance(10)
    stats = queue.stats()
    assert stats.running == 2
    assert stats.unfinished_work_seconds == 30
    assert stats.longest_running_processor_seconds == 20


@pytest.mark.promise("The queue", "Its metrics have the names that dashboards know.")
async def test_the_metrics_have_the_names_that_dashboards_know(clock: VirtualClock) -> None:
    queue = WorkQueue[str](clock=clock)
    queue.add("a")
    metrics = queue.stats().metrics()
    assert metrics["workqueue_depth"] == {0: 1}
    assert set(metrics) == {
        "workqueue_depth",
        "workqueue_adds_total",
        "workqueue_queue_duration_seconds",
        "workqueue_work_duration_seconds",
        "workqueue_unfinished_work_seconds",
        "workqueue_longest_running_processor_seconds",
        "workqueue_retries_total",
    }


@pytest.mark.promise(
    "Watching an operator",
    "Metrics have controller-runtime's names, types, labels and buckets, and each result is there from the beginning.",
)
def test_the_buckets_are_those_of_controller_runtime() -> None:
    # As Go computes them: these two are not round, and are labels of series.
    small = (1e-08, 1e-07, 1e-06, 9.999999999999999e-06, 9.999999999999999e-05)
    assert (*small, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0) == BUCKETS


async def test_a_duration_falls_into_the_bucket_that_includes_it(clock: VirtualClock) -> None:
    queue = WorkQueue[int](clock=clock)
    for number, seconds in enumerate([0, 1, 1.5, 5000]):
        queue.add(number)
        await clock.advance(seconds)
        await queue.get()
    histogram = queue.stats().queue_duration
    assert histogram.count == 4
    assert histogram.cumulative() == [
        *[(bound, 1) for bound in BUCKETS if bound < 1],
        (1, 2),
        (10, 3),
        (100, 3),
        (1000, 3),
        (float("inf"), 4),
    ]
    assert histogram == Histogram(histogram.counts, 5002.5)


async def test_metrics_object_receives_every_action(clock: VirtualClock) -> None:
    recorder = Recorder()
    metrics: QueueMetrics = recorder
    queue = WorkQueue[str](clock=clock, metrics=metrics)
    queue.add("a", priority=LOW_PRIORITY)
    queue.add("a")
    await clock.advance(1)
    await queue.get()
    queue.add_after("a", 1)
    await clock.advance(2)
    queue.done("a")
    assert recorder.heard == [
        ("added", LOW_PRIORITY),
        ("raised", LOW_PRIORITY, 0),
        ("taken", 0, 1.0),
        ("retried",),
        ("added", 0),
        ("finished", 2.0),
    ]
    assert recorder.depth == {LOW_PRIORITY: 0, 0: 1}
    queue.shutdown(drain=False)
    assert recorder.heard[-1] == ("dropped", 0)
    assert recorder.depth == {LOW_PRIORITY: 0, 0: 0}


# One key


async def test_the_state_of_a_key_follows_it_through_the_queue(clock: VirtualClock) -> None:
    queue = WorkQueue[str](clock=clock)
    assert queue.state("a") == KeyState()
    assert not queue.state("a").known

    queue.add_after("a", 10, priority=2)
    await clock.advance(4)
    assert queue.state("a") == KeyState(ready_in=6, priority=2)

    await clock.advance(8)
    assert queue.state("a") == KeyState(waiting_for=2, priority=2)

    await queue.get()
    await clock.advance(3)
    assert queue.state("a") == KeyState(running_for=3, priority=2)

    queue.add("a")
    await clock.advance(1)
    assert queue.state("a") == KeyState(running_for=4, waiting_for=1, priority=0)

    queue.done("a")
    assert queue.state("a") == KeyState(waiting_for=1, priority=0)
    assert queue.state("a").known


async def test_state_of_a_failing_key_has_retries_and_next_attempt(clock: VirtualClock) -> None:
    queue = WorkQueue[str](clock=clock)
    for _ in range(3):
        queue.add_rate_limited("a")
        await clock.run(queue.get())
        queue.done("a")
    queue.add_rate_limited("a")
    state = queue.state("a")
    assert state.retries == 4
    assert state.ready_in == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (KeyState(), "not queued"),
        (KeyState(retries=1), "not queued; 1 retry"),
        (KeyState(waiting_for=1.25, priority=0), "waiting for 1.25s"),
        (KeyState(ready_in=5, priority=-100, retries=3), "ready in 5s; priority -100; 3 retries"),
        (KeyState(ready_in=0.005, retries=1), "ready in 5ms; 1 retry"),
        (KeyState(running_for=2, priority=0), "running for 2s"),
        (KeyState(running_for=2, waiting_for=1, priority=0), "running for 2s; runs again afterwards"),
        (
            KeyState(running_for=2, ready_in=5, priority=0, retries=3),
            "running for 2s; runs again in 5s; 3 retries",
        ),
    ],
)
def test_the_state_of_a_key_reads_as_a_sentence(state: KeyState, sentence: str) -> None:
    assert str(state) == sentence


async def test_keys_are_all_that_the_queue_holds(clock: VirtualClock) -> None:
    queue = WorkQueue[str](clock=clock)
    queue.add("running")
    await queue.get()
    queue.add("ready")
    queue.add_after("delayed", 1)
    assert queue.keys() == {"running", "ready", "delayed"}


async def test_how_long_a_running_key_had_waited(clock: VirtualClock) -> None:
    queue = WorkQueue[str]("foos", clock=clock)
    queue.add("a")
    await clock.advance(3)
    assert await queue.get() == "a"
    await clock.advance(1)
    assert (queue.waited("a"), queue.waited("b")) == (3, 0)
    queue.done("a")
    assert queue.waited("a") == 0
