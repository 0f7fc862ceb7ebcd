from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from kubewright.api import core, meta
from kubewright.client import Client, ConnectionLost, Request, Response
from kubewright.clock import VirtualClock
from kubewright.events import EventRecorder
from kubewright.testing import ControlPlane


@pytest.fixture
async def subject(client: Client, namespace: str) -> core.ConfigMap:
    return await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name="subject", namespace=namespace)))


@pytest.fixture
async def recorder(client: Client) -> AsyncIterator[EventRecorder]:
    async with EventRecorder(client, "test-controller", clock=VirtualClock(datetime.now(UTC))) as recorder:
        yield recorder


async def test_an_event_is_shown_by_kubectl_describe(
    control_plane: ControlPlane, recorder: EventRecorder, subject: core.ConfigMap, namespace: str
) -> None:
    recorder.record(subject, "Synced", "Subject synced successfully")
    recorder.record(subject, "ErrResourceExists", 'Resource "web" already exists', type="Warning")
    await recorder.flush()
    process = await asyncio.create_subprocess_exec(
        control_plane.binaries / "kubectl", "--kubeconfig", control_plane.kubeconfig, "-n", namespace,
        "describe", "configmap", "subject", stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    output, _ = await process.communicate()
    lines = [line.split(None, 4) for line in output.decode().splitlines()[-2:]]
    assert sorted((kind, reason, component, text) for kind, reason, _, component, text in lines) == [
        ("Normal", "Synced", "test-controller", "Subject synced successfully"),
        ("Warning", "ErrResourceExists", "test-controller", 'Resource "web" already exists'),
    ]


async def test_the_same_event_again_raises_its_count(
    client: Client, recorder: EventRecorder, subject: core.ConfigMap, namespace: str
) -> None:
    clock = recorder._clock
    assert isinstance(clock, VirtualClock)
    began = clock.now().replace(microsecond=0)
    for _ in range(3):
        recorder.record(subject, "Synced", "Subject synced successfully")
        await clock.advance(60)
    recorder.record(subject, "Synced", "another message")
    await recorder.flush()
    told, other = sorted(await client.list(core.Event, namespace), key=lambda event: -(event.count or 0))
    assert (told.count, other.count) == (3, 1)
    assert told.first_timestamp == began
    assert told.last_timestamp is not None
    assert (told.last_timestamp - began).total_seconds() == 120


async def test_an_event_that_expired_is_made_anew(
    client: Client, recorder: EventRecorder, subject: core.ConfigMap, namespace: str
) -> None:
    recorder.record(subject, "Synced", "synced")
    await recorder.flush()
    [event] = await client.list(core.Event, namespace)
    await client.delete(core.Event, event.metadata.name, namespace)
    recorder.record(subject, "Synced", "synced")
    await recorder.flush()
    [again] = await client.list(core.Event, namespace)
    assert (again.count, again.metadata.name != event.metadata.name) == (1, True)


async def test_events_about_cluster_scoped_objects_are_in_the_namespace_default(
    client: Client, recorder: EventRecorder, namespace: str
) -> None:
    about = await client.get(core.Namespace, namespace)
    recorder.record(about, "Seen", "a namespace of its own")
    await recorder.flush()
    found = [event for event in await client.list(core.Event, "default") if event.involved_object.name == namespace]
    assert [event.involved_object.kind for event in found] == ["Namespace"]


async def test_threads_may_record(
    client: Client, recorder: EventRecorder, subject: core.ConfigMap, namespace: str
) -> None:
    thread = threading.Thread(target=recorder.record, args=(subject, "Threaded", "from a thread"))
    thread.start()
    await asyncio.to_thread(thread.join)
    await recorder.flush()
    assert [event.reason for event in await client.list(core.Event, namespace)] == ["Threaded"]


class Unreachable:
    """A transport to a server that is not there."""

    async def send(self, request: Request) -> Response:
        raise ConnectionLost("nobody answers", sent=False)

    async def close(self) -> None:
        pass


async def test_a_server_that_is_not_there_costs_a_line_in_the_log_and_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = VirtualClock()
    subject = core.ConfigMap(metadata=meta.ObjectMeta(name="subject", namespace="default"))
    async with EventRecorder(Client(transport=Unreachable(), clock=clock), "test-controller", clock=clock) as recorder:
        recorder.record(subject, "Synced", "synced")
        await clock.run(recorder.flush())
    assert "event Synced for ConfigMap subject was not written" in caplog.text


async def test_a_line_that_is_too_long_drops_events_and_says_how_many(caplog: pytest.LogCaptureFixture) -> None:
    clock = VirtualClock()
    recorder = EventRecorder(Client(transport=Unreachable(), clock=clock), "test-controller", clock=clock)
    subject = core.ConfigMap(metadata=meta.ObjectMeta(name="subject", namespace="default"))
    for number in range(1_010):
        recorder.record(subject, "Synced", f"message {number}")
    assert "too many events wait to be written" in caplog.text
    async with recorder:
        await clock.run(recorder.flush())
        await clock.settle()
    assert "10 events were dropped" in caplog.text


def test_what_the_server_would_refuse_is_refused_at_once() -> None:
    recorder = EventRecorder(Client(transport=Unreachable()), "test-controller")
    subject = core.ConfigMap(metadata=meta.ObjectMeta(name="subject"))
    with pytest.raises(ValueError, match='the type of an event is "Normal" or "Warning", not \'Info\''):
        recorder.record(subject, "Synced", "synced", type="Info")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="an event needs a reason"):
        recorder.record(subject, "", "synced")
    with pytest.raises(ValueError, match="needs the name of the component"):
        EventRecorder(Client(transport=Unreachable()), "")
