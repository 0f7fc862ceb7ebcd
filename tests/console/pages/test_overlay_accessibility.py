"""The palette, open menus and dialogs pass axe-core, in the light and in the dark theme."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import expect

from kubewright.cluster import Cluster
from kubewright.crd import install
from tests.console.axe.run import violations
from tests.console.conftest import OpenPage
from tests.console.gadgets import PATH, Gadget, gadget

pytestmark = pytest.mark.browser

# A best practice for the content of a page, which test_accessibility.py checks. An open menu is in no landmark.
REGION = "region:"


@pytest.mark.promise(
    "Lists and layout of the console",
    "The palette, open menus and dialogs pass axe-core without violations, in the light and in the dark theme.",
)
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_overlays_have_no_accessibility_violations(
    cluster: Cluster, cluster_namespace: str, console_url: str, open_page: OpenPage, theme: Any
) -> None:
    async with cluster.client() as client:
        await install(client, Gadget)
        await client.create(gadget("fruit", cluster_namespace))
    page = await open_page(color_scheme=theme, reduced_motion="reduce")
    found: list[str] = []
    await page.goto(f"{console_url}/objects/{PATH}/{cluster_namespace}/fruit")
    await expect(page.get_by_test_id("conditions").or_(page.get_by_test_id("actions")).first).to_be_visible()

    await page.keyboard.press("Control+k")
    await page.locator(".kw-palette-field").fill("fruit")
    await expect(page.locator(".kw-palette-item").first).to_be_visible()
    found += [f"palette: {one}" for one in await violations(page)]
    await page.keyboard.press("Escape")

    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    found += [f"shortcuts: {one}" for one in await violations(page)]
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_hidden()

    await page.get_by_test_id("actions").click()
    await expect(page.get_by_text("Copy as kubectl")).to_be_visible()
    found += [f"menu of actions: {one}" for one in await violations(page) if not one.startswith(REGION)]
    await page.get_by_text("Reconcile now", exact=True).click()
    await expect(page.get_by_test_id("action")).to_be_visible()
    found += [f"dialog of an action: {one}" for one in await violations(page)]
    await page.keyboard.press("Escape")
    await expect(page.get_by_test_id("action")).to_be_hidden()

    await page.get_by_test_id("actions").click()
    await page.get_by_text("Copy as kubectl").click()
    await expect(page.get_by_role("dialog", name="Copy as kubectl")).to_be_visible()
    found += [f"dialog of commands: {one}" for one in await violations(page)]
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog", name="Copy as kubectl")).to_be_hidden()

    await page.get_by_role("button", name="Signed in as").click()
    await expect(page.get_by_text("Sign out", exact=True)).to_be_visible()
    found += [f"menu of the account: {one}" for one in await violations(page) if not one.startswith(REGION)]
    assert not found, "\n".join(found)
