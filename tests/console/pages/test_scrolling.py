"""A list that scrolls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Page, expect

from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.crd import install
from tests.console.gadgets import PATH, Gadget, gadget

pytestmark = pytest.mark.browser

TOTAL = 120
SCROLL = """async () => {
  const body = document.querySelector('.ag-body-viewport');
  for (let step = 0; step < 40; step++) {
    body.scrollTop += 34;
    await new Promise(requestAnimationFrame);
  }
}"""


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    async with cluster.client() as made:
        await install(made, Gadget)
        yield made


@pytest.mark.promise("Lists and layout of the console", "A frame of a scrolling list restyles new rows, not all rows.")
async def test_scrolling_restyles_only_new_rows(
    client: Client, cluster_namespace: str, console_url: str, page: Page
) -> None:
    await asyncio.gather(*(client.create(gadget(f"gadget-{number:05}", cluster_namespace)) for number in range(TOTAL)))
    await page.goto(f"{console_url}/kinds/{PATH}?namespace={cluster_namespace}&sort=name")
    await expect(page.get_by_text(f"{TOTAL} objects")).to_be_visible()
    drawn = await page.locator(".ag-center-cols-container *").count()

    events: list[dict[str, Any]] = []
    complete = asyncio.Event()
    devtools = await page.context.new_cdp_session(page)
    devtools.on("Tracing.dataCollected", lambda part: events.extend(part["value"]))
    devtools.on("Tracing.tracingComplete", lambda _: complete.set())
    settings = {"includedCategories": ["devtools.timeline"]}
    await devtools.send("Tracing.start", {"transferMode": "ReportEvents", "traceConfig": settings})
    await page.evaluate(SCROLL)
    await devtools.send("Tracing.end")
    await complete.wait()

    restyled = [one["args"].get("elementCount", 0) for one in events if one["name"] == "UpdateLayoutTree"]
    assert sum(restyled) > 0
    # All rows would be `drawn` in most frames.
    whole = [count for count in restyled if count > 0.8 * drawn]
    assert len(whole) <= 2, (drawn, restyled)
