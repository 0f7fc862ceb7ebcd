"""Clients made from clients: a twin for another event loop, and a client through a layer."""

from __future__ import annotations

import asyncio
import re
import threading
from typing import Any

import pytest

from kubewright.api import ObjectMeta, core
from kubewright.client import Client, ClientConfig, NotFound, Request, RetryPolicy, load_config
from kubewright.testing import ControlPlane
from tests.transports.disturbed import Disturbed

NODE = (200, b'{"metadata":{"name":"n"}}')
BROKEN = (500, b'{"code":500}')
NEW = core.Node(metadata=ObjectMeta(name="n"))


class Refused(Exception):
    pass


async def test_each_attempt_passes_through_the_layer(scripted: Any) -> None:
    server = scripted(BROKEN, NODE)
    seen: list[str] = []
    client = Client(transport=server, retry=RetryPolicy(first_delay=0))
    layered = client.through(lambda inner: Disturbed(inner, lambda request: seen.append(str(request))))
    await layered.get(core.Node, "n")
    assert seen == ["get nodes n", "get nodes n"]


async def test_a_client_through_a_layer_leaves_the_connections_open(scripted: Any) -> None:
    server = scripted(NODE, NODE)
    async with Client(transport=server) as client:
        await client.through(Disturbed).close()
        assert not server.closed
        await client.get(core.Node, "n")


async def test_a_client_through_a_layer_can_have_another_retry_policy(scripted: Any) -> None:
    server = scripted(BROKEN, NODE)
    client = Client(transport=server).through(lambda inner: inner, retry=RetryPolicy(attempts=1))
    with pytest.raises(Exception, match="HTTP status 500"):
        await client.get(core.Node, "n")
    assert len(server.requests) == 1


async def test_a_twin_works_in_another_thread(control_plane: ControlPlane) -> None:
    hooked: list[Request] = []
    found: list[str] = []
    async with Client(load_config(kubeconfig=control_plane.kubeconfig), hooks=[hooked.append]) as client:
        await client.get(core.Namespace, "default")

        async def there() -> None:
            async with client.twin() as twin:
                found.append((await twin.get(core.Namespace, "default")).metadata.name)

        thread = threading.Thread(target=lambda: asyncio.run(there()))
        thread.start()
        await asyncio.to_thread(thread.join)
        await client.get(core.Namespace, "kube-system")
    assert found == ["default"]
    assert [request.name for request in hooked] == ["default", "kube-system"]


async def test_client_with_its_own_transport_cannot_be_copied(scripted: Any) -> None:
    client = Client(transport=scripted(NODE))
    assert not client.has_twin
    with pytest.raises(
        ValueError, match="was created with a transport, which cannot be copied: create a second client"
    ):
        client.twin()


async def test_client_with_a_layer_cannot_be_copied() -> None:
    client = Client(ClientConfig(server="http://127.0.0.1:1"))
    assert client.has_twin
    with pytest.raises(ValueError, match="cannot be copied"):
        client.through(Disturbed).twin()
    await client.close()


@pytest.mark.promise("Injected time, randomness and transport", "A fault strikes at an exact call.")
@pytest.mark.parametrize("method", ["create", "delete", "bodyless", "large"])
async def test_request_rejected_before_the_first_byte_sends_nothing(method: str) -> None:
    arrived = asyncio.Queue[bytes]()
    connected = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set()
        arrived.put_nowait(await reader.read())
        writer.close()

    def refuse(request: Request) -> None:
        def before_send() -> None:
            assert connected.is_set()  # the connection is there: this really is the last moment
            raise Refused(str(request))

        request.before_send = before_send

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with Client(ClientConfig(server=address)) as client:
        refusing = client.through(lambda inner: Disturbed(inner, refuse))
        with pytest.raises(Refused):
            if method == "create":
                await refusing.create(NEW)
            elif method == "delete":
                await refusing.delete(core.Node, "n")
            elif method == "bodyless":
                await refusing.request("POST", "/api/v1/nodes")
            else:
                await refusing.request("POST", "/api/v1/nodes", body=bytes(3 * 2**20))
    server.close()
    await server.wait_closed()
    assert await arrived.get() == b""


async def test_request_accepted_before_the_first_byte_is_sent_whole(client: Client, namespace: str) -> None:
    asked: list[str] = []

    def ask(request: Request) -> None:
        request.before_send = lambda: asked.append(request.verb)

    asking = client.through(lambda inner: Disturbed(inner, ask))
    large = "x" * 700_000
    for name, data in (("small", "y"), ("large", large)):
        made = core.ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace), data={"text": data})
        await asking.create(made)
        assert (await asking.get(core.ConfigMap, name, namespace)).data == {"text": data}
    await asking.delete(core.ConfigMap, "small", namespace)
    with pytest.raises(NotFound):
        await asking.get(core.ConfigMap, "small", namespace)
    assert asked.count("create") == 2
    assert asked.count("delete") == 1


async def test_writing_under_another_name_shares_the_connections(scripted: Any) -> None:
    server = scripted(NODE, NODE)
    client = Client(transport=server, field_manager="first")
    other = client.writing_as("second")
    await client.create(NEW)
    await other.create(NEW)
    await other.close()
    assert not server.closed
    assert [dict(request.query)["fieldManager"] for request in server.requests] == ["first", "second"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "field_manager must be printable characters, such as site-operator, not ''"),
        ("a\n", "field_manager must be printable characters, such as site-operator, not 'a\\n'"),
        ("ü" * 65, f"field_manager must be at most 128 bytes, and '{'ü' * 40}...' has 130: use a shorter name"),
    ],
)
async def test_rejects_field_manager_that_the_server_rejects(scripted: Any, name: str, message: str) -> None:
    server = scripted()
    client = Client(transport=server)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Client(transport=server, field_manager=name)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        client.writing_as(name)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        await client.apply(NEW, field_manager=name)


async def test_accepts_field_manager_of_128_bytes(scripted: Any) -> None:
    server = scripted(NODE)
    await Client(transport=server).apply(NEW, field_manager="ü" * 64)
    assert ("fieldManager", "ü" * 64) in server.requests[0].query
