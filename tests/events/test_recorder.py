from __future__ import annotations

import asyncio
import logging
import random
import threading
from datetime import timedelta

import msgspec
import pytest

from kubewright.api import core, events, meta
from kubewright.client import Client, ConnectionLost, Request, Response
from kubewright.clock import VirtualClock
from kubewright.events import EventRecorder, Limits
from tests.patience import PATIENCE
from tests.transports.scripted import ScriptedResponse, status_response

pytestmark = pytest.mark.clusters


@pytest.mark.promise(
    "Watching an operator",
    "Events say who did what; repeated ones are a series; kubectl shows both versions alike.",
)
async def test_event_has_component_action_and_time(
    client: Client, clock: VirtualClock, recorder: EventRecorder, subject: core.ConfigMap, namespace: str
) -> None:
    other = core.ObjectReference(kind="Secret", name="other", namespace=namespace)
    recorder.record(subject, "Synced", "Subject synced successfully", action="Apply", related=other)
    await recorder.flush()
    [event] = await client.list(events.Event, namespace)
    assert (event.type, event.reason, event.action, event.note) == (
        "Normal",
        "Synced",
        "Apply",
        "Subject synced successfully",
    )
    assert (event.reporting_controller, event.reporting_instance) == ("test-controller", "test-controller-0")
    assert event.event_time == clock.now()
    assert event.regarding is not None
    assert (event.regarding.name, event.regarding.uid) == ("subject", subject.metadata.uid)
    assert event.related is not None
    assert event.related.name == "other"
    assert event.series is None


@pytest.mark.promise(
    "Watching an operator",
    "Events say who did what; repeated ones are a series; kubectl shows both versions alike.",
)
async def test_the_same_event_again_is_a_series(
    client: Client, clock: VirtualClock, recorder: EventRecorder, subject: core.ConfigMap, namespace: str
) -> None:
    began = clock.now()
    for _ in range(3):
        recorder.record(subject, "Synced", "Subject synced successfully")
        await recorder.flush()
        await clock.advance(60)
    recorder.record(subject, "Synced", "another message")
    await recorder.flush()
    other, recorded = sorted(await client.list(events.Event, namespace), key=lambda event: event.series is not None)
    assert other.series is None
    assert recorded.event_time == began
    assert recorded.series is not None
    assert recorded.series.count == 3
    assert recorded.series.last_observed_time is not None
    assert recorded.series.last_observed_time - timedelta(seconds=120) == began
    assert (recorder.stats.recorded, recorder.stats.written, recorder.stats.repeated) == (4, 4, 2)


async def test_repeated_events_before_the_first_write_are_one_request(
    client: Client, recorder: EventRecorder, subject: core.ConfigMap, namespace: str
) -> None:
    for _ in range(5):
        recorder.record(subject, "Synced", "synced")
    await recorder.flush()
    [event] = await client.list(events.Event, namespace)
    assert event.series is not None
    assert event.series.count == 5
    assert recorder.stats.written == 1


async def test_in_the_older_version_it_raises_the_count(
    client: Client, clock: VirtualClock, core_recorder: EventRecorder, subject: core.ConfigMap, namespace: str
) -> None:
    began = clock.now().replace(microsecond=0)
    for _ in range(3):
        core_recorder.record(subject, "Synced", "Subject synced successfully")
        await core_recorder.flush()
        await clock.advance(60)
    [recorded] = await client.list(core.Event, namespace)
    assert (recorded.count, recorded.first_timestamp, recorded.action) == (3, began, "Reconcile")
    assert recorded.last_timestamp is not None
    assert (recorded.last_timestamp - began).total_seconds() == 120
    assert recorded.source is not None
    assert (recorded.source.component, recorded.reporting_component) == ("test-controller", "test-controller")


async def test_similar_events_become_one_with_the_last_message_if_allowed(
    client: Client, recorder: EventRecorder, core_recorder: EventRecorder, subject: core.ConfigMap, namespace: str
) -> None:
    for number in range(12):
        core_recorder.record(subject, "Core", f"message {number}")
        recorder.record(subject, "Events", f"message {number}")
        await core_recorder.flush()
        await recorder.flush()
    combined = {
        event.reason: event for event in await client.list(core.Event, namespace) if "combined" in (event.message or "")
    }
    assert (combined["Core"].message, combined["Core"].count) == ("(combined from similar events): message 11", 3)
    assert combined["Events"].message == "(combined from similar events): message 9"
    assert combined["Events"].series is not None
    assert combined["Events"].series.count == 3


async def test_expired_event_is_created_again(
    client: Client, recorder: EventRecorder, subject: core.ConfigMap, namespace: str
) -> None:
    recorder.record(subject, "Synced", "synced")
    await recorder.flush()
    [event] = await client.list(events.Event, namespace)
    await client.delete(events.Event, event.metadata.name, namespace)
    recorder.record(subject, "Synced", "synced")
    await recorder.flush()
    [again] = await client.list(events.Event, namespace)
    assert (again.series, again.metadata.name != event.metadata.name) == (None, True)


async def test_two_programs_with_one_seed_do_not_lose_each_others_events(
    client: Client, clock: VirtualClock, subject: core.ConfigMap, namespace: str
) -> None:
    for number in range(2):
        async with EventRecorder(client, "test-controller", clock=clock, rng=random.Random(1)) as recorder:
            recorder.record(subject, f"Reason{number}", "same seed, same name")
            await recorder.flush()
    assert {event.reason for event in await client.list(events.Event, namespace)} == {"Reason0", "Reason1"}


@pytest.mark.promise("The embedded cluster", "Events of one moment are listed as they were recorded.")
async def test_events_of_one_moment_are_listed_in_order(
    client: Client, clock: VirtualClock, subject: core.ConfigMap, namespace: str
) -> None:
    """kubectl goes by seconds, and then by the order of the list. Those of kubelets name their node."""
    recorded = [f"Reason{number}" for number in range(20)]
    async with EventRecorder(client, "kubelet", host="node-1", version="v1", clock=clock) as recorder:
        for reason in recorded:
            recorder.record(subject, reason, "at once")
    found = list(await client.list(core.Event, namespace))
    assert [event.reason for event in found] == recorded
    assert found[0].source == core.EventSource(component="kubelet", host="node-1")


async def test_events_about_cluster_scoped_objects_are_in_the_namespace_default(
    client: Client, recorder: EventRecorder, namespace: str
) -> None:
    about = await client.get(core.Namespace, namespace)
    recorder.record(about, "Seen", "a namespace of its own")
    await recorder.flush()
    found = [event for event in await client.list(core.Event, "default") if event.involved_object.name == namespace]
    assert [event.involved_object.kind for event in found] == ["Namespace"]


async def test_long_fields_are_cut(
    client: Client, recorder: EventRecorder, subject: core.ConfigMap, namespace: str
) -> None:
    recorder.record(subject, "R" * 500, "ü" * 5_000, action="A" * 500)
    await recorder.flush()
    [event] = await client.list(events.Event, namespace)
    assert (event.reason, event.note, event.action) == ("R" * 128, "ü" * 512, "A" * 128)


async def test_threads_may_record(
    client: Client, recorder: EventRecorder, subject: core.ConfigMap, namespace: str
) -> None:
    thread = threading.Thread(target=recorder.record, args=(subject, "Threaded", "from a thread"))
    thread.start()
    await asyncio.to_thread(thread.join)
    await recorder.flush()
    assert [event.reason for event in await client.list(core.Event, namespace)] == ["Threaded"]


async def test_the_last_counts_are_written_at_the_end(
    client: Client, clock: VirtualClock, subject: core.ConfigMap, namespace: str
) -> None:
    async with EventRecorder(client, "test-controller", limits=Limits(burst=1), clock=clock) as recorder:
        recorder.record(subject, "Synced", "synced")
        await recorder.flush()
        for _ in range(6):
            recorder.record(subject, "Synced", "synced")
        await recorder.flush()
        [held_back] = await client.list(events.Event, namespace)
        assert held_back.series is None
        await recorder.close(timeout=60)
    [event] = await client.list(events.Event, namespace)
    assert event.series is not None
    assert event.series.count == 7


@pytest.mark.promise(
    "Watching an operator",
    "Recording does not wait; the line is bounded; what waits is written at the end.",
)
async def test_queued_events_are_written_at_the_end(client: Client, subject: core.ConfigMap, namespace: str) -> None:
    async with EventRecorder(client, "test-controller") as recorder:
        for number in range(5):
            recorder.record(subject, f"Reason{number}", "last words")
        await recorder.close(timeout=PATIENCE)
    assert len(await client.list(events.Event, namespace)) == 5


@pytest.mark.promise(
    "Watching an operator",
    "A server that is away is tried twelve times; a rejected event is dropped at once and logged once.",
)
async def test_rejected_event_is_dropped_and_logged_once(
    client: Client, recorder: EventRecorder, subject: core.ConfigMap, caplog: pytest.LogCaptureFixture
) -> None:
    lost = core.ObjectReference(kind="Box", name="one", namespace="Not A Namespace")
    for number in range(3):
        recorder.record(lost, "Lost", f"dropped, {number}")
    recorder.record(subject, "Seen", "this one is written")
    await recorder.flush()
    recorder.record(lost, "Lost", "nor this")
    await recorder.flush()
    assert (recorder.stats.dropped, recorder.stats.written) == ({"rejected": 4}, 1)
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "event Lost for Box one was not written" in warnings[0]


class Unreachable:
    """A transport to a server that is not there, for so many requests."""

    def __init__(self, *, requests: int = 10**9, sent: bool = False) -> None:
        self.left = requests
        self.sent = sent
        self.bodies: list[bytes] = []
        self.script: list[ConnectionLost | int] = []

    async def send(self, request: Request) -> Response:
        self.bodies.append(request.body or b"")
        if self.script:
            recorded = self.script.pop(0)
            if isinstance(recorded, ConnectionLost):
                raise recorded
            reason = {404: "NotFound", 409: "AlreadyExists"}[recorded]
            return status_response(recorded, reason)
        if self.left:
            self.left -= 1
            raise ConnectionLost("no answer", sent=self.sent)
        return ScriptedResponse(201, request.body or b"")

    async def close(self) -> None:
        pass


def config_map() -> core.ConfigMap:
    return core.ConfigMap(metadata=meta.ObjectMeta(name="subject", namespace="default"))


@pytest.mark.promise("What a reconciler works with", "An event that cannot be written fails no reconcile.")
async def test_a_server_that_is_not_there_costs_a_line_in_the_log_and_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = VirtualClock()
    async with EventRecorder(Client(transport=Unreachable(), clock=clock), "test-controller", clock=clock) as recorder:
        recorder.record(config_map(), "Synced", "synced")
        await clock.run(recorder.flush())
    assert "event Synced for ConfigMap subject was not written" in caplog.text
    assert recorder.stats.dropped == {"unreachable": 1}


@pytest.mark.promise(
    "Watching an operator",
    "A server that is away is tried twelve times; a rejected event is dropped at once and logged once.",
)
async def test_unreachable_server_is_tried_twelve_times() -> None:
    clock, way = VirtualClock(), Unreachable(sent=True)  # requests that went out are not repeated by the client
    async with EventRecorder(Client(transport=way, clock=clock), "test-controller", clock=clock) as recorder:
        recorder.record(config_map(), "Synced", "synced")
        await clock.run(recorder.flush())
        assert len(way.bodies) == 12
        assert len({*way.bodies}) == 1  # under one name, so that none of them makes a second event
        assert 100 <= clock.monotonic() <= 120


async def test_lost_response_creates_no_second_event() -> None:
    clock, way = VirtualClock(), Unreachable(requests=0)
    async with EventRecorder(Client(transport=way, clock=clock), "test-controller", clock=clock) as recorder:
        recorder.record(config_map(), "Synced", "synced")
        way.script = [ConnectionLost("the answer is lost", sent=True), 409]
        await clock.run(recorder.flush())
        assert (recorder.stats.written, recorder.stats.dropped, len(way.bodies)) == (1, {}, 2)
        recorder.record(config_map(), "Synced", "synced")
        way.script = [ConnectionLost("the answer is lost", sent=True), 404]
        await clock.run(recorder.flush())
    first, _, _, _, again = way.bodies
    assert (recorder.stats.written, recorder.stats.dropped) == (2, {})
    names = [msgspec.json.decode(body)["metadata"]["name"] for body in (first, again)]
    assert all(name.startswith("subject.") for name in names)
    assert names[0] != names[1]


async def test_name_conflicts_are_retried_a_bounded_number_of_times() -> None:
    clock, way = VirtualClock(), Unreachable(requests=0)
    async with EventRecorder(Client(transport=way, clock=clock), "test-controller", clock=clock) as recorder:
        recorder.record(config_map(), "Synced", "synced")
        way.script = [409] * 100
        await clock.run(recorder.flush())
    assert (recorder.stats.dropped, len(way.bodies)) == ({"rejected": 1}, 12)


async def test_event_in_flight_at_the_end_is_counted() -> None:
    clock = VirtualClock()
    recorder = EventRecorder(Client(transport=Unreachable(), clock=clock), "test-controller", clock=clock)
    recorder.start()
    for number in range(3):
        recorder.record(config_map(), f"Reason{number}", "last words")
    await clock.settled()
    await recorder.close(timeout=0.01)
    assert recorder.stats.dropped == {"stopped": 3}


async def test_event_is_written_after_an_outage_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, way = VirtualClock(), Unreachable(requests=5, sent=True)
    async with EventRecorder(Client(transport=way, clock=clock), "test-controller", clock=clock) as recorder:
        recorder.record(config_map(), "Synced", "synced")
        await clock.run(recorder.flush())
    assert (recorder.stats.written, recorder.stats.dropped) == (1, {})
    assert caplog.text.count("cannot be written, retrying") == 1


@pytest.mark.promise(
    "Watching an operator",
    "Recording does not wait; the line is bounded; what waits is written at the end.",
)
async def test_full_queue_drops_events_and_logs_their_number(caplog: pytest.LogCaptureFixture) -> None:
    clock, way = VirtualClock(), Unreachable(requests=0)
    recorder = EventRecorder(
        Client(transport=way, clock=clock),
        "test-controller",
        limits=Limits(similar=10_000, burst=10_000),
        clock=clock,
    )
    for number in range(1_010):
        recorder.record(config_map(), "Synced", f"message {number}")
    assert "the event queue is full" in caplog.text
    assert (recorder.stats.waiting, recorder.stats.dropped) == (1_000, {"line_full": 10})
    async with recorder:
        await clock.run(recorder.flush(), limit=10**6)
        await clock.settled()
    assert "10 events were dropped" in caplog.text
    assert len(way.bodies) == 1_000


async def test_one_object_cannot_fill_the_queue() -> None:
    clock = VirtualClock()
    recorder = EventRecorder(Client(transport=Unreachable(), clock=clock), "test-controller", clock=clock)
    for number in range(5_000):
        recorder.record(config_map(), f"Reason{number}", "noise")
    assert (recorder.stats.waiting, recorder.stats.dropped) == (25, {"spam": 4_975})


@pytest.mark.promise(
    "Watching an operator",
    "Recording does not wait; the line is bounded; what waits is written at the end.",
)
async def test_recording_creates_no_task_and_sends_nothing() -> None:
    way = Unreachable()
    recorder = EventRecorder(Client(transport=way), "test-controller")
    tasks = len(asyncio.all_tasks())
    recorder.record(config_map(), "Synced", "synced")
    assert (len(asyncio.all_tasks()), way.bodies) == (tasks, [])


def test_rejects_invalid_arguments() -> None:
    recorder = EventRecorder(Client(transport=Unreachable()), "test-controller")
    subject = core.ConfigMap(metadata=meta.ObjectMeta(name="subject"))
    with pytest.raises(ValueError, match='the type of an event must be "Normal" or "Warning", not \'Info\''):
        recorder.record(subject, "Synced", "synced", type="Info")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="an event needs a reason"):
        recorder.record(subject, "", "synced")
    with pytest.raises(ValueError, match="an event needs an action"):
        recorder.record(subject, "Synced", "synced", action="")
    with pytest.raises(ValueError, match="needs the name of its component"):
        EventRecorder(Client(transport=Unreachable()), "")
    with pytest.raises(ValueError, match=r"events have the versions events.k8s.io/v1 and v1, not 'v2'"):
        EventRecorder(Client(transport=Unreachable()), "test-controller", version="v2")  # type: ignore[arg-type]
