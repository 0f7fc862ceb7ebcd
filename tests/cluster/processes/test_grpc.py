"""gRPC probes ask the health service of a program."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubewright.api import core
from kubewright.client import Client
from kubewright.cluster.processes import Image, Images, grpc_health, read_grpc_message
from kubewright.testing import setup_binaries
from tests.cluster.processes.conftest import StartNode, is_ready, pod, wait
from tests.patience import until

DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
END = 1


def frame(kind: int, payload: bytes = b"", *, flags: int = 0, stream: int = 1) -> bytes:
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def answer(state: int) -> bytes:
    """Returns what a server sends: settings, a ping, headers, the message and trailers."""
    message = bytes([0x08, state]) if state else b""
    data = b"\0" + len(message).to_bytes(4, "big") + message
    begin = frame(SETTINGS, stream=0) + frame(PING, b"12345678", stream=0) + frame(HEADERS, b"\x88", flags=4)
    return begin + frame(DATA, data) + frame(HEADERS, b"\x88", flags=4 | END)


@asynccontextmanager
async def server(sent: bytes) -> AsyncIterator[tuple[int, asyncio.Future[bytes]]]:
    """Yields the port of a server that answers with these bytes, and what it receives until the end."""
    received: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        writer.write_eof()
        with suppress(ConnectionError):  # the client leaves without reading everything
            received.set_result(await reader.read())
        writer.close()
        ended.set()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        try:
            yield listening.sockets[0].getsockname()[1], received
        finally:
            await ended.wait()


async def health(sent: bytes, service: str = "") -> tuple[bool, str]:
    async with server(sent) as (port, _):
        return await grpc_health("127.0.0.1", port, service)


class TestAnswers:
    async def test_serving_is_healthy(self) -> None:
        assert (await health(answer(1)))[0]

    @pytest.mark.parametrize(("state", "name"), [(0, "UNKNOWN"), (2, "NOT_SERVING"), (3, "SERVICE_UNKNOWN"), (9, "9")])
    async def test_other_states_are_unhealthy(self, state: int, name: str) -> None:
        assert await health(answer(state)) == (False, f'service unhealthy (responded with "{name}")')

    async def test_answer_without_a_message_is_unhealthy(self) -> None:
        trailers_only = frame(SETTINGS, stream=0) + frame(HEADERS, b"\x88", flags=4 | END)
        expected = "the server does not implement the gRPC health protocol for service 'web'"
        assert await health(trailers_only, "web") == (False, expected)

    @pytest.mark.parametrize(
        ("sent", "message"),
        [
            (b"HTTP/1.1 400 Bad Request\r\n\r\n", "is not HTTP/2"),
            (b"", "closed the connection before it answered"),
            (frame(SETTINGS, stream=0), "closed the connection before it answered"),
            (frame(GOAWAY, stream=0), "refused the gRPC call"),
            (frame(RESET), "refused the gRPC call"),
            (frame(DATA, bytes(5000)), "too large"),
            (frame(SETTINGS, stream=0) * 200, "too many frames"),
            (frame(DATA, b"\1\0\0\0\0", flags=END), "invalid gRPC message"),
            (frame(DATA, b"\0\0\0\0\2\x10\1", flags=END), "invalid HealthCheckResponse"),
        ],
    )
    async def test_rejects_other_answers(self, sent: bytes, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            await health(sent)

    async def test_padded_message_is_read(self) -> None:
        padded = b"\x03" + b"\0\0\0\0\2\x08\1" + bytes(3)
        assert (await health(frame(DATA, padded, flags=8 | END)))[0]

    async def test_acknowledges_settings_and_pings(self) -> None:
        async with server(answer(1)) as (port, received):
            await grpc_health("127.0.0.1", port, "web" * 100)
            asked = await received
        assert frame(SETTINGS, flags=1, stream=0) in asked
        assert frame(PING, b"12345678", flags=1, stream=0) in asked
        assert b"\x0a\xac\x02" + b"web" * 100 in asked


@given(sent=st.binary(max_size=200))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_answer_is_a_result_or_a_value_error(sent: bytes) -> None:
    async def ask() -> None:
        reader = asyncio.StreamReader()
        reader.feed_data(sent)
        reader.feed_eof()
        with suppress(ValueError, asyncio.IncompleteReadError):
            await read_grpc_message(reader, lambda _: None)

    asyncio.run(ask())


@pytest.mark.control_plane
@pytest.mark.clusters("embedded")
@pytest.mark.promise("Pods as processes", "A gRPC probe asks the health service of the program.")
async def test_probe_asks_the_health_service_of_a_real_server(
    client: Client, start_node: StartNode, tmp_path: Path
) -> None:
    # etcd has grpc-go's server.
    urls = ["--listen-client-urls=http://$(POD_IP):2379", "--advertise-client-urls=http://$(POD_IP):2379"]
    peers = ["--listen-peer-urls=http://$(POD_IP):2380", "--initial-advertise-peer-urls=http://$(POD_IP):2380"]
    etcd = Image(command=[str(setup_binaries() / "etcd")], allow_args=True, directory=str(tmp_path))
    await start_node(Images({"etcd": etcd}))
    probe = {"periodSeconds": 1, "timeoutSeconds": 60}
    for name, service in (("healthy", {}), ("unhealthy", {"service": "unknown"})):
        arguments = [f"--data-dir={tmp_path}/{name}", "--initial-cluster=default=http://$(POD_IP):2380", *urls, *peers]
        container = {"image": "etcd", "args": arguments, "readinessProbe": {**probe, "grpc": {"port": 2379, **service}}}
        await client.create(pod(name, container))
    await wait(client, "healthy", is_ready)

    async def refused() -> bool:
        found = [str(each.message) for each in await client.list(core.Event) if each.reason == "Unhealthy"]
        return any("does not implement the gRPC health protocol for service 'unknown'" in each for each in found)

    await until(refused, "the refusal of the unknown service")
