"""Child processes to attack, and clients for them."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from kubewright.http import ServerLimits
from tests.attacks.harness import COPIES, Victim, running
from tests.attacks.probing import PAGE, RENEWAL
from tests.attacks.wires import trusting
from tests.patience import PATIENCE

# Many attacks at the same time on a busy machine.
pytestmark = [pytest.mark.timeout(300 if COPIES == 1 else 1800)]


_CONNECTIONS = 400
"""Of one attacker: more than may wait at a cluster, and few enough for the attacker's own memory."""

_CLUSTER_PAGE = PAGE + ServerLimits().grace_seconds if COPIES == 1 else RENEWAL
"""Seconds within which an attacked cluster answers. No kubelet probes it. During a flood, a new connection waits in the
listen queue for the grace time of others, and a flood of 5,000 TLS handshakes takes seconds of CPU time: its clients
must still renew their leases in time."""


class Api:
    """Sends HTTP requests to an embedded cluster in a child process, as its administrator."""

    def __init__(self, victim: Victim, session: aiohttp.ClientSession) -> None:
        self.victim, self._session = victim, session
        self.url: str = victim.facts["url"]
        self.port = int(self.url.rpartition(":")[2])

    async def send(
        self, method: str, path: str, body: bytes | dict[str, Any] | None = None, kind: str = "application/json"
    ) -> tuple[int, str]:
        """Sends a request. Returns the status and the body; status 0 if the server closed the connection."""
        given: dict[str, Any] = (
            {"json": body} if isinstance(body, dict) else {"data": None if body is None else io.BytesIO(body)}
        )
        headers = {"Authorization": f"Bearer {self.victim.facts['token']}", "Content-Type": kind}
        try:
            async with self._session.request(method, self.url + path, headers=headers, **given) as answer:
                return answer.status, await answer.text(errors="replace")
        except (aiohttp.ClientConnectionError, ConnectionError) as error:
            assert self.victim.alive, self.victim.why()
            self.victim.closed += 1
            return 0, str(error)


@asynccontextmanager
async def attacked_cluster() -> AsyncIterator[Api]:
    """An embedded cluster over TLS, in a child. The prober renews a lease there."""
    connector = aiohttp.TCPConnector(ssl=trusting(), limit=_CONNECTIONS)
    timeout = aiohttp.ClientTimeout(total=PATIENCE if COPIES == 1 else PATIENCE * 5)
    async with running("cluster") as victim, aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        url, token = victim.facts["url"], victim.facts["token"]
        victim.probe = {"pids": [victim.pid], "page": f"{url}/readyz", "url": url, "token": token}
        victim.probe["seconds"] = _CLUSTER_PAGE
        yield Api(victim, session)


@asynccontextmanager
async def attacked_operator(home: Victim, *arguments: str) -> AsyncIterator[Victim]:
    """An operator that leads, in a child. The prober asks for its health, and whether it renews its lease.

    Its cluster `home` is not attacked, and runs in another child: the attacker is busy.
    """
    async with running("operator", home.facts["kubeconfig"], *arguments) as victim:
        page, about = f"http://127.0.0.1:{victim.facts['health']}/healthz", home.facts
        victim.probe = {"pids": [victim.pid, home.pid], "page": page, "url": about["url"], "token": about["token"]}
        victim.probe["holder"], victim.facts["kubeconfig"] = "attacked", about["kubeconfig"]
        yield victim


class Shared:
    """Children that the tests of a module attack one after another."""

    def __init__(self) -> None:
        self._apis: dict[str, Api] = {}
        self._victims: dict[str, Victim] = {}
        self._ends: dict[str, AsyncExitStack] = {}

    async def cluster(self) -> Api:
        """An embedded cluster over TLS."""
        stack = await self._renewed("cluster")
        if stack is not None:
            self._apis["cluster"] = await stack.enter_async_context(attacked_cluster())
            self._victims["cluster"] = self._apis["cluster"].victim
        return self._apis["cluster"]

    async def operator(self, *arguments: str) -> Victim:
        """An operator that leads, with its own cluster."""
        name = " ".join(["operator", *arguments])
        stack = await self._renewed(name)
        if stack is not None:
            home = await stack.enter_async_context(running("cluster"))
            self._victims[name] = await stack.enter_async_context(attacked_operator(home, *arguments))
        return self._victims[name]

    async def _renewed(self, name: str) -> AsyncExitStack | None:
        """Returns where to start a child; None if there is one that has survived all its attacks."""
        if name in self._victims and self._victims[name].is_sound:
            return None
        if name in self._ends:
            await self._ends.pop(name).aclose()
        self._ends[name] = AsyncExitStack()
        return self._ends[name]

    async def end(self) -> None:
        """Ends all children."""
        for stack in self._ends.values():
            await stack.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared() -> AsyncIterator[Shared]:
    """Children for all tests of a module. A child that did not survive an attack is replaced for the next test."""
    made = Shared()
    try:
        yield made
    finally:
        await made.end()


@pytest_asyncio.fixture(loop_scope="module")
async def api(shared: Shared) -> Api:
    """An embedded cluster over TLS, in a child process."""
    return await shared.cluster()


@pytest_asyncio.fixture(loop_scope="module")
async def console(shared: Shared) -> Victim:
    """An operator with a console, as `kubewright run --console-bind` starts it."""
    return await shared.operator("console")


@pytest.fixture
async def caller() -> AsyncIterator[Victim]:
    """A child that calls servers with our client. Each test has its own: the heap does not shrink after an answer."""
    async with running("caller") as victim:
        victim.probe = {"pids": [victim.pid], "page": victim.facts["page"]}
        yield victim
