"""Disturbing the control plane on request, each on one of its own so that other tests notice nothing."""

from __future__ import annotations

import asyncio
import http.client
import socket
import ssl
from collections.abc import Iterator

import pytest

from kubewright.api import core, meta
from kubewright.client import Client, Expired, RetryPolicy, Unavailable, load_config
from kubewright.testing import ControlPlane, ControlPlaneError, FakeNode, Proxy
from tests.patience import until

pytestmark = pytest.mark.control_plane


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    with ControlPlane() as own:
        yield own


def a_config_map(name: str) -> core.ConfigMap:
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace="default"))


@pytest.mark.promise(
    "The control plane for tests",
    "The server can be restarted, paused and made forgetful, and connections cut.",
)
async def test_objects_survive_a_restart_of_the_apiserver(plane: ControlPlane) -> None:
    url = plane.url
    async with Client.connect(kubeconfig=plane.kubeconfig) as client:
        await client.create(a_config_map("survivor"))
        await asyncio.to_thread(plane.restart_apiserver)
        assert (await client.get(core.ConfigMap, "survivor", "default")).metadata.uid
    assert plane.url == url


async def test_a_killed_apiserver_refuses_connections_until_it_is_started(plane: ControlPlane) -> None:
    plane.kill_apiserver()
    with pytest.raises(ControlPlaneError, match="Connection refused"):
        plane.request("GET", "/readyz")
    await asyncio.to_thread(plane.start_apiserver)
    assert plane.request("GET", "/readyz") == "ok"
    with pytest.raises(ControlPlaneError, match="already running"):
        plane.start_apiserver()


@pytest.mark.promise(
    "The control plane for tests",
    "The server can be restarted, paused and made forgetful, and connections cut.",
)
async def test_a_paused_apiserver_answers_after_it_is_resumed(plane: ControlPlane) -> None:
    with plane.apiserver_paused():
        answer = asyncio.create_task(asyncio.to_thread(plane.request, "GET", "/readyz"))
        # The kernel still accepts the connection; only a stopped server lets the handshake wait.
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(answer), 0.2)  # real: it expires
    assert await answer == "ok"


async def test_an_apiserver_can_be_restarted_while_it_is_paused(plane: ControlPlane) -> None:
    plane.pause_apiserver()
    await asyncio.to_thread(plane.restart_apiserver)
    assert plane.request("GET", "/readyz") == "ok"


async def test_a_fake_node_survives_a_restart_of_the_apiserver(plane: ControlPlane) -> None:
    async with Client.connect(kubeconfig=plane.kubeconfig) as client, FakeNode(client) as node:
        await asyncio.to_thread(plane.restart_apiserver)
        await client.create(
            core.Pod(
                metadata=meta.ObjectMeta(name="late", namespace="default"),
                spec=core.PodSpec(containers=[core.Container(name="main", image="nginx")]),
            )
        )
        async for event in client.watch(core.Pod, "default", fields="metadata.name=late", resource_version="0"):
            if event.object.status.phase == "Running":
                break
    assert event.object.spec.node_name == node.name


async def test_restarts_dead_controllers(plane: ControlPlane) -> None:
    await asyncio.to_thread(plane.ensure_controllers)
    assert plane._supervisor is not None
    plane._supervisor.stop("kube-controller-manager", grace=0)

    await asyncio.to_thread(plane.ensure_controllers)

    assert plane._supervisor.exit_code("kube-controller-manager") is None


async def test_compaction_can_be_repeated(plane: ControlPlane) -> None:
    async with Client.connect(kubeconfig=plane.kubeconfig) as client:
        first = plane.compact()
        await client.create(a_config_map("between-compactions"))
        assert plane.compact() > first
        assert plane.compact() >= first


async def test_compaction_alone_is_hidden_by_the_watch_cache(plane: ControlPlane) -> None:
    """What the documentation says; when this fails, it has to be rewritten."""
    async with Client.connect(kubeconfig=plane.kubeconfig) as client:
        before = (await client.create(a_config_map("cached-one"))).metadata.resource_version
        await client.create(a_config_map("cached-two"))
        plane.compact()
        async for event in client.watch(core.ConfigMap, "default", resource_version=before or ""):
            assert event.object.metadata.name == "cached-two"
            break


@pytest.mark.promise(
    "The control plane for tests",
    "The server can be restarted, paused and made forgetful, and connections cut.",
)
async def test_a_watch_from_expired_history_gets_410(plane: ControlPlane) -> None:
    async with Client.connect(kubeconfig=plane.kubeconfig) as client:
        before = (await client.create(a_config_map("old"))).metadata.resource_version
        await client.create(a_config_map("new"))
        await asyncio.to_thread(plane.expire_history)
        with pytest.raises(Expired):
            async for _ in client.watch(core.ConfigMap, "default", resource_version=before or ""):
                pytest.fail("the server still knows what happened then")


@pytest.mark.promise(
    "The control plane for tests",
    "The server can be restarted, paused and made forgetful, and connections cut.",
)
async def test_cutting_the_proxy_breaks_open_connections_and_lets_new_ones_in(plane: ControlPlane) -> None:
    with plane.proxy() as proxy:
        async with Client.connect(kubeconfig=proxy.kubeconfig) as client:
            stream = await client.open_watch(core.ConfigMap, "default")
            batches = stream.batches()
            await anext(batches)
            assert proxy.connections >= 1

            assert proxy.cut() >= 1
            with pytest.raises(Unavailable):
                async for _ in batches:
                    pass
            assert proxy.connections == 0
            stream.close()
            assert await client.list(core.ConfigMap, "default") is not None
        assert proxy.accepted >= 2


async def test_a_refusing_proxy_resets_new_connections(plane: ControlPlane) -> None:
    with plane.proxy() as proxy:
        config = load_config(kubeconfig=proxy.kubeconfig)
        async with Client(config, retry=RetryPolicy(attempts=1)) as client:
            proxy.refusing = True
            with pytest.raises(Unavailable):
                await client.list(core.ConfigMap, "default")
            proxy.refusing = False
            assert await client.list(core.ConfigMap, "default") is not None


async def test_a_stalled_proxy_lets_bytes_wait(plane: ControlPlane) -> None:
    with plane.proxy() as proxy:
        proxy.stall()
        asking = asyncio.create_task(asyncio.to_thread(get_readyz, proxy))
        await until(lambda: proxy.connections, "its thread to accept the connection")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(asking), 0.2)  # real: it expires
        proxy.resume()
        assert await asking == 200


def test_a_stalled_connection_can_be_cut(plane: ControlPlane) -> None:
    with plane.proxy() as proxy, socket.create_connection(("127.0.0.1", proxy.port)) as connection:
        proxy.stall()
        connection.sendall(b"never arrives")
        while not proxy.cut():
            pass  # the proxy's thread has not accepted the connection yet
        with pytest.raises(ConnectionResetError):
            connection.recv(1)


def get_readyz(proxy: Proxy) -> int:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    connection = http.client.HTTPSConnection("127.0.0.1", proxy.port, context=context)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status
    finally:
        connection.close()


def test_proxies_end_with_their_control_plane(plane: ControlPlane) -> None:
    """The last test of this module: it stops the control plane."""
    proxy = plane.proxy()
    assert get_readyz(proxy) == 200
    plane.stop()
    with pytest.raises(ConnectionRefusedError):
        get_readyz(proxy)
    proxy.close()
