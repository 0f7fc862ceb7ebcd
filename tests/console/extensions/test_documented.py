"""The example of docs/extend-console.md in a browser."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.async_api import Page, expect

from kubewright.api import ObjectMeta
from kubewright.client import Client
from kubewright.console import ActionContext, Console, Extension, ExtensionPage, Needs, Viewer
from kubewright.console.extensions import load_extension
from kubewright.crd import install
from tests.console.axe.run import violations
from tests.console.conftest import OpenPage
from tests.console.gadgets import AnyCluster
from tests.patience import until

pytestmark = pytest.mark.browser

DOCS = Path(__file__).parents[3] / "docs" / "extend-console.md"
PATH = "lamps.example.com/lamps"


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The two files of the page, as modules."""
    folder = tmp_path_factory.mktemp("lamps")
    blocks = re.findall(r"in `(lamps\w*\.py)`:\n\n```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert [name for name, _ in blocks] == ["lamps.py", "lamps_ui.py"]
    for name, code in blocks:
        (folder / name).write_text(code)
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("lamps")
    finally:
        sys.path.remove(str(folder))
        for name in ("lamps", "lamps_ui"):
            sys.modules.pop(name, None)


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    """A cluster that enforces roles."""
    return {"rbac": True}


@pytest.fixture
async def client(cluster: AnyCluster, modules: Any) -> AsyncIterator[Client]:
    async with cluster.client() as made:
        await install(made, modules.Lamp)
        yield made


def failing(lamp: Any) -> Extension:
    """An extension whose pages and actions fail."""
    extension = Extension("broken", title="Broken")

    @extension.page("dark", title="Dark", needs=[Needs("list", lamp)])
    async def dark(page: ExtensionPage) -> None:
        raise RuntimeError("no light, Bearer abcdefghijkl")

    @extension.page("switch", title="Switch")
    async def switch(page: ExtensionPage) -> None:
        from nicegui import ui

        from kubewright.console.pages.widgets import heading

        def press() -> None:
            raise KeyError("fuse")

        heading("Switch")
        ui.button("Press", on_click=press)
        ui.label(f"at {page.path}")

    @extension.action(lamp, "smash", title="Smash", type_name=True, needs="delete")
    async def smash(action: ActionContext[Any]) -> None:
        raise ValueError("it is made of steel")

    @extension.action(lamp, "never", title="Never", when=lambda one: one.spec.watts > 1000)
    async def never(action: ActionContext[Any]) -> None: ...

    return extension


@pytest.fixture
def console_settings(modules: Any) -> dict[str, Any]:
    [name] = modules.operator.console_extensions
    return {"extensions": [load_extension(name), failing(modules.Lamp)]}


@pytest.fixture
async def lamp(client: Client, console: Console, cluster_namespace: str, modules: Any) -> Any:
    await until(lambda: console.kind(PATH))
    spec = modules.LampSpec(room="Kitchen", socket="E27", watts=60)
    about = ObjectMeta(name="ceiling", namespace=cluster_namespace)
    return await client.create(modules.Lamp(metadata=about, spec=spec))


@pytest.mark.promise(
    "Objects and operators in the console",
    "Operator authors add pages and actions, which act with the credentials of the viewer.",
)
async def test_documented_extension(
    client: Client, console_url: str, page: Page, cluster_namespace: str, lamp: Any, modules: Any
) -> None:
    await page.goto(console_url)
    await page.get_by_role("navigation", name="Pages").get_by_text("Rooms").click()
    await expect(page.get_by_role("heading", name="Rooms")).to_be_visible()
    await expect(page.get_by_role("link", name="Kitchen: ceiling")).to_be_visible()
    other = modules.Lamp(
        metadata=ObjectMeta(name="desk", namespace=cluster_namespace),
        spec=modules.LampSpec(room="Office", socket="E14", watts=5),
    )
    await client.create(other)
    await expect(page.get_by_role("link", name="Office: desk")).to_be_visible()  # live
    assert await violations(page) == []
    await page.get_by_role("link", name="Kitchen: ceiling").click()

    await page.get_by_test_id("actions").click()
    await expect(page.get_by_text("Never", exact=True)).to_have_count(0)
    await page.get_by_text("Dim", exact=True).click()
    dialog = page.get_by_test_id("action")
    await expect(dialog).to_contain_text("Halves its power.")
    await dialog.get_by_role("button", name="Dim").click()
    await expect(dialog.get_by_test_id("action-result")).to_have_text("It now has 30 watts.")
    assert (await client.get(modules.Lamp, "ceiling", cluster_namespace)).spec.watts == 30
    assert await violations(page) == []

    # A copy: the form has the fields of the other object, and its declared labels.
    await page.goto(f"{console_url}/kinds/{PATH}/new?namespace={cluster_namespace}&copy={cluster_namespace}/ceiling")
    await expect(page.get_by_label("Power in watts (spec.watts)", exact=True)).to_have_value("30")
    await expect(page.get_by_label("metadata.name", exact=True)).to_have_value("")
    copied = page.url
    for values, watts in (('{"spec":{"watts":31}}', "31"), ("[1]", "30"), ('{"spec"', "30"), ('{"kind":"Pod"}', "30")):
        await page.goto(f"{copied}&values={quote(values)}")  # replaces fields of the copy, and ignores invalid values
        await expect(page.get_by_label("Power in watts (spec.watts)", exact=True)).to_have_value(watts)
        await expect(page.get_by_role("heading", name="New Lamp")).to_be_visible()


@pytest.mark.promise(
    "Objects and operators in the console",
    "An extension that raises shows its error on its page, and affects no other page.",
)
async def test_failing_extension_shows_its_error(
    console_url: str, page: Page, cluster_namespace: str, lamp: Any
) -> None:
    await page.goto(f"{console_url}/extensions/broken/dark")
    problem = page.get_by_test_id("problem")
    await expect(problem).to_contain_text("Page dark of extension broken failed")
    await expect(problem).to_contain_text("RuntimeError: no light, Bearer (withheld)")
    await page.goto(f"{console_url}/extensions/broken/switch/left/one")
    await page.get_by_role("button", name="Press").click()
    await expect(page.get_by_test_id("extension-error")).to_contain_text("KeyError: 'fuse'")
    await expect(page.get_by_text("at left/one")).to_be_visible()
    assert await violations(page) == []
    await page.goto(f"{console_url}/extensions/broken/nothing")
    await expect(problem).to_contain_text("Page not found")

    await page.goto(f"{console_url}/objects/{PATH}/{cluster_namespace}/ceiling")
    await page.get_by_test_id("actions").click()
    await page.get_by_text("Smash", exact=True).click()
    dialog = page.get_by_test_id("action")
    button = dialog.get_by_role("button", name="Smash")
    await expect(button).to_be_disabled()
    await dialog.get_by_label("Name of the object").fill("ceiling")
    await button.click()
    await expect(dialog.get_by_test_id("action-result")).to_contain_text("ValueError: it is made of steel")
    await page.goto(console_url)
    await expect(page.get_by_role("heading", name="Kinds")).to_be_visible()


async def test_viewer_without_permission_sees_missing_verb(
    cluster: AnyCluster, console: Console, console_url: str, open_page: OpenPage, cluster_namespace: str, lamp: Any
) -> None:
    async with cluster.client_as("stranger") as limited:
        _, secret = console.sessions.begin(Viewer("stranger", limited, namespaces=console.all_namespaces))
        page = await open_page(signed_in=False)
        port = console_url.rpartition(":")[2]
        await page.context.add_cookies([{"name": f"kubewright-{port}", "value": secret, "url": console_url}])
        await page.goto(f"{console_url}/extensions/lamps/rooms")
        problem = page.get_by_test_id("problem")
        await expect(problem).to_contain_text("You may not list lamps.lamps.example.com")
        await page.close()
