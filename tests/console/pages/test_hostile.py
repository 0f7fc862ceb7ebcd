"""Content of a cluster is untrusted: it is shown as text and never runs."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.async_api import Page, expect

import kubewright as kw
from kubewright import console
from kubewright.api import ObjectMeta
from kubewright.crd import install
from tests.console.gadgets import AnyCluster

IMAGE = "<img src=x onerror=window.pwned=1>"
SCRIPT = '"><script>window.pwned=2</script>'
VUE = "{{constructor.constructor('window.pwned=3')()}}"
LINK = "javascript:window.pwned=4"
DIRECTION = "\u202egnp.exe\u202c"
TERMINAL = "\x1b[31mred\x1b[0m"
LONG = "x" * 5_000
HOSTILE = (IMAGE, SCRIPT, VUE, LINK, DIRECTION, TERMINAL, LONG)
PATH = "hostile.console.example.com/mirrors"


class MirrorSpec(kw.Model):
    text: str = ""
    where: str = ""


class Said(kw.Model):
    type: str
    status: str
    reason: str = ""


class MirrorStatus(kw.Model):
    phase: str = ""
    conditions: list[Said] | None = None


@kw.resource(
    "hostile.console.example.com/v1",
    columns={
        IMAGE: kw.Column(".spec.text", description=SCRIPT),
        VUE: kw.Column(".spec.where", description=IMAGE),
        SCRIPT: ".status.phase",
    },
)
class Mirror(kw.Resource[MirrorSpec, MirrorStatus]):
    """A mirror <img src=x onerror=window.pwned=5> of {{constructor}} whatever is said."""


@pytest.fixture
def console_settings() -> dict[str, Any]:
    return {"only": [PATH], "name": IMAGE}


async def unharmed(page: Page) -> None:
    """Asserts that no content was executed or became an element."""
    assert await page.evaluate("window.pwned") is None
    await expect(page.locator("img[src='x']")).to_have_count(0)
    await expect(page.locator("a[href^='javascript:']")).to_have_count(0)
    assert await page.evaluate("[...document.scripts].every(one => !one.textContent.startsWith('window.pwned'))")


@pytest.mark.promise(
    "Lists and layout of the console",
    "Content of the cluster and of URLs is shown as text and never runs.",
)
@pytest.mark.browser
@pytest.mark.clusters
async def test_lists_show_hostile_content_as_text(
    cluster: AnyCluster, cluster_namespace: str, console_url: str, page: Page
) -> None:
    async with cluster.client() as client:
        await install(client, Mirror)
        for at, text in enumerate(HOSTILE):
            about = ObjectMeta(name=f"mirror-{at}", namespace=cluster_namespace, annotations={"said": text})
            made = await client.create(Mirror(metadata=about, spec=MirrorSpec(text=text, where=text)))
            made.status.phase = text
            if at == 0:
                made.status.conditions = [Said(type="Ready", status="False", reason=f"failed{SCRIPT}")]
            await client.update_status(made)
        await page.goto(f"{console_url}/kinds/{PATH}?namespace={cluster_namespace}&sort=name")
        await client.create(Mirror(metadata=ObjectMeta(name="z" * 253, namespace=cluster_namespace), spec=MirrorSpec()))
        long = page.get_by_role("link", name="z" * 253)
        await expect(long).to_be_visible()
        assert await long.evaluate(
            "one => one.getBoundingClientRect().right <= one.closest('.ag-cell').getBoundingClientRect().right"
        ), "it stays in its cell"
        for at, text in enumerate(HOSTILE[:4]):
            row = page.locator(f'.ag-row[row-id="{cluster_namespace}/mirror-{at}"]')
            for column in ("c0", "c1", "c2"):
                await expect(row.locator(f'[col-id="{column}"]')).to_have_text(text)
            await row.locator('[col-id="c0"]').hover()
            await row.locator('[col-id="state"]').hover()
        await expect(page.locator('.ag-header-cell[col-id="c0"]')).to_have_text(IMAGE)
        await expect(page.locator('.ag-header-cell[col-id="c1"]')).to_have_text(VUE)
        await expect(page.locator('.ag-header-cell[col-id="c2"]')).to_have_text(SCRIPT)
        await page.locator('.ag-header-cell[col-id="c0"]').hover()
        await expect(page.locator(".kw-header .kw-context")).to_have_text(IMAGE)
        await unharmed(page)

        # It changes while the page is open.
        made = await client.get(Mirror, "mirror-6", cluster_namespace)
        made.spec.text = SCRIPT + VUE
        await client.update(made)
        row = page.locator(f'.ag-row[row-id="{cluster_namespace}/mirror-6"]')
        await expect(row.locator('[col-id="c0"]')).to_have_text(SCRIPT + VUE)
        await unharmed(page)

        await page.goto(f"{console_url}/?namespace={cluster_namespace}")
        await expect(page.locator(f'[data-kind="{PATH}"]').get_by_text("1 failing")).to_be_visible()
        await unharmed(page)


@pytest.mark.promise(
    "Lists and layout of the console",
    "Content of the cluster and of URLs is shown as text and never runs.",
)
@pytest.mark.browser
@pytest.mark.parametrize("text", [IMAGE + VUE, SCRIPT + LINK, "</script><script>window.pwned=7//`${window.pwned=6}`"])
async def test_pages_show_hostile_urls_as_text(console_url: str, page: Page, text: str) -> None:
    said = quote(text, safe="")
    await page.goto(f"{console_url}/search?q={said}")
    await expect(page.get_by_role("heading", level=1)).to_have_text(f"Search: {text}")
    await expect(page).to_have_title(f"Search: {text} · Kubewright")
    await unharmed(page)
    await page.goto(f"{console_url}/kinds/{said}/{said}")
    await expect(page.get_by_test_id("problem")).to_contain_text("no kind" if "/" not in text else "Page not found")
    await unharmed(page)
    await page.goto(f"{console_url}/?namespace={said}")
    await expect(page.get_by_text(f"Custom resources in namespace {text}")).to_be_visible()
    await unharmed(page)


# Most such bugs are visible in the source of a page.

FORBIDDEN_CALLS = {"html", "markdown", "add_head_html", "add_body_html", "interactive_image", "mermaid", "chat_message"}
CONSTANTS_ONLY = {"props", "style", "run_javascript", "add_slot", "default_props"}
SOURCES = sorted(Path(console.__file__).parent.rglob("*.py"))


def faults(source: Path) -> list[str]:
    """Yields calls that could turn text into markup or code."""
    found = []
    for node in ast.walk(ast.parse(source.read_text())):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name = node.func.attr
        of_ui = isinstance(node.func.value, ast.Name) and node.func.value.id == "ui"
        if of_ui and name in FORBIDDEN_CALLS:
            found.append(f"{source.name}:{node.lineno}: ui.{name}")
        if name in CONSTANTS_ONLY:
            found += [
                f"{source.name}:{node.lineno}: .{name}() with text put together: give values as items"
                for argument in node.args
                for part in ast.walk(argument)
                if isinstance(part, ast.FormattedValue)
            ]
    return found


@pytest.mark.promise(
    "Lists and layout of the console",
    "Content of the cluster and of URLs is shown as text and never runs.",
)
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: "-".join(source.parts[-2:]))
def test_no_source_turns_text_into_markup_or_code(source: Path) -> None:
    assert faults(source) == []
