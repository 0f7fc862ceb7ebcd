"""The start page."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page, expect

import kubewright as kw
from kubewright.crd import install
from tests.console.gadgets import PATH, AnyCluster, Gadget, gadget, set_phase

pytestmark = [pytest.mark.browser, pytest.mark.clusters]

LATE = "lists.console.example.com/latecomers"


class LatecomerSpec(kw.Model):
    size: int = 1


@kw.resource("lists.console.example.com/v1")
class Latecomer(kw.Resource[LatecomerSpec, None]):
    """A kind that is defined while the page is open."""


@pytest.fixture
def console_settings() -> dict[str, Any]:
    return {"only": [PATH, LATE, "core/pods", "apps/deployments", "core/namespaces"]}


@pytest.mark.promise(
    "Lists and layout of the console",
    "Kinds are counted live by state as far as visible, and built-in kinds open no watch before use.",
)
async def test_counts_kinds_by_state_live(
    cluster: AnyCluster, cluster_namespace: str, console_url: str, page: Page
) -> None:
    async with cluster.client() as client:
        await install(client, Gadget)
        one = await client.create(gadget("one", cluster_namespace))
        await set_phase(client, one, "Ready")
        await page.goto(f"{console_url}/?namespace={cluster_namespace}")
        await expect(page).to_have_title("Kinds · Kubewright")
        row = page.locator(f'[data-kind="{PATH}"]')
        await expect(row.get_by_text("1 ready")).to_be_visible()

        two = await client.create(gadget("two", cluster_namespace))
        await expect(row.get_by_text("1 unknown")).to_be_visible()
        await set_phase(client, two, "Failed")
        await expect(row.get_by_text("1 failing")).to_be_visible()
        await expect(row.get_by_text("1 unknown")).to_be_hidden()

        await install(client, Latecomer)
        await expect(page.locator(f'[data-kind="{LATE}"]')).to_be_visible()

        await row.get_by_text("1 failing").click()
        await expect(page.get_by_role("gridcell", name="two")).to_be_visible()
        await expect(page.get_by_text("1 of 2 objects")).to_be_visible()


@pytest.mark.promise(
    "Lists and layout of the console",
    "Kinds are counted live by state as far as visible, and built-in kinds open no watch before use.",
)
@pytest.mark.clusters("embedded")
async def test_built_in_kinds_open_no_watch_before_use(
    cluster: AnyCluster, console: Any, console_url: str, page: Page
) -> None:
    await page.goto(console_url)
    main = page.get_by_role("main")
    await expect(main.get_by_role("link", name="Deployment")).to_be_visible()
    assert not any(cache.kind.path == "apps/deployments" for cache in console.open_caches)
    await main.get_by_role("link", name="Deployment").click()
    await expect(page.get_by_role("heading", name="Deployment")).to_be_visible()
