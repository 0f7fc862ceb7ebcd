"""Usability: keyboard, phone, dark theme."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Page, expect

import kubewright as kw
from kubewright.api import ObjectMeta
from kubewright.api.core.v1 import Namespace
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.console.theme import DARK, LIGHT
from kubewright.crd import install
from tests.console.conftest import OpenPage
from tests.console.gadgets import PATH, Gadget, gadget, set_phase
from tests.console.screenshots import shoot

pytestmark = pytest.mark.browser

SHOP, OTHER = "shop", "warehouse"
PHASES = ("Ready", "Ready", "Ready", "Pending", "Failed", "")
COLORS = ("red", "green", "blue")


class BackupSpec(kw.Model):
    schedule: str = "@daily"


@kw.resource("storage.console.example.com/v1", scope="Cluster")
class Backup(kw.Resource[BackupSpec, None]):
    """A kind without objects."""


@pytest.fixture
def console_settings() -> dict[str, Any]:
    return {"name": "staging"}


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    async with cluster.client() as made:
        await install(made, Gadget)
        await install(made, Backup)
        for name in (SHOP, OTHER):
            await made.create(Namespace(metadata=ObjectMeta(name=name)))
        yield made


async def furnish(client: Client, count: int = 18) -> None:
    """Objects in all states, in two namespaces."""
    for at in range(count):
        one = gadget(f"gadget-{at:02}", SHOP if at < 12 else OTHER, at * 3 % 17, app="web" if at % 2 else "db")
        one.spec.color = COLORS[at % 3]
        made = await client.create(one)
        if PHASES[at % 6]:
            await set_phase(client, made, PHASES[at % 6])


def rgb(color: str) -> str:
    return f"rgb({', '.join(str(int(color[at : at + 2], 16)) for at in (1, 3, 5))})"


@pytest.mark.promise(
    "Lists and layout of the console",
    "All pages can be used by keyboard; landmarks have names, and each page has one heading.",
)
async def test_keyboard_is_sufficient(client: Client, console_url: str, page: Page) -> None:
    await furnish(client, 6)
    await page.goto(console_url)
    await expect(page.locator(f'[data-kind="{PATH}"]').get_by_text("3 ready")).to_be_visible()

    await page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to content")
    await expect(skip).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator(".kw-main").first).to_be_focused()

    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_hidden()

    await page.keyboard.press("/")
    await expect(page.get_by_label("Search kinds and objects")).to_be_focused()
    await page.keyboard.type("gadgets")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{console_url}/kinds/{PATH}")
    await expect(page.get_by_role("gridcell", name="gadget-05")).to_be_visible()

    await page.keyboard.press("/")  # the list's own filter
    await expect(page.get_by_label("Filter rows")).to_be_focused()
    await page.keyboard.press("Escape")
    await page.keyboard.press("j")
    await expect(page.get_by_role("gridcell", name="gadget-00")).to_be_focused()
    await page.keyboard.press("j")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("k")
    await expect(page.get_by_role("gridcell", name="gadget-01")).to_be_focused()
    await page.keyboard.press("Space")
    await expect(page.get_by_text("6 objects · 1 selected")).to_be_visible()
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{console_url}/objects/{PATH}/{SHOP}/gadget-01")

    await page.keyboard.press("g")
    await page.keyboard.press("k")
    await expect(page).to_have_url(f"{console_url}/")


@pytest.mark.promise(
    "Lists and layout of the console",
    "All pages can be used by keyboard; landmarks have names, and each page has one heading.",
)
async def test_pages_have_named_landmarks_and_one_heading(client: Client, console_url: str, page: Page) -> None:
    await furnish(client, 1)
    for address, title in (("/", "Kinds"), (f"/kinds/{PATH}", "Gadget"), ("/nowhere", "Page not found")):
        await page.goto(console_url + address)
        await expect(page.get_by_role("heading", level=1)).to_have_text(title)
        await expect(page.get_by_role("banner")).to_be_visible()
        await expect(page.get_by_role("main")).to_be_visible()
        await expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    await expect(page.get_by_role("button", name="Navigation")).to_be_visible()
    await expect(page.get_by_role("button", name="Theme: auto")).to_be_visible()


@pytest.mark.promise("Lists and layout of the console", "Pages fit the width of a phone.")
async def test_fits_phone_width(client: Client, console_url: str, open_page: OpenPage) -> None:
    await furnish(client)
    page = await open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    await page.goto(f"{console_url}/kinds/{PATH}")
    await expect(page.get_by_role("gridcell", name="gadget-03")).to_contain_text(SHOP)
    shown = page.get_by_role("columnheader")
    await expect(shown).to_have_text(["Name", "State", "Age"])
    assert await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    await shoot(page, "list-phone")

    navigation = page.get_by_role("navigation", name="Pages")
    await expect(navigation).not_to_be_in_viewport()
    await page.get_by_role("button", name="Navigation").click()
    await expect(navigation).to_be_in_viewport()
    await navigation.get_by_role("link", name="Kinds").click()
    await expect(page.locator(f'[data-kind="{PATH}"]').get_by_text("9 ready")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    await shoot(page, "kinds-phone")


@pytest.mark.promise(
    "Lists and layout of the console",
    "The theme is remembered, and text has a contrast of 4.5:1 in both themes.",
)
async def test_remembers_theme(client: Client, console_url: str, open_page: OpenPage) -> None:
    await furnish(client)
    page = await open_page(color_scheme="dark")
    body = page.locator("body")
    await page.goto(f"{console_url}/kinds/{PATH}")
    await expect(page.get_by_role("gridcell", name="gadget-03")).to_be_visible()
    await expect(body).to_have_css("background-color", rgb(DARK["page"]))  # the system's preference
    await shoot(page, "list-dark")

    await page.get_by_role("button", name="Theme: auto").click()
    await expect(page.get_by_role("button", name="Theme: light")).to_be_visible()
    await expect(body).to_have_css("background-color", rgb(LIGHT["page"]))
    await shoot(page, "list")
    await page.goto(console_url)
    await expect(body).to_have_css("background-color", rgb(LIGHT["page"]))
    await expect(page.locator(f'[data-kind="{PATH}"]').get_by_text("9 ready")).to_be_visible()
    await shoot(page, "kinds")
    await page.get_by_role("button", name="Theme: light").click()
    await expect(body).to_have_css("background-color", rgb(DARK["page"]))
    await expect(page.locator(f'[data-kind="{PATH}"]').get_by_text("9 ready")).to_be_visible()
    await shoot(page, "kinds-dark")
