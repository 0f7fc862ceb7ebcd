"""Ten thousand rows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import Page, expect

import kubewright as kw
from kubewright.api import ObjectMeta
from kubewright.client import Client
from kubewright.crd import install
from kubewright.testing import ControlPlane
from tests.console.gadgets import AnyCluster

# Chromium, the console and the API server share the machine, so ten thousand writes to a real server take long.
pytestmark = [pytest.mark.browser, pytest.mark.clusters, pytest.mark.timeout(600)]

TOTAL = 10_000
AT_ONCE = 200


class CrateSpec(kw.Model):
    color: str = "red"


@kw.resource("many.console.example.com/v1", columns={"Color": ".spec.color"})
class Crate(kw.Resource[CrateSpec, None]):
    """A kind with many objects."""


@pytest.fixture(scope="module")
def control_plane() -> Iterator[ControlPlane]:
    """A control plane for this module, because deleting so many objects takes a busy server minutes."""
    with ControlPlane() as plane:
        yield plane


@pytest.fixture
async def client(cluster: AnyCluster) -> AsyncIterator[Client]:
    async with cluster.client() as made:
        await install(made, Crate)
        yield made


def crate(number: int, namespace: str) -> Crate:
    return Crate(metadata=ObjectMeta(name=f"crate-{number:05}", namespace=namespace), spec=CrateSpec())


@pytest.mark.promise(
    "Lists and layout of the console",
    "Ten thousand rows scroll, filter and change, and one change sends one row.",
)
async def test_ten_thousand_rows_scroll_filter_and_change(
    client: Client, cluster_namespace: str, console_url: str, page: Page
) -> None:
    home = cluster_namespace
    for start in range(0, TOTAL, AT_ONCE):
        await asyncio.gather(*(client.create(crate(number, home)) for number in range(start, start + AT_ONCE)))
    received: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: received.append(len(frame))))
    await page.goto(f"{console_url}/kinds/many.console.example.com/crates?namespace={home}&sort=name")
    await expect(page.get_by_text("10,000 objects")).to_be_visible()
    # The browser draws only visible rows.
    assert await page.locator(".ag-center-cols-container .ag-row").count() < 100

    body = page.locator(".ag-body-viewport")
    await body.evaluate("body => body.scrollTop = body.scrollHeight")
    await expect(page.get_by_role("gridcell", name="crate-09999")).to_be_visible()

    before = sum(received)
    await client.delete(Crate, "crate-09999", home)
    one = await client.get(Crate, "crate-09998", home)
    one.spec.color = "ultramarine"
    await client.update(one)
    await expect(page.get_by_text("9,999 objects")).to_be_visible()
    await expect(page.get_by_role("gridcell", name="ultramarine")).to_be_visible()
    # One row was sent, not ten thousand.
    assert sum(received) - before < 20_000

    await page.get_by_label("Filter rows").fill("ultramarine")
    await expect(page.get_by_text("1 of 9,999 objects")).to_be_visible()
