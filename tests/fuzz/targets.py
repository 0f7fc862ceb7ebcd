"""Fuzz targets: each takes bytes from an attacker, and returns whatever they are. An exception is a finding.

A target raises for an internal error (a 500, an exception that is not documented), for a result that is wrong on its
face, and for a crash or a hang of the process. `run.py` drives a target with Atheris; `test_corpus.py` replays the
files in `corpus/<target>` without it.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

__all__ = ["TARGETS", "Target", "opened"]

Target: TypeAlias = Callable[[bytes], None]

_MAPS: Final = "/api/v1/namespaces/default/configmaps"
_PODS: Final = "/api/v1/namespaces/default/pods"
_POD: Final = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "labels": {"app": "x"}},
    "spec": {"containers": [{"name": "c", "image": "i", "env": [{"name": "A", "value": "b"}]}]},
}
_PATIENCE: Final = 60.0


class Loop:
    """The event loop of a target, and what it has open until the process ends."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self.stack = AsyncExitStack()

    def run(self, work: Awaitable[Any]) -> Any:
        """Runs until the work is done."""

        async def bounded() -> Any:
            async with asyncio.timeout(_PATIENCE):
                return await work

        return self._loop.run_until_complete(bounded())

    def close(self) -> None:
        """Ends everything that is open."""
        self.run(self.stack.aclose())
        self._loop.close()


# The embedded cluster


def _cluster(loop: Loop) -> Callable[..., int]:
    from kubewright.client import Request
    from kubewright.cluster import Cluster

    cluster = loop.run(loop.stack.enter_async_context(Cluster(controllers=False, seed=1, history=10)))
    transport = cluster.transport()

    async def send(method: str, path: str, body: bytes | None, kind: str, query: list[tuple[str, str]]) -> int:
        headers = {"Content-Type": kind, "Accept": "application/json"}
        response = await transport.send(Request(method=method, path=path, query=query, headers=headers, body=body))
        text = await response.read()
        # The real server answers some bad patches with 500, too, but without this reason.
        assert b'"reason":"InternalError"' not in text, text.decode(errors="replace")
        return int(response.status)

    def ask(method: str, path: str, body: bytes | None, kind: str, query: Any = ()) -> int:
        status: int = loop.run(send(method, path, body, kind, [*query]))
        return status

    return ask


def yaml_bodies(loop: Loop) -> Target:
    """Objects as YAML: created, and applied."""
    ask = _cluster(loop)

    def target(data: bytes) -> None:
        ask("POST", _MAPS, data, "application/yaml")
        ask("PATCH", f"{_MAPS}/a", data, "application/apply-patch+yaml", [("fieldManager", "fuzz"), ("force", "true")])
        ask("DELETE", _MAPS, None, "application/json")

    return target


def json_bodies(loop: Loop) -> Target:
    """Objects as JSON: created in the embedded cluster, and decoded into types."""
    from kubewright.api import DecodeError, apps, core, decode

    ask = _cluster(loop)

    def target(data: bytes) -> None:
        ask("POST", _PODS, data, "application/json")
        ask("DELETE", _PODS, None, "application/json", [("gracePeriodSeconds", "0")])
        for kind in (core.Pod, apps.Deployment):
            with suppress(DecodeError):
                decode(kind, data)

    return target


def patches(loop: Loop) -> Target:
    """JSON Patches, merge patches and strategic merge patches; the first byte says which."""
    ask = _cluster(loop)
    kinds = ("json-patch+json", "merge-patch+json", "strategic-merge-patch+json")

    def target(data: bytes) -> None:
        ask("POST", _PODS, msgspec.json.encode(_POD), "application/json")
        ask("PATCH", f"{_PODS}/a", data[1:], f"application/{kinds[(data[:1] or b'0')[0] % 3]}")
        ask("DELETE", f"{_PODS}/a", None, "application/json", [("gracePeriodSeconds", "0")])

    return target


def selectors(loop: Loop) -> Target:
    """Label selectors: what was parsed, written and parsed again is the same. Field selectors: no internal error."""
    from kubewright.api import Selector, SelectorError

    ask = _cluster(loop)

    def target(data: bytes) -> None:
        text = data.decode(errors="replace")
        with suppress(SelectorError):
            parsed = Selector.parse(text)
            assert Selector.parse(str(parsed)) == parsed
        for name in ("labelSelector", "fieldSelector"):
            ask("GET", _MAPS, None, "application/json", [(name, text)])

    return target


# HTTP


def http_client(loop: Loop) -> Target:
    """Answers of a server, as our client reads them."""
    from kubewright.api import DecodeError, core
    from kubewright.client import ApiError, Client, ClientConfig, RetryPolicy

    answer = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(bytes(answer))
            await writer.drain()
            writer.close()
            await writer.wait_closed()

    server = loop.run(asyncio.start_server(serve, "127.0.0.1", 0))
    config = ClientConfig(server=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")

    async def ask() -> None:
        async with Client(config, retry=RetryPolicy(attempts=1), timeout=30.0) as client:
            with suppress(ApiError, DecodeError):
                await client.get(core.ConfigMap, "a", "default")
            with suppress(ApiError, DecodeError):
                async for _ in client.watch(core.ConfigMap, "default", resource_version="1", timeout_seconds=1):
                    pass

    def target(data: bytes) -> None:
        answer[:] = data
        loop.run(ask())

    return target


def http_server(loop: Loop) -> Target:
    """Requests of a client, as our server reads them: each is answered, or its connection closed."""
    from kubewright.http import Server, ServerRequest, ServerResponse

    async def handler(request: ServerRequest) -> ServerResponse:
        return ServerResponse(200, await request.body(largest=2**16), [("Content-Type", "text/plain")])

    server = loop.run(loop.stack.enter_async_context(Server(handler, host="127.0.0.1", port=0)))

    async def ask(data: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        try:
            writer.write(data)
            writer.write_eof()
            return await reader.read()
        except OSError:
            return b""
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def target(data: bytes) -> None:
        answer = loop.run(ask(data))
        assert not answer or answer.startswith(b"HTTP/1.1 "), answer[:200]
        assert not answer.startswith(b"HTTP/1.1 500"), data

    return target


def streams(loop: Loop) -> Target:
    """A WebSocket with SPDY inside, as port-forward has it: any bytes end the session or change nothing."""
    from kubewright.http import memory_streams
    from kubewright.streaming import SpdySession, WebSocket, WebSocketBytes

    async def received(data: bytes) -> None:
        for inside in (False, True):  # bytes of a WebSocket, and bytes inside one
            near, far = memory_streams()
            socket = WebSocket(far, is_client=inside, max_message_bytes=2**16)
            session = SpdySession(WebSocketBytes(socket), is_client=False, accept=lambda stream: True)
            frame = b"\x82\x7f" + len(data).to_bytes(8, "big") + data if inside else data
            await near.write(frame)
            near.close()
            with suppress(ConnectionError):
                await session.run()

    return lambda data: loop.run(received(data))


def reviews(loop: Loop) -> Target:
    """Admission and conversion reviews: the answer is always a review."""
    import kubewright as kw
    from tests.webhook.conftest import Asker, asking
    from tests.webhook.kinds import OldToy, OldToySpec, Toy, ToySpec

    made = kw.Operator("fuzz")

    @made.defaults(Toy)
    async def fill_in(toy: Toy) -> None:
        toy.spec.size = toy.spec.size or 1

    @made.converts(OldToy, Toy)
    async def up(old: OldToy) -> Toy:
        return Toy(spec=ToySpec(size=old.spec.extent))

    @made.converts(Toy, OldToy)
    async def down(new: Toy) -> OldToy:
        return OldToy(spec=OldToySpec(extent=new.spec.size))

    asker: Asker = loop.run(loop.stack.enter_async_context(asking(made)))

    def target(data: bytes) -> None:
        for path in asker.server.paths:
            answer = loop.run(asker.post(path, data))
            assert answer["kind"] in ("AdmissionReview", "ConversionReview")

    return target


# What commands and libraries read


def cel(loop: Loop) -> Target:
    """CEL expressions: compiled and evaluated within their price, or refused."""
    from kubewright.api import cel as language

    environment = language.Environment(
        {"text": language.types.STRING, "number": language.types.INT, "any": language.types.DYN}
    )
    values: Mapping[str, Any] = {"text": "a\0b", "number": 7, "any": {"a": [1, 2.5, "x", None]}}

    def target(data: bytes) -> None:
        with suppress(language.CompileError, language.EvaluationError, language.CostExceeded):
            language.compile_expression(data.decode(errors="replace"), environment).run(values)

    return target


def kubeconfig(loop: Loop) -> Target:
    """Kubeconfig files: a configuration, or an error that names the file."""
    from kubewright.client import ConfigError, load_config

    file = Path(loop.stack.enter_context(tempfile.TemporaryDirectory())) / "config"

    def target(data: bytes) -> None:
        file.write_bytes(data)
        with suppress(ConfigError):
            load_config(kubeconfig=file)

    return target


def codegen(loop: Loop) -> Target:
    """Definitions: modules that can be imported, or an error."""
    from kubewright.codegen import CodegenError, generate, read_sources

    folder = loop.stack.enter_context(tempfile.TemporaryDirectory())
    file = Path(folder) / "definition.yaml"

    def target(data: bytes) -> None:
        file.write_bytes(data)
        with suppress(CodegenError):
            made: Any = generate(read_sources([str(file)]))
            for path, text in dict(made).items():
                exec(compile(text, str(path), "exec"), {"__name__": "made"})

    return target


TARGETS: Mapping[str, Callable[[Loop], Target]] = {
    "yaml": yaml_bodies,
    "json": json_bodies,
    "patches": patches,
    "selectors": selectors,
    "http_client": http_client,
    "http_server": http_server,
    "streams": streams,
    "reviews": reviews,
    "cel": cel,
    "kubeconfig": kubeconfig,
    "codegen": codegen,
}
"""By name, which is also the name of the folder of its corpus."""


def opened(name: str) -> tuple[Target, Loop]:
    """A target that is ready, and what to close at the end."""
    loop = Loop()
    return TARGETS[name](loop), loop
