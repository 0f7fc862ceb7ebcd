"""The contexts of a kubeconfig in a browser: the current one is marked, production has a color and a word."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml
from playwright.async_api import expect

from kubewright.api import ObjectMeta, core
from kubewright.cluster import Cluster
from kubewright.console import Console
from kubewright.console.theme import DARK, LIGHT
from tests.console.axe.run import violations
from tests.console.conftest import OpenPage
from tests.console.screenshots import shoot

pytestmark = pytest.mark.browser

NAMES = ("staging", "shop-prod", "preprod")


@pytest.fixture
async def console(cluster: Cluster, tmp_path: Path) -> AsyncIterator[Console]:
    """A console with several contexts of one cluster."""
    await cluster.serve()
    config = yaml.safe_load(cluster.kubeconfig().read_text())
    context = config["contexts"][0]["context"]
    config["contexts"] = [{"name": name, "context": context} for name in NAMES]
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(config | {"current-context": NAMES[0]}))
    async with Console.connect(kubeconfig=file, only=["core/configmaps"]) as made:
        yield made


def rgb(color: str) -> str:
    return f"rgb({', '.join(str(int(color[at : at + 2], 16)) for at in (1, 3, 5))})"


@pytest.mark.promise(
    "Lists and layout of the console",
    "The current context is marked, and production contexts have a color and a word.",
)
async def test_marks_current_and_production_contexts(console_url: str, open_page: OpenPage) -> None:
    page = await open_page(reduced_motion="reduce", color_scheme="light")
    await page.goto(console_url)
    await page.get_by_role("button", name="Cluster: staging", exact=True).click()
    items = page.get_by_role("navigation", name="Contexts").get_by_role("link")
    await expect(items).to_have_count(3)
    current = page.get_by_role("navigation", name="Contexts").locator("[aria-current=true]")
    await expect(current).to_have_text(re.compile("staging.*current"))
    production = items.filter(has=page.get_by_text("production", exact=True))
    await expect(production).to_have_count(1)
    await expect(production).to_contain_text("shop-prod")
    await expect(production).to_have_css("color", rgb(LIGHT["failing"]))
    found = await violations(page)
    assert not found, "\n".join(found)
    await shoot(page, "contexts")
    await production.click()

    await expect(page).to_have_url(f"{console_url}/contexts/shop-prod/")
    await page.emulate_media(color_scheme="dark")
    button = page.get_by_role("button", name="Cluster: shop-prod production")
    await expect(page.get_by_role("banner").get_by_text("production", exact=True)).to_be_visible()
    await expect(button).to_have_css("color", rgb(DARK["failing"]))
    await expect(page.get_by_role("banner")).to_have_css("border-top-color", rgb(DARK["failing"]))
    found = await violations(page)
    assert not found, "\n".join(found)


@pytest.mark.promise("Lists and layout of the console", "All links of a page lead to the cluster of the page.")
async def test_links_stay_in_the_context(console_url: str, cluster: Cluster, open_page: OpenPage) -> None:
    async with cluster.client() as client:
        await client.create(core.ConfigMap(metadata=ObjectMeta(name="settings", namespace="default")))
    page = await open_page()
    await page.goto(f"{console_url}/contexts/preprod/kinds/core/configmaps?namespace=default")
    row = page.locator("[row-id='default/settings'] a")
    path = "/contexts/preprod/objects/core/configmaps/default/settings"
    await expect(row).to_have_attribute("href", path)
    links = page.get_by_role("navigation", name="Pages").get_by_role("link")
    found = [await link.get_attribute("href") for link in await links.all()]
    assert found
    assert all(address and address.startswith("/contexts/preprod/") for address in found), found
    await row.click()
    await expect(page).to_have_url(console_url + path)
