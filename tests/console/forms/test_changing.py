"""Existing objects in a browser: changed, in conflict, deleted."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page, expect

from kubewright.api import ObjectMeta, OwnerReference, Untyped, core, from_dict, to_dict
from kubewright.client import Client, MergePatch
from kubewright.console import Console
from tests.console.forms.conftest import SignIn
from tests.console.forms.kinds import GROUP, an_object
from tests.console.forms.test_creating import field, problem, review, write
from tests.console.screenshots import shoot

pytestmark = [pytest.mark.browser, pytest.mark.clusters]


def address(url: str, namespace: str, name: str, page: str = "edit") -> str:
    return f"{url}/objects/{GROUP}/everythings/{namespace}/{name}/{page}"


async def open_edit(page: Page, url: str, namespace: str, name: str) -> None:
    await page.goto(address(url, namespace, name))
    await expect(field(page, "spec.title")).to_be_visible()


async def spec_of(client: Client, kind: type[Untyped], name: str, namespace: str) -> dict[str, Any]:
    found: dict[str, Any] = to_dict(await client.get(kind, name, namespace))["spec"]
    return found


@pytest.mark.promise(
    "Forms of the console",
    "Nothing is written before a server-side dry run has shown the changes, including those of the server.",
)
async def test_shows_change_before_writing(
    client: Client, cluster_namespace: str, console_url: str, page: Page, everything: type[Untyped]
) -> None:
    home = cluster_namespace
    body = an_object("change", home, fixed="for good", note=None, ports=[{"name": "a"}, {"name": "b", "number": 2}])
    await client.create(from_dict(everything, body))
    await open_edit(page, console_url, home, "change")
    await expect(field(page, "metadata.name")).to_be_disabled()
    await expect(field(page, "spec.fixed")).to_be_disabled()  # a rule makes it immutable
    await field(page, "spec.ports[1].number").fill("443")
    await field(page, "spec.color").click()
    await page.get_by_role("option", name="not set").click()  # removes the field: the default returns
    await field(page, "spec.reason").fill("because")
    diff = await review(page)
    await expect(diff.locator(".kw-diff-removed")).to_have_text([re_line("number: 2")])
    await expect(diff.locator(".kw-diff-added")).to_have_text([re_line("number: 443"), re_line("reason: because")])
    await expect(page.get_by_test_id("conflict")).to_have_count(0)  # a one-time command does not conflict
    await page.get_by_role("button", name="Apply", exact=True).click()
    await page.wait_for_url(f"**/{home}/change")
    assert await spec_of(client, everything, "change", home) == {
        **body["spec"],
        "ports": [{"name": "a"}, {"name": "b", "number": 443}],
        "reason": "because",
        "enabled": True,
        "color": "green",
    }


def re_line(text: str) -> Any:
    import re

    return re.compile(re.escape(text))


@pytest.mark.clusters("embedded")
async def test_shows_transition_rule_at_its_field(
    client: Client, cluster_namespace: str, console_url: str, page: Page, everything: type[Untyped]
) -> None:
    await client.create(from_dict(everything, an_object("fixed", cluster_namespace, fixed="a")))
    await open_edit(page, console_url, cluster_namespace, "fixed")
    text = await page.locator(".cm-content").inner_text()
    await write(page, text.replace("fixed: a", "fixed: b"))
    await expect(problem(page, "spec.fixed")).to_have_text("is fixed for good")


@pytest.mark.promise(
    "Forms of the console",
    "Other owners of a field are shown before it is taken over, which requires confirmation.",
)
async def test_shows_field_owners_and_asks_before_taking_over(
    client: Client, cluster_namespace: str, console_url: str, page: Page, everything: type[Untyped]
) -> None:
    home = cluster_namespace
    await client.apply(from_dict(everything, an_object("fought", home, size=2)), field_manager="gitops")
    await open_edit(page, console_url, home, "fought")
    await field(page, "spec.size").fill("4")
    await review(page)
    conflict = page.get_by_test_id("conflict")
    await expect(conflict).to_contain_text("spec.size: applied by gitops at 20")
    apply = page.get_by_role("button", name="Apply", exact=True)
    await expect(apply).to_be_disabled()
    await shoot(page, "conflict")
    await page.get_by_role("checkbox", name="Take over these fields").click()
    await apply.click()
    await page.wait_for_url(f"**/{home}/fought")
    made = to_dict(await client.get(everything, "fought", home))
    assert made["spec"]["size"] == 4
    owners = {
        entry["manager"]: "f:size" in entry["fieldsV1"].get("f:spec", {}) for entry in made["metadata"]["managedFields"]
    }
    assert owners == {"gitops": False, "kubewright-console": True}


@pytest.mark.promise("Forms of the console", "A form never overwrites a change that its user has not seen.")
async def test_never_loses_concurrent_changes(
    client: Client, cluster_namespace: str, console_url: str, page: Page, everything: type[Untyped]
) -> None:
    home = cluster_namespace
    await client.create(from_dict(everything, an_object("shared", home)))
    await open_edit(page, console_url, home, "shared")
    await field(page, "spec.size").fill("2")
    await client.patch(everything, "shared", MergePatch({"spec": {"reason": "theirs"}}), home)
    news = page.get_by_test_id("news")
    await expect(news).to_contain_text("spec.reason")
    await news.get_by_role("button", name="Merge changes").click()
    await expect(field(page, "spec.reason")).to_have_value("theirs")
    await expect(field(page, "spec.size")).to_have_value("2")

    await review(page)
    await client.patch(everything, "shared", MergePatch({"spec": {"size": 5}}), home)  # after the review
    await page.get_by_role("button", name="Apply", exact=True).click()
    await expect(page.get_by_test_id("notice")).to_contain_text("The object changed after your review")
    assert (await spec_of(client, everything, "shared", home))["size"] == 5  # nothing was overwritten
    diff = await review(page)
    await expect(diff).to_contain_text("size: 5")
    await page.get_by_role("button", name="Apply", exact=True).click()
    await page.wait_for_url(f"**/{home}/shared")
    found = await spec_of(client, everything, "shared", home)
    assert (found["size"], found["reason"]) == (2, "theirs")


@pytest.mark.promise(
    "Forms of the console",
    "Deleting asks for the name, shows dependents, and names the finalizers that block it.",
)
async def test_delete_asks_for_the_name_and_shows_dependents(
    client: Client, cluster_namespace: str, console_url: str, page: Page, everything: type[Untyped]
) -> None:
    home = cluster_namespace
    body = an_object("doomed", home)
    body["metadata"]["finalizers"] = ["forms.example.com/keep"]
    made = await client.create(from_dict(everything, body))
    owner = OwnerReference(api_version=f"{GROUP}/v1", kind="Everything", name="doomed", uid=made.metadata.uid)
    for name in ("settings-a", "settings-b"):
        metadata = ObjectMeta(name=name, namespace=home, owner_references=[owner])
        await client.create(core.ConfigMap(metadata=metadata))
    await page.goto(address(console_url, home, "doomed", "delete"))
    await expect(page.get_by_test_id("owned")).to_have_text("Objects that it owns, as far as you may see: 2 ConfigMap.")
    await expect(page.get_by_role("link", name="ConfigMap settings-a")).to_be_visible()
    await expect(page.get_by_test_id("finalizers")).to_contain_text("forms.example.com/keep")
    button = page.get_by_role("button", name="Delete", exact=True)
    name_field = page.get_by_label("Name of the object to delete")
    await expect(button).to_be_disabled()
    await name_field.fill("doome")
    await expect(button).to_be_disabled()
    await shoot(page, "delete")
    await name_field.fill("doomed")
    await button.click()
    await expect(page.get_by_test_id("terminating")).to_contain_text("Waiting for forms.example.com/keep")
    await client.patch(everything, "doomed", MergePatch({"metadata": {"finalizers": None}}), home)
    await expect(page.get_by_test_id("gone")).to_have_text("doomed was deleted.")
    assert await client.find(everything, "doomed", home) is None


@pytest.mark.clusters("embedded")
async def test_rejects_deleting_a_recreated_object(
    client: Client, cluster_namespace: str, console_url: str, page: Page, everything: type[Untyped]
) -> None:
    home = cluster_namespace
    await client.create(from_dict(everything, an_object("again", home)))
    await page.goto(address(console_url, home, "again", "delete"))
    await page.get_by_label("Name of the object to delete").fill("again")
    await expect(page.get_by_role("button", name="Delete", exact=True)).to_be_enabled()
    await client.delete(everything, "again", home)
    await expect(page.get_by_test_id("gone")).to_be_visible()  # deleted by another client


@pytest.mark.promise(
    "Forms of the console",
    "Users without permission to create, change or delete see the missing verb and are rejected.",
)
async def test_names_missing_verbs_for_change_and_delete(
    client: Client, cluster_namespace: str, console_url: str, everything: type[Untyped], signed_in_as: SignIn
) -> None:
    await client.create(from_dict(everything, an_object("guarded", cluster_namespace)))
    page = await signed_in_as(f"looker-{cluster_namespace}", ["get", "list", "watch"])
    await open_edit(page, console_url, cluster_namespace, "guarded")
    await expect(page.get_by_role("button", name="Review and")).to_be_disabled()
    await expect(page.get_by_test_id("reason")).to_contain_text("you need the verb “patch”")
    await page.goto(address(console_url, cluster_namespace, "guarded", "delete"))
    await expect(page.get_by_test_id("reason")).to_contain_text("you need the verb “delete”")
    await expect(page.get_by_label("Name of the object to delete")).to_be_disabled()
    await page.get_by_role("button", name="Cancel").click()
    await expect(page.get_by_test_id("edit")).to_be_disabled()
    await expect(page.get_by_title("you need the verb “delete”")).to_be_visible()


@pytest.mark.promise(
    "Forms of the console",
    "The form of a Secret contains its values only on request.",
)
@pytest.mark.clusters("embedded")
async def test_shows_secret_values_on_request(
    client: Client, cluster_namespace: str, console_url: str, page: Page
) -> None:
    metadata = ObjectMeta(name="hidden", namespace=cluster_namespace)
    await client.create(core.Secret(metadata=metadata, string_data={"password": "swordfish"}))
    await page.goto(f"{console_url}/objects/core/secrets/{cluster_namespace}/hidden/edit")
    await expect(page.get_by_text("Editing a Secret shows its values")).to_be_visible()
    assert "c3dvcmRmaXNo" not in await page.content()
    await page.get_by_role("button", name="Show the values and edit").click()
    await expect(page.locator(".cm-content")).to_contain_text("c3dvcmRmaXNo")


class TestReadOnly:
    @pytest.fixture
    def console_settings(self) -> dict[str, Any]:
        return {"read_only": True}

    @pytest.mark.promise("Forms of the console", "A read-only console writes nothing, whatever a browser sends.")
    @pytest.mark.clusters("embedded")
    async def test_read_only_console_writes_nothing(
        self,
        client: Client,
        cluster_namespace: str,
        console: Console,
        console_url: str,
        page: Page,
        everything: type[Untyped],
    ) -> None:
        from kubewright.client import Forbidden
        from kubewright.console.forms import Writer

        body = an_object("still", cluster_namespace)
        await client.create(from_dict(everything, body))
        await open_edit(page, console_url, cluster_namespace, "still")
        await expect(page.get_by_role("button", name="Review and")).to_be_disabled()
        await expect(page.get_by_test_id("reason")).to_have_text("This console is read-only.")
        writer = Writer(console.viewer().client, everything)  # also for clients that bypass the page
        with pytest.raises(Forbidden, match="read-only"):
            await writer.create(an_object("new", cluster_namespace))
        with pytest.raises(Forbidden, match="read-only"):
            await writer.delete("still", cluster_namespace, "", "Background")
