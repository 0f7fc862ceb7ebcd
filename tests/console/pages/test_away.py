"""Outages of the API server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from playwright.async_api import Page, expect

from kubewright.client import Client
from kubewright.console import Console
from kubewright.crd import install
from tests.console.conftest import Gate
from tests.console.gadgets import PATH, AnyCluster, Gadget, gadget
from tests.console.screenshots import shoot

pytestmark = [pytest.mark.browser, pytest.mark.clusters]


@pytest.fixture
async def gate(cluster: AnyCluster) -> AsyncIterator[Gate]:
    """A gate in front of the cluster."""
    parts = urlsplit(await cluster.serve())
    async with Gate(parts.hostname or "", parts.port or 443) as made:
        yield made


@pytest.fixture
async def console(cluster: AnyCluster, gate: Gate, tmp_path: Path) -> AsyncIterator[Console]:
    """A console that reaches the cluster only through the gate."""
    path = through(gate, cluster.kubeconfig(), tmp_path / "kubeconfig")
    async with Console(Client.connect(kubeconfig=path), name="behind a gate", only=[PATH]) as made:
        yield made


def through(gate: Gate, kubeconfig: Path, path: Path) -> Path:
    """Returns the same configuration, with the gate as the server."""
    config = yaml.safe_load(kubeconfig.read_text())
    for one in config["clusters"]:
        one["cluster"]["server"] = f"https://127.0.0.1:{gate.port}"
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.mark.promise(
    "Lists and layout of the console",
    "During an outage of the API server, pages keep their content, show since when, and resume without a reload.",
)
async def test_list_resumes_after_outage(
    cluster: AnyCluster, cluster_namespace: str, gate: Gate, console_url: str, page: Page
) -> None:
    async with cluster.client() as client:
        await install(client, Gadget)
        await client.create(gadget("before", cluster_namespace))
        await page.goto(f"{console_url}/kinds/{PATH}?namespace={cluster_namespace}")
        await expect(page.get_by_role("gridcell", name="before")).to_be_visible()
        await expect(page.get_by_test_id("connection")).to_have_text("boltlive")
        await page.evaluate("window.sameDocument = true")

        gate.shut()
        away = page.get_by_test_id("outage")
        await expect(away).to_contain_text("The API server has not responded since")
        await expect(away).to_contain_text("Showing last known data")
        await expect(away).to_contain_text("reconnecting")
        await expect(page.get_by_test_id("connection")).to_contain_text("disconnected since")
        await expect(page.get_by_role("gridcell", name="before")).to_be_visible()  # the last known objects
        await shoot(page, "away")
        await client.create(gadget("during-outage", cluster_namespace))

        gate.reopen()
        await expect(page.get_by_role("gridcell", name="during-outage")).to_be_visible()
        await expect(away).to_be_hidden()
        await expect(page.get_by_test_id("connection")).to_have_text("boltlive")
        assert await page.evaluate("window.sameDocument")  # without a reload


@pytest.mark.promise(
    "Lists and layout of the console",
    "During an outage of the API server, pages keep their content, show since when, and resume without a reload.",
)
@pytest.mark.clusters("embedded")
async def test_page_opened_during_outage_shows_banner_and_loads_afterwards(
    cluster: AnyCluster, cluster_namespace: str, gate: Gate, console_url: str, page: Page
) -> None:
    async with cluster.client() as client:
        await install(client, Gadget)
        await client.create(gadget("there", cluster_namespace))
        gate.shut()
        address = f"{console_url}/kinds/{PATH}?namespace={cluster_namespace}"
        # The page itself contains the banner: it does not appear later.
        answer = await page.context.request.get(address)
        assert "Showing last known data" in await answer.text()
        await page.goto(address)
        await expect(page.get_by_test_id("outage")).to_contain_text("The API server has not responded since")
        await expect(page.get_by_test_id("outage")).to_contain_text("reconnecting")
        problem = page.get_by_test_id("problem")
        await expect(problem).to_contain_text("The API server does not answer")
        await expect(problem).to_contain_text("kubectl get --raw /readyz")
        gate.reopen()
        await expect(page.get_by_role("gridcell", name="there")).to_be_visible()


@pytest.mark.promise(
    "Lists and layout of the console",
    "An API server that hangs is reported within ten seconds, and pages that are opened then say so.",
)
@pytest.mark.clusters("embedded")
async def test_hanging_server_is_reported(
    cluster: AnyCluster, cluster_namespace: str, gate: Gate, console: Console, console_url: str, page: Page
) -> None:
    async with cluster.client() as client:
        await install(client, Gadget)
        await client.create(gadget("before", cluster_namespace))
        await page.goto(f"{console_url}/kinds/{PATH}?namespace={cluster_namespace}")
        await expect(page.get_by_role("gridcell", name="before")).to_be_visible()
        gate.freeze()
        await expect(page.get_by_test_id("outage")).to_contain_text("no answer within 4s")
        await expect(page.get_by_role("gridcell", name="before")).to_be_visible()
        other = await page.context.new_page()
        for path in ("/", f"/kinds/{PATH}", f"/objects/{PATH}/{cluster_namespace}/before"):
            await other.goto(console_url + path)
            await expect(other.get_by_test_id("outage")).to_contain_text("The API server has not responded since")
            await expect(other.get_by_test_id("connection")).to_contain_text("disconnected")
        gate.thaw()
        await expect(page.get_by_test_id("connection")).to_have_text("boltlive")
        await expect(other.get_by_test_id("object-name")).to_have_text("before")
