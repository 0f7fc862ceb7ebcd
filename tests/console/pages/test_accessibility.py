"""Every page passes axe-core, in the light and in the dark theme, and fits a phone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import expect

from kubewright.cluster import Cluster
from kubewright.console import Console
from kubewright.console.operators import InProcess
from kubewright.operator import Running
from tests.console.axe.run import violations
from tests.console.conftest import OpenPage
from tests.console.stalls import PATH, operator_of, stall, stalls_defined
from tests.operator.conftest import settled

pytestmark = pytest.mark.browser


@pytest.fixture
def console_settings() -> dict[str, Any]:
    return {"only": [PATH, "core/pods", "core/configmaps", "apps/deployments"]}


@pytest.fixture
def namespace(cluster_namespace: str) -> str:
    return cluster_namespace


@pytest.fixture
async def running(cluster: Cluster, console: Console, namespace: str) -> AsyncIterator[Running]:
    client = cluster.client()
    await stalls_defined(client)
    async with client, operator_of([namespace]).running(client, install_crds=False) as made:
        operator = console.operators.add(InProcess(made))
        await settled(made, await client.create(stall("fruit", namespace)))
        await operator.query()
        yield made


def pages(namespace: str) -> dict[str, str]:
    """The path of each page, and the test id or text that shows that it is complete."""
    one = f"/objects/{PATH}/{namespace}/fruit"
    return {
        "/": f'[data-kind="{PATH}"] .kw-state',
        "/problems": "[data-testid=empty], [data-testid=problems]",
        f"/kinds/{PATH}?namespace={namespace}": ".ag-row a",
        f"/kinds/core/configmaps?namespace=nothing-{namespace}": "[data-testid=empty]",
        "/search?q=fruit": ".kw-kinds .kw-state",
        one: "[data-testid=conditions]",
        f"{one}?tab=timeline": "[data-testid=durations]",
        f"{one}?tab=events": "[data-testid=events], [data-testid=empty]",
        f"{one}?tab=logs": "[data-testid=log], [data-testid=empty]",
        f"{one}?tab=yaml": ".cm-line",
        f"{one}/edit": ".cm-line",
        f"{one}/delete": ".kw-title",
        f"/kinds/{PATH}/new?namespace={namespace}": ".cm-line",
        "/operator": "[data-testid=controllers] td",
        "/nothing/here": "[data-testid=problem]",
    }


@pytest.mark.promise(
    "Lists and layout of the console",
    "Every page passes axe-core without violations, in the light and in the dark theme.",
)
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_pages_have_no_accessibility_violations(
    running: Running, console_url: str, open_page: OpenPage, namespace: str, theme: Any
) -> None:
    page = await open_page(color_scheme=theme, reduced_motion="reduce")
    found: list[str] = []
    for path, complete in pages(namespace).items():
        await page.goto(console_url + path)
        await expect(page.locator(complete).first).to_be_visible()
        await expect(page.locator("html")).to_have_attribute("lang", "en-US")
        found += [f"{path} {one}" for one in await violations(page)]
    assert not found, "\n".join(found)


async def test_sign_in_page_has_no_accessibility_violations(console_url: str, open_page: OpenPage) -> None:
    page = await open_page(signed_in=False)
    await page.goto(console_url)
    await expect(page.get_by_label("Bearer token")).to_be_visible()
    assert await violations(page) == []


@pytest.mark.promise("Lists and layout of the console", "No page is wider than a phone of 360 pixels.")
async def test_pages_fit_a_phone(running: Running, console_url: str, open_page: OpenPage, namespace: str) -> None:
    page = await open_page(viewport={"width": 360, "height": 740})
    wide: dict[str, Any] = {}
    for path, complete in pages(namespace).items():
        await page.goto(console_url + path)
        await expect(page.locator(complete).first).to_be_attached()
        width = await page.evaluate("document.documentElement.scrollWidth")
        if width > 360:
            wide[path] = width
    assert wide == {}
