"""The child processes of the attack suite, which `tests/attacks/nursery.py` forks.

A child limits itself, starts one of our servers, writes a line of JSON about it, and answers lines of JSON from
standard input until that ends. A thread reads them, so that a blocked event loop is still reported.
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import uvloop

from tests.attacks import prober

if TYPE_CHECKING:
    from kubewright.client import Client


class Heartbeat:
    """A timer of the event loop. Measures the CPU time of the loop's thread between two ticks."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = time.pthread_getcpuclockid(threading.get_ident())
        self._last = time.clock_gettime(self._thread)
        self._longest = 0.0
        self._tick()

    def _tick(self) -> None:
        now = time.clock_gettime(self._thread)
        self._longest = max(self._longest, now - self._last)
        self._last = now
        self._loop.call_later(0.02, self._tick)

    def longest(self) -> float:
        """The longest block so far, also one that has not ended. From any thread."""
        return max(self._longest, time.clock_gettime(self._thread) - self._last)


def limit(address_space: int, cpu_seconds: int) -> None:
    """Let the kernel end this process before it harms the machine."""
    resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, resource.RLIM_INFINITY))  # further attacks get more
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))


@asynccontextmanager
async def cluster() -> AsyncIterator[dict[str, Any]]:
    """The embedded cluster over TLS, with RBAC."""
    from kubewright.cluster import Cluster

    async with Cluster(rbac=True, history=20) as made:  # so that history is small beside what an attack may leave
        url = await made.serve()
        yield {"url": url, "token": made.token, "kubeconfig": str(made.kubeconfig())}


@asynccontextmanager
async def operator(kubeconfig: str, console: str = "") -> AsyncIterator[dict[str, Any]]:
    """An operator that leads, with webhooks, health pages, metrics and, on request, a console."""
    import kubewright as kw
    from kubewright.api import core
    from kubewright.client import Client, load_config
    from tests.attacks.kinds import Slow
    from tests.webhook.kinds import OldToy, OldToySpec, Toy, ToySpec

    made = kw.Operator(
        "attacked",
        leader_elect=True,
        lease_namespace="default",
        lease_duration="45s",  # none expires because the machine is busy
        renew_deadline="30s",
        retry_period="50ms",  # each probe waits for a renewal
    )

    @made.reconciles(core.ConfigMap)
    async def look(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None: ...

    @made.reconciles(Slow)
    async def look_closer(obj: Slow, ctx: kw.Context[Slow]) -> None: ...

    @made.validates(Toy)
    async def check(toy: Toy) -> None: ...

    @made.converts(OldToy, Toy)
    def up(old: OldToy) -> Toy:
        return Toy(spec=ToySpec(size=old.spec.extent))

    @made.converts(Toy, OldToy)
    def down(new: Toy) -> OldToy:
        return OldToy(spec=OldToySpec(extent=new.spec.size))

    pages: list[str] = []
    if console:
        from kubewright.console import attach_console

        attach_console(made, announce=pages.append)
    async with Client(load_config(kubeconfig=kubeconfig)) as client:
        binds = {"health_bind": "127.0.0.1:0", "metrics_bind": "localhost:0"}
        async with made.running(client, install_crds=True, **binds) as running:  # type: ignore[arg-type]
            assert running.elector is not None
            await running.elector.wait_for_leadership()
            assert running.webhooks.server is not None
            health, metrics = (server.port for server in running.servers)
            ports = {"health": health, "metrics": metrics, "webhook": running.webhooks.server.port}
            yield {**ports, "console": pages[0] if pages else ""}


@asynccontextmanager
async def caller() -> AsyncIterator[dict[str, Any]]:
    """A page that shows whether the event loop responds: `call` questions are answered in every child."""
    import kubewright.client  # noqa: F401  # its memory is not part of the attack's
    from kubewright.http import Server, ServerRequest, ServerResponse

    async def answer(request: ServerRequest) -> ServerResponse:
        return ServerResponse(200, b"ok")

    async with Server(answer) as server:
        yield {"page": f"http://127.0.0.1:{server.port}/"}


@cache
def client_of(url: str) -> Client:
    """The one client of this process for a server, as an operator has it."""
    from kubewright.client import Client, ClientConfig, RetryPolicy

    return Client(ClientConfig(server=url), retry=RetryPolicy(attempts=1), timeout=60.0)


async def call(url: str, verb: str) -> dict[str, Any]:
    """Asks a server with our client, and answers with the error."""
    from kubewright.api import core
    from kubewright.client import ApiError

    client = client_of(url)
    try:
        if verb == "watch":
            async for _ in client.watch(core.ConfigMap, "default", resource_version="1", timeout_seconds=60):
                pass
        else:
            async for _ in client.list(core.ConfigMap, "default"):
                pass
    except ApiError as error:
        return {"error": str(error)}
    return {"error": ""}


def closed_for_room() -> int:
    """How many connections the servers of this process have closed because there were too many."""
    from kubewright.http import Server

    return sum(found.closed_for_room for found in gc.get_objects() if isinstance(found, Server))


async def serve(kind: str, arguments: list[str]) -> None:
    """Run one of the servers above until standard input ends."""
    kinds: dict[str, Callable[..., Any]] = {"cluster": cluster, "operator": operator, "caller": caller}
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    async with kinds[kind](*arguments) as facts:
        heartbeat = Heartbeat()
        print(json.dumps(facts), flush=True)

        def say(number: int, found: dict[str, Any]) -> None:
            print(json.dumps({**found, "number": number}), flush=True)

        async def answer(question: dict[str, Any]) -> None:
            try:
                found = await call(question["url"], question["verb"])
            except BaseException as error:  # the test fails with it instead of waiting for an answer
                found = {"error": "", "raised": "".join(traceback.format_exception(error))[-4000:]}
            say(question["number"], found)

        def read() -> None:
            for line in sys.stdin:
                question = json.loads(line)
                if question["ask"] == "heartbeat":
                    say(question["number"], {"longest": heartbeat.longest()})
                elif question["ask"] == "closed":
                    say(question["number"], {"closed": closed_for_room()})
                else:
                    asyncio.run_coroutine_threadsafe(answer(question), loop)
            loop.call_soon_threadsafe(done.set)

        threading.Thread(target=read, daemon=True).start()
        await done.wait()


def begin(kind: str, address_space: int, cpu_seconds: int, arguments: list[str]) -> None:
    """Runs one of the servers, or the prober of one, in this process, within limits."""
    limit(address_space, cpu_seconds)
    if kind == "prober":
        prober.main(json.loads(arguments[0]))
        return
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as `kubewright run` and `cluster start` do
        runner.run(serve(kind, arguments))
