"""Links, history and shortcuts open pages in the same document."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Page, expect

from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.console import Console
from kubewright.console.forms import Writer
from kubewright.crd import install
from tests.console.gadgets import PATH, Gadget, gadget

pytestmark = pytest.mark.browser


@pytest.fixture
async def client(cluster: Cluster, cluster_namespace: str) -> AsyncIterator[Client]:
    async with cluster.client() as made:
        await install(made, Gadget)
        await made.create(gadget("first", cluster_namespace))
        yield made


@pytest.mark.promise(
    "Lists and layout of the console",
    "Links, shortcuts and the history of the browser open pages without loading scripts and style sheets again.",
)
async def test_opens_pages_in_the_same_document(
    client: Client, cluster_namespace: str, console: Console, console_url: str, page: Page
) -> None:
    await page.goto(f"{console_url}/?namespace={cluster_namespace}")
    await page.evaluate("window.sameDocument = true")
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    await page.locator(f"main a[href*='/kinds/{PATH}']").first.click()
    row = page.get_by_role("gridcell", name="first")
    await expect(row).to_be_visible()
    await expect(page).to_have_title("Gadget · Kubewright")
    await expect(page.locator("#kw-announced")).to_have_text("Gadget · Kubewright")
    await expect(page.locator("body.kw-fill")).to_be_attached()

    await row.get_by_role("link").click()
    await expect(page).to_have_url(f"{console_url}/objects/{PATH}/{cluster_namespace}/first")
    await expect(page.get_by_test_id("conditions")).to_be_visible()
    await expect(page.locator("body.kw-fill")).not_to_be_attached()
    await page.get_by_role("button", name="Edit").click()
    await expect(page.get_by_role("button", name="Review and")).to_be_visible()

    await page.go_back()
    await expect(page.get_by_test_id("conditions")).to_be_visible()
    await page.go_back()
    await expect(row).to_be_visible()
    await page.keyboard.press("g")
    await page.keyboard.press("p")
    await expect(page).to_have_url(f"{console_url}/problems")
    await expect(page.get_by_role("link", name="Problems")).to_have_attribute("aria-current", "page")

    assert await page.evaluate("window.sameDocument")
    assert not [url for url in requested if "quasar" in url or "vue.esm" in url]
    # The list is live, although the document showed other pages before.
    await page.go_back()
    await client.create(gadget("second", cluster_namespace))
    await expect(page.get_by_role("gridcell", name="second")).to_be_visible()


@pytest.mark.promise("Lists and layout of the console", "The page of a list contains the first rows.")
async def test_page_of_a_list_contains_rows(
    client: Client, cluster_namespace: str, console_url: str, page: Page
) -> None:
    address = f"{console_url}/kinds/{PATH}?namespace={cluster_namespace}"
    await page.goto(address)
    await expect(page.get_by_role("gridcell", name="first")).to_be_visible()  # the cache is in sync
    answer = await page.context.request.get(address)
    assert f"{cluster_namespace}/first" in await answer.text()


@pytest.mark.promise("Lists and layout of the console", "The page that edits an object contains its form.")
async def test_page_of_a_form_contains_fields(
    client: Client, cluster_namespace: str, console_url: str, page: Page
) -> None:
    await page.goto(console_url)
    answer = await page.context.request.get(f"{console_url}/objects/{PATH}/{cluster_namespace}/first/edit")
    text = await answer.text()
    assert "yaml-problem" in text
    assert "Review and apply" in text
    assert "spinner" not in text


@pytest.mark.promise(
    "Lists and layout of the console",
    "A form whose object is read slowly shows a spinner in a complete frame, then the form.",
)
async def test_slow_form_shows_spinner(
    client: Client, cluster_namespace: str, console_url: str, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = asyncio.Event()
    read = Writer.read

    async def read_slowly(*args: Any) -> dict[str, Any]:
        await answered.wait()
        return await read(*args)

    monkeypatch.setattr(Writer, "read", read_slowly)
    await page.goto(f"{console_url}/objects/{PATH}/{cluster_namespace}/first/edit")
    spinner = page.locator("main .q-spinner")
    await expect(spinner).to_be_visible()
    await expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    answered.set()
    await expect(page.get_by_role("button", name="Review and apply")).to_be_visible()
    await expect(spinner).to_have_count(0)


EARLY_HEADER = "(style => [style.content, parseFloat(style.paddingLeft)])(getComputedStyle(document.body, '::before'))"
SQUARE_AND_GAP = 14 + 8


@pytest.mark.promise("Lists and layout of the console", "The first page shows its header before its scripts have run.")
async def test_header_appears_before_scripts_run(client: Client, console_url: str, page: Page) -> None:
    await page.route(re.compile(r"\.js$"), lambda route: route.abort())
    await page.goto(console_url)
    text, left = await page.evaluate(EARLY_HEADER)
    assert text == '"Kubewright"'
    await page.unroute_all()
    await page.goto(console_url)
    await expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    assert (await page.evaluate(EARLY_HEADER))[0] == "none"
    drawn = await page.get_by_role("link", name="Kubewright", exact=True).bounding_box()
    assert drawn is not None
    assert left == pytest.approx(drawn["x"] + SQUARE_AND_GAP, abs=1)


@pytest.mark.promise(
    "Lists and layout of the console",
    "Style sheets of lists are added once per document, before the first list, and its color scheme is set once.",
)
async def test_styles_are_added_once(client: Client, cluster_namespace: str, console_url: str, page: Page) -> None:
    await page.goto(f"{console_url}/?namespace={cluster_namespace}")
    styles = "document.querySelectorAll('style[data-ag-global-css]')"
    await page.wait_for_function(f"{styles}.length > 0")
    await page.evaluate(f"""() => {{
      window.kept = [...{styles}];
      window.schemes = 0;
      const changed = (records) => (window.schemes += records.length);
      new MutationObserver(changed).observe(document.getElementById("nicegui-color-scheme"), {{ attributes: true }});
    }}""")
    listed = page.locator(f"main a[href*='/kinds/{PATH}']").first
    for _ in range(2):
        await listed.click()
        await expect(page.get_by_role("gridcell", name="first")).to_be_visible()
        await page.get_by_role("link", name="Kubewright", exact=True).click()
        await expect(listed).to_be_visible()
    assert await page.evaluate("window.kept.every((style) => style.isConnected)")
    assert await page.evaluate("window.schemes") == 0


async def test_link_opens_sign_in_after_session_has_ended(client: Client, console_url: str, page: Page) -> None:
    await page.goto(console_url)
    link = page.get_by_role("link", name="Problems")
    await expect(link).to_be_visible()
    await page.context.clear_cookies()
    await link.click()
    await expect(page.get_by_label("Bearer token")).to_be_visible()
    await expect(page).to_have_url(f"{console_url}/sign-in?next=%2Fproblems")
