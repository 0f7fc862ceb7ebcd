"""Watches, on both clusters and on scripted ones."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from kubewright.api import DecodeError, ObjectMeta, core
from kubewright.client import (
    ApiError,
    Client,
    ConnectionLost,
    Expired,
    MergePatch,
    NotKubernetes,
    TooManyRequests,
    Unavailable,
)
from kubewright.clock import VirtualClock
from kubewright.testing import ControlPlane

pytestmark = pytest.mark.clusters


def line(type_: str, name: str = "n", revision: int = 1, **extra: Any) -> bytes:
    obj = {"metadata": {"name": name, "resourceVersion": str(revision)}, **extra}
    return json.dumps({"type": type_, "object": obj}).encode() + b"\n"


def error_line(code: int, reason: str, message: str = "etcdserver: leader changed") -> bytes:
    status = {"kind": "Status", "code": code, "reason": reason, "message": message}
    return json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"


async def test_watch_sends_existing_objects_and_then_changes(client: Client, namespace: str) -> None:
    await client.create(core.ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace)))
    seen = []
    async for event in client.watch(core.ConfigMap, namespace):
        seen.append((event.type, event.object.metadata.name))
        match len(seen):
            case 1:
                await client.create(core.ConfigMap(metadata=ObjectMeta(name="b", namespace=namespace)))
            case 2:
                await client.patch(core.ConfigMap, "b", MergePatch({"data": {"x": "y"}}), namespace)
            case 3:
                await client.delete(core.ConfigMap, "b", namespace)
            case 4:
                assert event.object.data == {"x": "y"}
                break
    assert seen == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "b")]


@pytest.mark.promise("Reading with the client", "A watch goes on after a cut, and says when its place was forgotten.")
async def test_watch_resumes_after_a_broken_connection(control_plane: ControlPlane, namespace: str) -> None:
    with control_plane.proxy() as proxy:
        async with Client.connect(kubeconfig=proxy.kubeconfig) as client:
            names = []
            async for event in client.watch(core.ConfigMap, namespace, resource_version=await now(client, namespace)):
                names.append(event.object.metadata.name)
                if len(names) == 3:
                    break
                proxy.cut()
                await make(client, namespace, f"c{len(names)}")
                if len(names) == 1:
                    await make(client, namespace, "d")
    assert names[0] == "c0"
    assert len(set(names)) == 3


async def now(client: Client, namespace: str) -> str:
    revision = (await client.list(core.ConfigMap, namespace)).resource_version
    await make(client, namespace, "c0")
    return revision


async def make(client: Client, namespace: str, name: str) -> None:
    await client.apply(core.ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace)))


async def test_watch_with_a_timeout_ends(client: Client, namespace: str) -> None:
    assert [event async for event in client.watch(core.ConfigMap, namespace, timeout_seconds=1)] == []


async def test_selectors_narrow_a_watch(client: Client, namespace: str) -> None:
    for name in "ab":
        await make(client, namespace, name)
    watch = client.watch(core.ConfigMap, namespace, fields={"metadata.name": "b"})
    async for event in watch:
        assert event.object.metadata.name == "b"
        break
    assert int(watch.resource_version) > 0


@pytest.mark.promise("Reading with the client", "A watch goes on after a cut, and says when its place was forgotten.")
async def test_a_forgotten_revision_is_expired(control_plane: ControlPlane, client: Client, namespace: str) -> None:
    old = (await client.list(core.ConfigMap, namespace)).resource_version
    await make(client, namespace, "a")
    await asyncio.to_thread(control_plane.expire_history)
    with pytest.raises(Expired, match="too old resource version"):
        async for _ in client.watch(core.ConfigMap, namespace, resource_version=old):
            pass


async def test_it_resumes_from_the_last_event_or_bookmark(scripted: Any) -> None:
    server = scripted(
        (200, [line("ADDED", "a", 5), line("BOOKMARK", "", 8)]),
        (200, [line("MODIFIED", "a", 9), ConnectionLost("cut", sent=True)]),
        (200, [line("DELETED", "a", 12)]),
    )
    clock = VirtualClock()
    watch = Client(transport=server, clock=clock).watch(core.Node, resource_version="1").__aiter__()
    types = [(await clock.run(anext(watch))).type for _ in range(3)]
    assert types == ["ADDED", "MODIFIED", "DELETED"]
    assert [dict(request.query)["resourceVersion"] for request in server.requests] == ["1", "8", "9"]


async def test_a_watch_waits_for_a_server_that_is_away_for_an_hour(scripted: Any) -> None:
    away = [ConnectionLost("no server", sent=False)] * 800
    server = scripted((200, [line("ADDED", "a", 5)]), *away, (503, b""), (200, [line("DELETED", "a", 12)]))
    clock = VirtualClock()
    watch = Client(transport=server, clock=clock).watch(core.Node, resource_version="1").__aiter__()
    types = [(await clock.run(anext(watch))).type for _ in range(2)]
    assert types == ["ADDED", "DELETED"]
    assert clock.monotonic() > 3600
    assert dict(server.requests[-1].query)["resourceVersion"] == "5"
    assert server.requests[-1].timeout == 300, "a silent server must not block indefinitely"


async def test_watch_that_cannot_start_raises(scripted: Any) -> None:
    clock = VirtualClock()
    client = Client(transport=scripted(*[ConnectionLost("no server", sent=False)] * 8), clock=clock)
    with pytest.raises(Unavailable, match="no server"):
        await clock.run(anext(aiter(client.watch(core.Node))))


async def test_watches_that_end_immediately_do_not_cause_a_busy_loop(scripted: Any) -> None:
    server = scripted((200, b""), (200, b""), (200, [line("ADDED")]))
    clock = VirtualClock()
    watch = Client(transport=server, clock=clock).watch(core.Node).__aiter__()
    await clock.run(anext(watch))
    assert clock.monotonic() == 2


async def test_lines_arrive_in_any_pieces(scripted: Any) -> None:
    whole = line("ADDED", "a") + line("ADDED", "b") + line("ADDED", "c")
    server = scripted((200, [whole[:7], b"", whole[7:100], whole[100:101], whole[101:], whole[:9]]))
    stream = await Client(transport=server).open_watch(core.Node)
    lines = [each async for batch in stream.batches() for each in batch]
    assert lines == whole.splitlines(keepends=True), "and half a line is none"


async def test_empty_line_is_not_an_event(scripted: Any) -> None:
    server = scripted((200, [b"\n" + line("ADDED", "a") + b"\n"]))
    watch = Client(transport=server).watch(core.Node, timeout_seconds=1)
    assert [event.object.metadata.name async for event in watch] == ["a"]


async def test_an_error_event_is_raised(scripted: Any) -> None:
    server = scripted((200, [error_line(410, "Expired", "too old")]))
    with pytest.raises(Expired, match=r"^watch nodes: too old$"):
        async for _ in Client(transport=server).watch(core.Node):
            pass


NOT_WELL = {500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout", 429: "TooManyRequests"}


@pytest.mark.parametrize("code", NOT_WELL)
async def test_server_errors_in_a_watch_back_off(scripted: Any, code: int) -> None:
    error = error_line(code, NOT_WELL[code])
    server = scripted(
        *[(200, [error])] * 4,
        (200, [line("ADDED", "a", 5)]),
        (200, [line("MODIFIED", "a", 6), error]),
        (200, [error]),
        (200, [line("DELETED", "a", 7)]),
    )
    clock = VirtualClock()
    watch = Client(transport=server, clock=clock).watch(core.Node, resource_version="1").__aiter__()
    assert (await clock.run(anext(watch))).type == "ADDED"
    assert clock.monotonic() == 1 + 2 + 4 + 8
    assert (await clock.run(anext(watch))).type == "MODIFIED"
    assert clock.monotonic() == 15, "no delay after an event"
    assert (await clock.run(anext(watch))).type == "DELETED"
    assert clock.monotonic() == 15 + 1 + 2, "an event before an error does not skip the delay"
    assert [dict(request.query)["resourceVersion"] for request in server.requests[-2:]] == ["6", "6"]


async def test_wait_for_backs_off_after_server_errors(scripted: Any) -> None:
    error, clock = error_line(503, "ServiceUnavailable"), VirtualClock()
    server = scripted(*[(200, [error])] * 100, (200, [line("ADDED")]))
    await clock.run(Client(transport=server, clock=clock).wait_for(core.Node, "n", lambda _: True))
    assert clock.monotonic() == 1 + 2 + 4 + 8 + 16 + 95 * 30


async def test_watch_with_a_timeout_raises_the_servers_error(scripted: Any) -> None:
    for code, kind in ((500, ApiError), (503, Unavailable), (429, TooManyRequests)):
        client = Client(transport=scripted((200, [error_line(code, NOT_WELL[code])])))
        with pytest.raises(kind, match="etcdserver: leader changed"):
            await anext(aiter(client.watch(core.Node, timeout_seconds=1)))


NOT_KUBERNETES = {
    "a page": b"<html>",
    "no type": b'{"type":3}',
    "a list": b"[]",
    "a type that is not a string": b'{"type":"\xff","object":{}}',
    "a revision that is not a string": b'{"type":"ADDED","object":{"metadata":{"resourceVersion":"\xff"}}}',
    "an error without text": b'{"type":"ERROR","object":{"message":"\xff"}}',
    "an error that is not a status": b'{"type":"ERROR","object":{"code":"x"}}',
    "nested too deeply": b'{"type":"ADDED","object":{"spec":%b%b}}' % (b"[" * 100_000, b"]" * 100_000),
}


@pytest.mark.parametrize("body", NOT_KUBERNETES.values(), ids=NOT_KUBERNETES)
async def test_response_that_is_not_a_watch_raises_not_kubernetes(scripted: Any, body: bytes) -> None:
    with pytest.raises(NotKubernetes, match="not a watch of Kubernetes objects"):
        async for _ in Client(transport=scripted((200, body + b"\n"))).watch(core.Node):
            pass


async def test_wait_for_retries_expired_watches_once_a_second(scripted: Any) -> None:
    forgotten = json.dumps({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}).encode()
    there = json.dumps({"metadata": {"name": "n", "uid": "u", "resourceVersion": "1"}}).encode()
    server, clock = scripted(*[(410, forgotten)] * 60, (200, [line("ADDED")])), VirtualClock()
    await clock.run(Client(transport=server, clock=clock).wait_for(core.Node, "n", lambda _: True))
    assert clock.monotonic() == 60
    server, clock = scripted(*[(200, there), (410, forgotten)] * 60, (404, b"")), VirtualClock()
    await clock.run(Client(transport=server, clock=clock).wait_until_gone(core.Node, "n"))
    assert clock.monotonic() == 60


async def test_an_object_that_does_not_fit_names_itself(scripted: Any) -> None:
    with pytest.raises(DecodeError, match=r"Node n: spec.podCIDR: expected"):
        async for _ in Client(transport=scripted((200, line("ADDED", spec={"podCIDR": 3})))).watch(core.Node):
            pass
