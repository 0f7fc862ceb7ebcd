"""Logs of containers in a browser. A transport answers for the kubelet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest
from playwright.async_api import Page, expect

from kubewright.api import ObjectMeta, core
from kubewright.client import Request, Response
from kubewright.cluster import Cluster
from kubewright.console import Console
from tests.transports.disturbed import Disturbed

pytestmark = pytest.mark.browser


class Log:
    """A response that streams the lines of the test."""

    status = 200
    headers: Mapping[str, str] = {}

    def __init__(self, lines: list[str], more: asyncio.Queue[str] | None) -> None:
        self._lines = lines
        self._more = more

    def warnings(self) -> list[str]:
        return []

    async def read(self) -> bytes:
        return b""

    async def chunks(self) -> AsyncIterator[bytes]:
        yield "".join(f"{line}\n" for line in self._lines).encode()
        while self._more is not None:
            yield f"{await self._more.get()}\n".encode()

    def close(self) -> None: ...


@pytest.fixture
def more() -> asyncio.Queue[str]:
    return asyncio.Queue()


@pytest.fixture
async def console(cluster: Cluster, more: asyncio.Queue[str]) -> AsyncIterator[Console]:
    def logs(request: Request) -> Response | None:
        if not request.path.endswith("/pods/web/log"):
            return None
        query = dict(request.query)
        if query.get("previous"):
            return Log(["PANIC it died"], None)
        lines = ["INFO start", "WARN try 1", "WARN try 2", f"ERROR in {query['container']}"]
        return Log(lines, more if query.get("follow") else None)

    client = cluster.client().through(lambda inner: Disturbed(inner, logs))
    async with Console(client, name="tests", only=["core/pods"]) as made:
        yield made


@pytest.mark.promise(
    "Objects and operators in the console",
    "Logs of containers are followed, filtered by level and text, folded, and downloaded.",
)
async def test_follows_filters_and_downloads_logs(
    cluster: Cluster, console_url: str, page: Page, cluster_namespace: str, more: asyncio.Queue[str]
) -> None:
    containers = [core.Container(name=name, image="web") for name in ("app", "sidecar")]
    pod = core.Pod(
        metadata=ObjectMeta(name="web", namespace=cluster_namespace), spec=core.PodSpec(containers=containers)
    )
    async with cluster.client() as client:
        await client.create(pod)
        await page.goto(f"{console_url}/objects/core/pods/{cluster_namespace}/web?tab=logs")
        log = page.get_by_test_id("container-log")
        await expect(log).to_have_text("INFO start\nWARN try 2  (2 times)\nERROR in app")
        await more.put("INFO later")
        await expect(log).to_contain_text("INFO later")

        await page.get_by_label("Search the log").fill("in app")
        await expect(log).to_have_text("ERROR in app")
        async with page.expect_download() as waiting:
            await page.get_by_role("button", name="Download").click()
        download = await waiting.value
        assert download.suggested_filename == "web_app.log"
        assert (await download.path()).read_text() == "ERROR in app\n"

        await page.get_by_label("Search the log").fill("")
        await page.get_by_role("switch", name="Previous container").click()
        await expect(log).to_have_text("PANIC it died")
        await expect(page.get_by_test_id("log-state")).to_contain_text("End of the log · 1 of 1 lines")
