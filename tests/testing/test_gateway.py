"""The gateway that sees requests and refuses or loses some, and accounts whose tokens are replaced and revoked."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator, Iterator

import pytest

from kubewright.api import core, meta
from kubewright.client import Client, NotFound, RetryPolicy, TooManyRequests, Unauthorized, Unavailable, load_config
from kubewright.testing import ControlPlane, Gateway, Refusal, every

pytestmark = pytest.mark.control_plane


@pytest.fixture
def gateway(control_plane: ControlPlane) -> Iterator[Gateway]:
    with control_plane.gateway() as made:
        yield made


@pytest.fixture
async def through(gateway: Gateway) -> AsyncIterator[Client]:
    """A client that leads through the gateway and sends each request once."""
    config = load_config(kubeconfig=gateway.kubeconfig)
    async with Client(config, retry=RetryPolicy(attempts=1), user_agent="the-test") as client:
        yield client


def a_config_map(name: str, namespace: str) -> core.ConfigMap:
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace=namespace))


@pytest.mark.promise(
    "The control plane for tests",
    "Requests can be noted, refused and lost; tokens replaced and revoked.",
)
async def test_forwards_and_records_requests(gateway: Gateway, through: Client, namespace: str) -> None:
    await through.create(a_config_map("one", namespace))
    assert (await through.get(core.ConfigMap, "one", namespace)).metadata.name == "one"
    with pytest.raises(NotFound):
        await through.get(core.ConfigMap, "two", namespace)
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    assert [(seen.method, seen.path, seen.status) for seen in gateway.exchanges] == [
        ("POST", path, 201),
        ("GET", f"{path}/one", 200),
        ("GET", f"{path}/two", 404),
    ]
    assert [seen.number for seen in gateway.writes] == [0]
    assert {seen.agent for seen in gateway.exchanges} == {"the-test"}


async def test_a_watch_arrives_as_it_happens_and_can_be_cut(
    gateway: Gateway, through: Client, client: Client, namespace: str
) -> None:
    stream = await through.open_watch(core.ConfigMap, namespace)
    batches = stream.batches()
    await anext(batches)  # the bookmark after what was there
    for name in ("one", "two"):
        await client.create(a_config_map(name, namespace))
        batch = b"".join(await anext(batches))
        if batch.count(b"\n") == 1 and b'"BOOKMARK"' in batch:  # the server sends one every minute
            batch = b"".join(await anext(batches))
        assert f'"name":"{name}"'.encode() in batch
    gateway.cut()
    with pytest.raises(Unavailable):
        await anext(batches)
    stream.close()
    await through.get(core.ConfigMap, "one", namespace)
    assert [seen.watches for seen in gateway.exchanges] == [True, False]


@pytest.mark.promise(
    "The control plane for tests",
    "Requests can be noted, refused and lost; tokens replaced and revoked.",
)
async def test_rejects_every_nth_request(gateway: Gateway, through: Client, namespace: str) -> None:
    gateway.fault = every(3, Refusal(429, retry_after=7, message="slow down"))
    for number in range(2):
        await through.create(a_config_map(f"c-{number}", namespace))
    with pytest.raises(TooManyRequests, match="slow down") as caught:
        await through.create(a_config_map("c-2", namespace))
    assert caught.value.retry_after == 7
    for number in range(3, 5):
        await through.create(a_config_map(f"c-{number}", namespace))
    with pytest.raises(TooManyRequests):
        await through.create(a_config_map("c-5", namespace))
    assert [seen.status for seen in gateway.exchanges] == [201, 201, 429, 201, 201, 429]
    gateway.fault = None
    names = [found.metadata.name for found in await through.list(core.ConfigMap, namespace)]
    assert names == ["c-0", "c-1", "c-3", "c-4"]


@pytest.mark.promise(
    "The control plane for tests",
    "Requests can be noted, refused and lost; tokens replaced and revoked.",
)
async def test_drops_response_of_processed_request(
    gateway: Gateway, through: Client, client: Client, namespace: str
) -> None:
    gateway.fault = lambda exchange: "lose" if exchange.writes else None
    with pytest.raises(Unavailable):
        await through.create(a_config_map("made", namespace))
    assert (await client.get(core.ConfigMap, "made", namespace)).metadata.uid

    gateway.fault = lambda exchange: "reset" if exchange.writes else None
    with pytest.raises(Unavailable):
        await through.create(a_config_map("never-made", namespace))
    with pytest.raises(NotFound):
        await client.get(core.ConfigMap, "never-made", namespace)
    assert [seen.status for seen in gateway.exchanges] == [0, 0]


async def test_close_during_requests_leaves_no_connection(control_plane: ControlPlane, namespace: str) -> None:
    for _ in range(5):
        gateway = control_plane.gateway()
        config = load_config(kubeconfig=gateway.kubeconfig)
        async with Client(config, retry=RetryPolicy(attempts=1)) as client:
            stream = await client.open_watch(core.ConfigMap, namespace)
            asking = [asyncio.create_task(client.get(core.Namespace, namespace)) for _ in range(10)]
            await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.to_thread(gateway.close)
            await asyncio.gather(*asking, return_exceptions=True)
            stream.close()
        control_plane._proxies.remove(gateway)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            del gateway
            gc.collect()
        assert [str(warning.message) for warning in caught] == []


async def test_unavailable_server_resets_connection() -> None:
    with ControlPlane() as plane:
        gateway = plane.gateway()
        config = load_config(kubeconfig=gateway.kubeconfig)
        async with Client(config, retry=RetryPolicy(attempts=1)) as client:
            await client.server_version()
            await asyncio.to_thread(plane.kill_apiserver)
            with pytest.raises(Unavailable):
                await client.server_version()


@pytest.mark.promise(
    "The control plane for tests",
    "Requests can be noted, refused and lost; tokens replaced and revoked.",
)
async def test_a_rotated_token_is_used_and_a_revoked_one_refused(
    control_plane: ControlPlane, gateway: Gateway, namespace: str
) -> None:
    account = control_plane.add_service_account("robot", namespace)
    first = account.token
    async with Client.connect(kubeconfig=account.through(gateway)) as robot:
        await whoami(robot)
        assert await asyncio.to_thread(account.rotate) == first
        assert account.token != first
        # A token that was never used: those that were are remembered by the server, for ten seconds.
        unused = await asyncio.to_thread(account.rotate)
        await asyncio.to_thread(account.revoke, unused)
        await whoami(robot)
    account.token_file.write_text(unused)
    async with Client.connect(kubeconfig=account.kubeconfig) as robot:
        with pytest.raises(Unauthorized):
            await whoami(robot)


async def whoami(client: Client) -> None:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await client.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=body)
    assert b":robot" in answer
