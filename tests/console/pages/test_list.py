"""The live list of one kind."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from urllib.parse import quote

import pytest
from playwright.async_api import Locator, Page, expect

from kubewright.api import ObjectMeta, apps, core, meta
from kubewright.api.apiextensions import v1 as apiextensions
from kubewright.api.apiextensions.v1 import CustomResourceDefinition
from kubewright.api.core.v1 import Namespace
from kubewright.client import Client
from kubewright.console import Console
from kubewright.crd import install
from tests.console.gadgets import PATH, AnyCluster, Gadget, gadget, set_phase

pytestmark = [pytest.mark.browser, pytest.mark.clusters]


@pytest.fixture
async def client(cluster: AnyCluster) -> AsyncIterator[Client]:
    async with cluster.client() as made:
        await install(made, Gadget)
        yield made


def cell(page: Page, row: str, column: str) -> Locator:
    return page.locator(f'.ag-row[row-id="{row}"] .ag-cell[col-id="{column}"]')


def names(page: Page) -> Locator:
    return page.locator('.ag-center-cols-container .ag-cell[col-id="name"]')


@pytest.mark.promise(
    "Lists and layout of the console",
    "A list follows the cluster: rows appear, change and disappear, and the selection is kept.",
)
async def test_list_follows_the_cluster(client: Client, cluster_namespace: str, console_url: str, page: Page) -> None:
    home = cluster_namespace
    first = await client.create(gadget("first", home, 3))
    await page.goto(f"{console_url}/kinds/{PATH}?namespace={home}")
    await expect(page).to_have_title("Gadget · Kubewright")
    await expect(cell(page, f"{home}/first", "c0")).to_have_text("3")
    await expect(cell(page, f"{home}/first", "state")).to_contain_text("unknown")
    await cell(page, f"{home}/first", "c0").click()
    await expect(page.get_by_text("1 object · 1 selected")).to_be_visible()

    age = await cell(page, f"{home}/first", "age").inner_text()
    await expect(cell(page, f"{home}/first", "age")).not_to_have_text(age)  # the age is updated

    await page.evaluate("""() => new MutationObserver(changes => {
        for (const one of changes) if (one.target.classList.contains("ag-cell-data-changed")) window.marked = true;
    }).observe(document.body, { subtree: true, attributes: true, attributeFilter: ["class"] })""")
    await client.create(gadget("second", home, 5))
    await expect(cell(page, f"{home}/second", "c0")).to_have_text("5")
    first.spec.size = 4
    first = await client.update(first)
    await expect(cell(page, f"{home}/first", "c0")).to_have_text("4")
    assert await page.evaluate("window.marked")
    await set_phase(client, first, "Pending")
    await expect(cell(page, f"{home}/first", "state")).to_contain_text("progressing")
    await expect(page.get_by_text("2 objects · 1 selected")).to_be_visible()  # updates keep the selection
    await client.delete(Gadget, "second", home)
    await expect(page.locator(f'.ag-row[row-id="{home}/second"]')).to_have_count(0)
    await expect(page.get_by_text("1 object · 1 selected")).to_be_visible()


@pytest.mark.promise(
    "Lists and layout of the console",
    "The URL of a list contains filter, labels, order and namespace; sharing it and going back work.",
)
async def test_url_describes_the_view(client: Client, cluster_namespace: str, console_url: str, page: Page) -> None:
    for size, name in enumerate(["apple-fruit", "pear-fruit", "plum-tree"]):
        await client.create(gadget(name, cluster_namespace, size, kind="stone" if name == "plum-tree" else "core"))
    await page.goto(f"{console_url}/kinds/{PATH}?namespace={cluster_namespace}")
    await expect(names(page)).to_have_text(["apple-fruit", "pear-fruit", "plum-tree"])

    header = page.get_by_role("columnheader", name="Size")
    await header.click()
    await header.click()
    await expect(names(page)).to_have_text(["plum-tree", "pear-fruit", "apple-fruit"])
    await page.get_by_label("Filter rows").fill("fruit red")
    await expect(names(page)).to_have_text(["pear-fruit", "apple-fruit"])
    await page.get_by_label("Label selector").fill("kind=core")
    await page.get_by_label("Label selector").press("Enter")
    await expect(page).to_have_url(
        f"{console_url}/kinds/{PATH}?namespace={cluster_namespace}&filter=fruit%20red&labels=kind%3Dcore&sort=-c0"
    )
    await expect(page.get_by_text("2 objects", exact=True)).to_be_visible()

    await page.reload()  # the same URL shows the same view
    await expect(names(page)).to_have_text(["pear-fruit", "apple-fruit"])
    await expect(page.get_by_label("Filter rows")).to_have_value("fruit red")
    await page.go_back()  # before the selector was set
    await expect(page.get_by_text("2 of 3 objects")).to_be_visible()

    await page.get_by_label("Label selector").fill("kind in (")
    await page.get_by_label("Label selector").press("Enter")
    await expect(page.get_by_text(re.compile("expected|unexpected|ends|at character", re.I)).first).to_be_visible()
    await expect(page.get_by_text("2 of 3 objects")).to_be_visible()


@pytest.mark.promise(
    "Lists and layout of the console",
    "The URL of a list contains filter, labels, order and namespace; sharing it and going back work.",
)
@pytest.mark.clusters("embedded")
async def test_selects_namespace(
    client: Client, cluster_namespace: str, console_url: str, page: Page, console: Console
) -> None:
    other = f"{cluster_namespace}-other"
    await client.create(Namespace(metadata=ObjectMeta(name=other)))
    await client.create(gadget("here", cluster_namespace))
    await client.create(gadget("there", other))
    await page.goto(f"{console_url}/kinds/{PATH}?namespace={cluster_namespace}")
    await expect(names(page)).to_have_text(["here"])
    field = page.get_by_label("Namespace", exact=True).locator("visible=true")
    await field.fill(other)
    await page.get_by_role("option", name=other).click()
    await expect(names(page)).to_have_text(["there"])
    await expect(page).to_have_url(f"{console_url}/kinds/{PATH}?namespace={other}")
    await page.go_back()
    await expect(names(page)).to_have_text(["here"])
    await client.delete(Namespace, other)


@pytest.mark.promise(
    "Lists and layout of the console",
    "Empty lists, missing kinds and denied access explain what to do.",
)
@pytest.mark.clusters("embedded")
async def test_empty_list_explains_what_to_do(
    client: Client, cluster_namespace: str, console_url: str, page: Page
) -> None:
    await page.goto(f"{console_url}/kinds/{PATH}?namespace={cluster_namespace}")
    empty = page.get_by_test_id("empty")
    await expect(empty).to_contain_text(f"No Gadget in namespace {cluster_namespace} yet")
    await expect(empty).to_contain_text("kubectl apply -f gadget.yaml")
    await expect(empty.get_by_role("link", name="New Gadget")).to_have_attribute(
        "href", f"/kinds/{PATH}/new?namespace={cluster_namespace}"
    )
    await client.create(gadget("first", cluster_namespace))
    await expect(names(page)).to_have_text(["first"])
    await expect(empty).to_have_count(0)


@pytest.mark.promise(
    "Lists and layout of the console",
    "A list follows its definition: changed columns are shown, and a removed kind is reported.",
)
@pytest.mark.clusters("embedded")
async def test_list_follows_changed_or_removed_definition(
    client: Client, cluster_namespace: str, console_url: str, page: Page
) -> None:
    await client.create(gadget("last", cluster_namespace))
    await page.goto(f"{console_url}/kinds/{PATH}")
    await expect(names(page)).to_have_text(["last"])
    definition = await client.get(CustomResourceDefinition, "gadgets.lists.console.example.com")
    definition.spec.versions[0].additional_printer_columns = [
        apiextensions.CustomResourceColumnDefinition(name="Bigness", type="integer", json_path=".spec.size")
    ]
    await client.update(definition)
    await expect(page.get_by_role("columnheader", name="Bigness")).to_be_visible()
    await expect(page.get_by_role("columnheader", name="Color")).to_have_count(0)
    await client.delete(CustomResourceDefinition, "gadgets.lists.console.example.com")
    await expect(page.get_by_test_id("problem")).to_contain_text(f"This cluster has no kind {PATH}")
    await install(client, Gadget)
    await expect(page.get_by_test_id("empty")).to_contain_text("No Gadget yet")


@pytest.mark.clusters("embedded")
async def test_rows_link_to_objects(client: Client, cluster_namespace: str, console_url: str, page: Page) -> None:
    await client.create(gadget("first", cluster_namespace))
    await page.goto(f"{console_url}/kinds/{PATH}")
    link = page.get_by_role("link", name="first")
    address = f"/objects/{PATH}/{cluster_namespace}/first"
    await expect(link).to_have_attribute("href", address)
    async with page.context.expect_page() as opening:
        await link.click(modifiers=["ControlOrMeta"])
    tab = await opening.value
    await expect(tab).to_have_url(console_url + address)
    await link.click()
    await expect(page).to_have_url(console_url + address)


@pytest.mark.clusters("embedded")
async def test_shows_wide_columns_on_request(client: Client, console_url: str, page: Page) -> None:
    labels = {"app": "web"}
    pods = core.PodTemplateSpec(
        metadata=ObjectMeta(labels=labels), spec=core.PodSpec(containers=[core.Container(name="web", image="web:1")])
    )
    spec = apps.DeploymentSpec(selector=meta.LabelSelector(match_labels=labels), template=pods)
    await client.create(apps.Deployment(metadata=ObjectMeta(name="web"), spec=spec))
    await page.goto(f"{console_url}/kinds/apps/deployments")
    await expect(names(page)).to_have_text(["web"])
    images = page.get_by_role("columnheader", name="Images")
    await expect(images).to_have_count(0)
    await page.get_by_role("switch", name="All columns").click()
    await expect(images).to_be_visible()
    await expect(page).to_have_url(f"{console_url}/kinds/apps/deployments?wide=1")


@pytest.mark.promise(
    "Lists and layout of the console",
    "Empty lists, missing kinds and denied access explain what to do.",
)
@pytest.mark.clusters("embedded")
async def test_missing_kind_page_suggests_similar_ones(client: Client, console_url: str, page: Page) -> None:
    await page.goto(f"{console_url}/kinds/lists.console.example.com/gadgts")
    problem = page.get_by_test_id("problem")
    await expect(problem).to_contain_text("This cluster has no kind lists.console.example.com/gadgts")
    await problem.get_by_role("link", name="Gadget.lists.console.example.com").click()
    await expect(page.get_by_role("heading", name="Gadget")).to_be_visible()

    await page.goto(f"{console_url}/kinds/gdgt")  # a short path
    await expect(page).to_have_url(f"{console_url}/kinds/{PATH}")
    await page.goto(f"{console_url}/no/such/page")
    await expect(page.get_by_test_id("problem")).to_contain_text("The console has no page at /no/such/page.")


@pytest.mark.clusters("embedded")
async def test_search_finds_kinds_and_objects_by_name(
    client: Client, cluster_namespace: str, console_url: str, page: Page
) -> None:
    await client.create(gadget("needle-in-the-stack", cluster_namespace))
    await page.goto(console_url)
    await expect(page.locator(f'[data-kind="{PATH}"]')).to_be_visible()
    field = page.get_by_label("Search kinds and objects")
    await field.fill("gdgt")
    await field.press("Enter")
    await expect(page).to_have_url(f"{console_url}/kinds/{PATH}")
    await page.get_by_label("Search kinds and objects").fill("needle")
    await page.get_by_label("Search kinds and objects").press("Enter")
    await expect(page).to_have_url(f"{console_url}/search?q={quote('needle')}")
    await expect(page.get_by_role("link", name="needle-in-the-stack")).to_have_attribute(
        "href", f"/objects/{PATH}/{cluster_namespace}/needle-in-the-stack"
    )
