"""The palette, label chips, and the label filter in a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Page, expect

from kubewright.api import ObjectMeta, core
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.crd import install
from tests.console.axe.run import violations
from tests.console.conftest import OpenPage
from tests.console.gadgets import PATH, Gadget, gadget, set_phase
from tests.console.screenshots import shoot
from tests.patience import until

pytestmark = pytest.mark.browser


@pytest.fixture
def console_settings() -> dict[str, Any]:
    return {"only": [PATH, "core/configmaps"]}


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    async with cluster.client() as made:
        await install(made, Gadget)
        yield made


async def press_ctrl_k(page: Page) -> None:
    """Opens the palette. The page handles keys once it is drawn."""
    await expect(page.get_by_test_id("connection")).to_contain_text("live")
    await page.keyboard.press("Control+k")


@pytest.mark.promise(
    "Lists and layout of the console",
    "Ctrl+K opens a palette that finds pages, kinds and live objects as you type, and shows the shortcuts.",
)
async def test_palette_finds_objects_kinds_and_pages(
    client: Client, cluster_namespace: str, console_url: str, open_page: OpenPage
) -> None:
    one = await client.create(gadget("needle-one", cluster_namespace, app="web"))
    await set_phase(client, one, "Failed")
    await client.create(gadget("needle-two", cluster_namespace, app="db"))
    await client.create(core.ConfigMap(metadata=ObjectMeta(name="needle-map", namespace=cluster_namespace)))

    page = await open_page(reduced_motion="reduce", color_scheme="dark")
    await page.goto(f"{console_url}/problems")
    await press_ctrl_k(page)
    palette = page.get_by_test_id("palette")
    field = palette.get_by_role("combobox")
    await expect(field).to_be_focused()
    for text in ("g k", "j  k", "Go to kinds"):
        await expect(palette).to_contain_text(text)
    options = palette.get_by_role("option")
    await field.fill("opera")
    await expect(options).to_have_count(1)
    await expect(options).to_contain_text("Operator")
    await field.fill("gdgt")
    await expect(options.first).to_contain_text("Gadget")

    await field.fill("need")
    await expect(palette.get_by_test_id("palette-status")).to_have_text("3 matches.")
    await expect(options.filter(has_text="needle-one")).to_contain_text(f"Gadget in {cluster_namespace} · failing")
    await expect(options.filter(has_text="needle-map")).to_contain_text("ConfigMap")
    assert await violations(page) == []
    await page.emulate_media(color_scheme="light")
    assert await violations(page) == []
    await shoot(page, "palette")
    await page.set_viewport_size({"width": 360, "height": 740})
    assert await page.evaluate("document.documentElement.scrollWidth") <= 360
    assert await palette.evaluate("element => element.scrollWidth <= element.clientWidth")
    await page.set_viewport_size({"width": 1280, "height": 800})

    # A new object is found without a reload, and the keyboard is sufficient.
    await client.create(gadget("needle-new", cluster_namespace))

    async def found() -> bool:  # a search is not repeated when the cache changes
        await field.fill("")
        await field.fill("needle-ne")
        try:
            await expect(options).to_have_count(1, timeout=2_000)
        except AssertionError:
            return False
        return True

    await until(found)
    await field.fill("needle")
    await expect(options).to_have_count(4)
    await page.keyboard.press("Escape")
    await expect(palette).to_be_hidden()
    await page.keyboard.press("Control+k")
    await expect(field).to_be_focused()
    await field.fill("needle-two")
    await expect(options).to_have_count(1)
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{console_url}/objects/{PATH}/{cluster_namespace}/needle-two")

    # The label of an object leads to the list of those that have it; the filter of that list applies while typing.
    await page.get_by_role("link", name="app db").click()
    await expect(page).to_have_url(f"{console_url}/kinds/{PATH}?namespace={cluster_namespace}&labels=app%3Ddb")
    names = page.locator(".ag-cell[col-id=name] a")
    await expect(names).to_have_text(["needle-two"])
    await page.get_by_label("Label selector").fill("app in (web")
    await expect(page.get_by_role("alert").first).to_be_visible()  # incomplete; the rows stay
    await expect(names).to_have_text(["needle-two"])
    await page.get_by_label("Label selector").fill("app in (web, db)")
    await expect(names).to_have_count(2)
    await page.get_by_role("button", name="Search as you type with Ctrl K").click()
    await expect(field).to_be_focused()
