"""Forms that an operator declares on its kind, and the layout of the form of an existing object."""

from __future__ import annotations

import re
from typing import Literal

import msgspec
import pytest
from playwright.async_api import Page, expect

import kubewright as kw
from kubewright.api import ObjectMeta
from kubewright.client import Client, MergePatch
from kubewright.console import Console
from kubewright.crd import install
from tests.console.forms.test_creating import field, review
from tests.patience import until

pytestmark = [pytest.mark.browser, pytest.mark.clusters("embedded")]

PATH = "declared.example.com/ships"
COPY = "kubectl.kubernetes.io/last-applied-configuration"


class Hull(kw.Model):
    length: int = 10
    paint: str = ""


class ShipSpec(kw.Model):
    team: str
    version: Literal["9.6", "17", "16"]
    instances: int
    hull: Hull = msgspec.field(default_factory=Hull)
    note: str = ""


@kw.resource(
    "declared.example.com/v1",
    form=kw.Form(
        sections=[
            kw.FormSection("Ship", [".spec.team", ".spec.version", ".spec.instances"], "What sails."),
            kw.FormSection("Hull", [".spec.hull.paint"], collapsed=True),
        ],
        initial={".spec.instances": 2, ".spec.hull.paint": "red"},
        newest=[".spec.version"],
        labels={".spec.instances": "Number of ships"},
    ),
)
class Ship(kw.Resource[ShipSpec, None]):
    """A ship."""


@pytest.fixture
async def ships(client: Client, console: Console) -> None:
    await install(client, Ship)
    await until(lambda: console.kind(PATH))


@pytest.mark.promise("Forms of the console", "An operator declares sections, labels and initial values on its kind.")
async def test_new_object_starts_with_declared_values(
    client: Client, cluster_namespace: str, console_url: str, page: Page, ships: None
) -> None:
    await page.goto(f"{console_url}/kinds/{PATH}/new?namespace={cluster_namespace}")
    yaml = page.locator(".cm-content")
    await expect(yaml).to_contain_text("instances: 2")
    await expect(yaml).to_contain_text('version: "17"')
    await expect(yaml).to_contain_text("paint: red")
    ship = page.get_by_role("region", name="Ship", exact=True)
    await expect(ship).to_contain_text("What sails.")
    await expect(ship).to_contain_text("Number of ships *")
    await expect(field(page, "Number of ships (spec.instances)")).to_have_value("2")
    await expect(field(page, "spec.hull.paint")).to_be_hidden()  # its section is collapsed
    await page.get_by_role("region", name="Hull").get_by_role("button").first.click()
    await expect(field(page, "spec.hull.paint")).to_have_value("red")
    await expect(field(page, "spec.hull.paint")).to_have_count(1)  # fields of a section are not repeated
    others = page.get_by_role("region", name="Other fields")
    await others.get_by_role("button").first.click()
    await expect(field(page, "spec.note")).to_be_visible()
    await field(page, "metadata.name").fill("titanic")
    await field(page, "spec.team").fill("a")
    await review(page)
    await expect(page.get_by_test_id("place")).to_have_text(f"Create writes to namespace {cluster_namespace} of tests.")
    await page.get_by_role("button", name="Create", exact=True).click()
    await page.wait_for_url("**/titanic")
    made = await client.get(Ship, "titanic", cluster_namespace)
    assert (made.spec.version, made.spec.instances, made.spec.hull.paint) == ("17", 2, "red")


@pytest.mark.promise("Forms of the console", "Problems of a form are linked from the bar, which stays visible.")
async def test_edit_shows_spec_first_and_jumps_to_problems(
    client: Client, cluster_namespace: str, console_url: str, page: Page, ships: None
) -> None:
    spec = ShipSpec(team="a", version="16", instances=1)
    about = ObjectMeta(name="old", namespace=cluster_namespace, annotations={COPY: '{"a": 1}', "kept": "x"})
    await client.create(Ship(metadata=about, spec=spec))
    await page.goto(f"{console_url}/objects/{PATH}/{cluster_namespace}/old/edit")
    await expect(field(page, "spec.team")).to_be_visible()
    names = (
        await page.get_by_test_id("form")
        .get_by_role("region")
        .evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
    )
    assert names == ["Ship", "Hull", "Other fields", "Metadata"]
    await expect(field(page, "metadata.name")).to_be_hidden()
    await expect(page.locator(".cm-content")).to_contain_text("kept: x")
    await expect(page.locator(".cm-content")).not_to_contain_text("last-applied")

    await field(page, "metadata.labels").is_hidden()
    await field(page, "Number of ships (spec.instances)").fill("many")
    await expect(page.get_by_test_id("summary")).to_have_text("1 field needs attention")
    await page.evaluate("scrollTo(0, document.body.scrollHeight)")
    await page.get_by_test_id("jump").click()
    await expect(field(page, "Number of ships (spec.instances)")).to_be_focused()
    await field(page, "Number of ships (spec.instances)").fill("3")
    await expect(page.get_by_test_id("jump")).to_be_hidden()

    # A problem in a collapsed section: the section is expanded.
    text = await page.locator(".cm-content").inner_text()
    await page.locator(".cm-content").click()
    await page.keyboard.press("ControlOrMeta+a")
    await page.keyboard.insert_text(re.sub(r"kept: x", "'not a name!': x", text))
    await expect(page.get_by_test_id("summary")).to_have_text("1 field needs attention")
    await page.get_by_test_id("jump").click()
    await expect(field(page, "metadata.annotations[not a name!]")).to_be_focused()
    await page.locator(".cm-content").click()
    await page.keyboard.press("ControlOrMeta+a")
    await page.keyboard.insert_text(text)
    await expect(page.get_by_test_id("jump")).to_be_hidden()

    # A concurrent change is reported in the bar.
    await client.patch(Ship, "old", MergePatch({"spec": {"note": "theirs"}}), cluster_namespace)
    bar = page.get_by_test_id("bar")
    await expect(bar.get_by_test_id("news")).to_contain_text("This object was changed while you were editing it")
    await expect(bar.get_by_test_id("news")).to_be_in_viewport()
    diff = await review(page)
    await expect(diff).to_contain_text("instances: 3")
    await expect(diff).not_to_contain_text("last-applied")
    await page.get_by_role("button", name="Apply", exact=True).click()
    await page.wait_for_url("**/old")
    found = await client.get(Ship, "old", cluster_namespace)
    assert (found.spec.instances, found.spec.note) == (3, "theirs")
    assert found.metadata.annotations == {COPY: '{"a": 1}', "kept": "x"}
