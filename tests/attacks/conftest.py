"""Child processes to attack, and clients for them."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest

from kubewright.api.coordination.v1 import Lease
from kubewright.client import Client
from kubewright.cluster import Cluster
from tests.attacks.harness import COPIES, Victim, running
from tests.attacks.wires import trusting
from tests.patience import PATIENCE, until

# Many attacks at the same time on a busy machine.
pytestmark = [pytest.mark.timeout(300 if COPIES == 1 else 1800)]


LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/probe?fieldManager=probe&force=true"


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
            return 0, str(error)

    async def probe(self) -> None:
        """Checks its readiness and renews a lease, on a new connection."""
        connector = aiohttp.TCPConnector(ssl=trusting(), force_close=True)
        token = {"Authorization": f"Bearer {self.victim.facts['token']}"}
        async with aiohttp.ClientSession(connector=connector, headers=token, timeout=_patience()) as session:
            async with session.get(f"{self.url}/readyz") as answer:
                assert answer.status == 200, await answer.text()
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            lease = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": "probe"},
                "spec": {"holderIdentity": "probe", "renewTime": now},
            }
            kind = {"Content-Type": "application/apply-patch+yaml"}
            async with session.patch(self.url + LEASE, data=json.dumps(lease), headers=kind) as answer:
                assert answer.status in (200, 201), await answer.text()


@asynccontextmanager
async def attacked_cluster() -> AsyncIterator[Api]:
    """An embedded cluster over TLS, in a child process."""
    connector = aiohttp.TCPConnector(ssl=trusting(), limit=0)
    async with running("cluster") as victim, aiohttp.ClientSession(connector=connector, timeout=_patience()) as session:
        yield Api(victim, session)


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    """An embedded cluster over TLS, in a child process."""
    async with attacked_cluster() as made:
        yield made


@pytest.fixture
async def home() -> AsyncIterator[Cluster]:
    """The cluster of an operator that is attacked. It runs here, and is not attacked."""
    async with Cluster() as cluster:
        await cluster.serve()
        yield cluster


@pytest.fixture
async def operator(home: Cluster) -> AsyncIterator[Victim]:
    """A leading operator with webhooks, health pages and metrics, in a child process."""
    async with running("operator", str(home.kubeconfig())) as victim:
        yield victim


@pytest.fixture
async def console(home: Cluster) -> AsyncIterator[Victim]:
    """The same with a console, as `kubewright run --console-bind` starts it."""
    async with running("operator", str(home.kubeconfig()), "console") as victim:
        yield victim


@pytest.fixture
async def caller() -> AsyncIterator[Victim]:
    """A child process that sends requests with Kubewright's client."""
    async with running("idle") as victim:
        yield victim


def healthy(victim: Victim, cluster: Cluster) -> Callable[[], Awaitable[None]]:
    """A probe of an operator: its health page answers, and it still renews its lease."""

    async def probe() -> None:
        connector = aiohttp.TCPConnector(force_close=True)
        made, port = aiohttp.ClientSession(connector=connector, timeout=_patience()), victim.facts["health"]
        async with made as session, session.get(f"http://127.0.0.1:{port}/healthz") as answer:
            assert (answer.status, await answer.text()) == (200, "ok")
        async with cluster.client() as client:
            await renewed(client)

    return probe


async def renewed(client: Client) -> None:
    """Waits until the operator's lease has been renewed once more by the same holder."""
    first = await client.get(Lease, "attacked", "default")

    async def again() -> bool:
        lease = await client.get(Lease, "attacked", "default")
        assert lease.spec.holder_identity == first.spec.holder_identity, "the operator lost its lease"
        return lease.spec.renew_time != first.spec.renew_time

    await until(again)


def _patience() -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=PATIENCE)
