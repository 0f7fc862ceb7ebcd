"""New objects, by form and by YAML, in a browser."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Dialog, Locator, Page, expect

from kubewright.api import Untyped, from_dict, to_dict
from kubewright.api.admissionregistration.v1 import ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding
from kubewright.api.apiextensions.v1 import CustomResourceDefinition
from kubewright.client import ApiError, Client
from kubewright.console import Console
from tests.console.forms.conftest import SignIn, defined, known
from tests.console.forms.kinds import EVERYTHING, GROUP, an_object, definition
from tests.console.screenshots import shoot

pytestmark = [pytest.mark.browser, pytest.mark.clusters]


def field(page: Page, place: str) -> Locator:
    """Returns the widget of a path such as `spec.size`."""
    return page.get_by_label(place, exact=True)


def problem(page: Page, place: str) -> Locator:
    """Returns the problem that is shown below the widget of a path."""
    return page.locator(f'[role="alert"]:below([data-path="{place}"])').first


async def open_new(page: Page, url: str, plural: str, namespace: str) -> None:
    await page.goto(f"{url}/kinds/{GROUP}/{plural}/new?namespace={namespace}")
    await expect(page.get_by_test_id("form")).to_be_visible()
    await expect(page.locator(".cm-content")).to_contain_text("apiVersion")


async def review(page: Page) -> Locator:
    await page.get_by_role("button", name="Review and").click()
    diff = page.get_by_test_id("diff")
    await expect(diff).to_be_visible()
    return diff


async def write(page: Page, text: str) -> None:
    """Replaces the whole YAML."""
    editor = page.locator(".cm-content")
    await editor.click()
    await page.keyboard.press("ControlOrMeta+a")
    await page.keyboard.insert_text(text)


@pytest.mark.promise(
    "Forms of the console",
    "Nothing is written before a server-side dry run has shown the changes, including those of the server.",
)
@pytest.mark.promise("Forms of the console", "The browser warns before a form with unsaved input is left.")
async def test_creates_object_by_form(
    client: Client, cluster_namespace: str, console_url: str, page: Page, everything: type[Untyped]
) -> None:
    await open_new(page, console_url, "everythings", cluster_namespace)
    await field(page, "metadata.name").fill("first")
    await field(page, "spec.title").fill("first one")
    await field(page, "spec.size").fill("3")
    await field(page, "spec.color").click()
    await page.get_by_role("option", name="red").click()
    yaml = page.locator(".cm-content")
    await expect(yaml).to_contain_text("name: first")
    await expect(yaml).to_contain_text("color: red")
    await expect(page.get_by_test_id("summary")).to_be_empty()
    await page.evaluate("scrollTo(0, 0)")
    await shoot(page, "new")

    diff = await review(page)
    await expect(diff).to_contain_text("title: first one")
    by_server = diff.locator(".kw-diff-line", has_text="by the server")
    await expect(by_server).to_contain_text(["enabled: true"])  # a default, which the user did not set
    await shoot(page, "review")
    assert await client.find(everything, "first", cluster_namespace) is None  # a dry run writes nothing
    asked: list[Dialog] = []

    def ask(question: Dialog) -> None:
        asked.append(question)  # the prompt stays unanswered

    page.on("dialog", ask)
    await page.get_by_role("button", name="Create", exact=True).click()
    await page.wait_for_url(f"**/objects/{GROUP}/everythings/{cluster_namespace}/first")
    page.remove_listener("dialog", ask)
    assert asked == []  # the input is kept
    made = to_dict(await client.get(everything, "first", cluster_namespace))
    assert made["spec"] == {"title": "first one", "size": 3, "color": "red", "enabled": True}
    assert [entry["manager"] for entry in made["metadata"]["managedFields"]] == ["kubewright-console"]

    await open_new(page, console_url, "everythings", cluster_namespace)  # the same name does not overwrite the object
    await write(page, _yaml("first", cluster_namespace, "title: second one\n  size: 4"))
    await expect(field(page, "spec.size")).to_have_value("4")
    await page.get_by_role("button", name="Review and").click()
    await expect(page.get_by_test_id("notice")).to_contain_text("An object with this name already exists")
    assert to_dict(await client.get(everything, "first", cluster_namespace))["spec"]["size"] == 3

    page.once("dialog", lambda question: question.dismiss())
    async with page.expect_event("dialog") as asking:  # unsaved input is not lost without a warning
        await page.get_by_role("button", name="Cancel").click()
    assert (await asking.value).type == "beforeunload"
    await expect(field(page, "spec.size")).to_have_value("4")


def _yaml(name: str, namespace: str, spec: str) -> str:
    return (
        f"apiVersion: {GROUP}/v1\nkind: Everything\nmetadata:\n  name: {name}\n  namespace: {namespace}\n"
        f"spec:\n  {spec}\n"
    )


@pytest.mark.promise(
    "Forms of the console",
    "Problems are shown at their field during input, including CEL messages.",
)
@pytest.mark.promise(
    "Forms of the console",
    "The server's rejections are shown at the fields that they name, with the webhook or policy that denied the write.",
)
async def test_shows_problems_at_their_fields(
    client: Client, cluster_namespace: str, console: Console, console_url: str, page: Page
) -> None:
    strict = {"minimum": 1, "maximum": 10, "type": "integer"}
    schema: dict[str, Any] = {**EVERYTHING, "properties": {**EVERYTHING["properties"]}}
    spec = schema["properties"]["spec"] = {**EVERYTHING["properties"]["spec"]}
    spec["properties"] = {**spec["properties"], "size": strict}
    kind = await defined(client, "stricts", "Strict", schema)
    await known(console, "stricts")
    await open_new(page, console_url, "stricts", cluster_namespace)
    await field(page, "metadata.name").fill("Not A Name")
    await expect(problem(page, "metadata.name")).to_contain_text("must consist of lower case")
    await field(page, "metadata.name").fill("wrong")
    await field(page, "spec.title").fill("wrong")
    await field(page, "spec.size").fill("12")
    await expect(problem(page, "spec.size")).to_have_text("must be at most 10, not 12")
    await field(page, "spec.size").fill("many")
    await expect(problem(page, "spec.size")).to_have_text("must be an integer, not a string")
    await field(page, "spec.size").fill("6")  # a CEL message, at its rule
    section = page.get_by_role("region", name="spec")
    await expect(section.get_by_text("a large one needs a reason")).to_be_visible()
    await field(page, "spec.ratio").fill("1.5")  # and at its fieldPath
    await expect(page.get_by_text("a ratio is at most 1")).to_be_visible()
    await page.evaluate("scrollTo(0, 300)")
    await shoot(page, "problems")
    await field(page, "spec.ratio").fill("0.5")
    await field(page, "spec.size").fill("5")
    await expect(page.get_by_test_id("summary")).to_be_empty()

    # The server became stricter after the form was drawn: its message, at the field.
    strict["maximum"] = 3
    crd = await client.get(CustomResourceDefinition, f"stricts.{GROUP}")
    crd.spec = from_dict(CustomResourceDefinition, definition("stricts", "Strict", schema)).spec
    await client.update(crd)
    probe = {**an_object("probe", cluster_namespace, size=4), "kind": "Strict"}
    await _refuses(client, kind, probe, "less than or equal to 3")
    await page.get_by_role("button", name="Review and").click()
    await expect(page.get_by_test_id("notice")).to_contain_text("The server rejected this object.")
    await expect(problem(page, "spec.size")).to_contain_text("should be less than or equal to 3")
    await field(page, "spec.size").fill("2")
    await review(page)


async def _refuses(client: Client, kind: type[Untyped], obj: dict[str, Any], message: str) -> None:
    """Waits until the server enforces the new rule."""
    while True:
        try:
            await client.create(from_dict(kind, obj), dry_run=True)
        except ApiError as error:
            if message in str(error):
                return


@pytest.mark.promise(
    "Forms of the console",
    "The server's rejections are shown at the fields that they name, with the webhook or policy that denied the write.",
)
async def test_names_denying_policy_with_the_reason(
    client: Client, cluster_namespace: str, console_url: str, page: Page, everything: type[Untyped]
) -> None:
    rules = [{"apiGroups": [GROUP], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["everythings"]}]
    validations = [{"expression": "object.spec.title != 'taken'", "message": "that title is taken"}]
    spec = {"matchConstraints": {"resourceRules": rules}, "validations": validations, "failurePolicy": "Fail"}
    name = f"titles-{cluster_namespace}"
    binding = {"policyName": name, "validationActions": ["Deny"]}
    await client.create(from_dict(ValidatingAdmissionPolicy, {"metadata": {"name": name}, "spec": spec}))
    await client.create(from_dict(ValidatingAdmissionPolicyBinding, {"metadata": {"name": name}, "spec": binding}))
    try:
        await _refuses(client, everything, an_object("probe", cluster_namespace, title="taken"), "that title is taken")
        await open_new(page, console_url, "everythings", cluster_namespace)
        await field(page, "metadata.name").fill("denied")
        await field(page, "spec.title").fill("taken")
        await page.get_by_role("button", name="Review and").click()
        notice = page.get_by_test_id("notice")
        await expect(notice).to_contain_text(f"The policy {name} denied this change: that title is taken")
        await expect(page.get_by_test_id("diff")).to_have_count(0)
    finally:
        await client.delete(ValidatingAdmissionPolicyBinding, name)
        await client.delete(ValidatingAdmissionPolicy, name)


@pytest.mark.promise(
    "Forms of the console",
    "Form and YAML stay in sync; comments are preserved, and invalid YAML is reported with its line.",
)
@pytest.mark.clusters("embedded")
async def test_form_and_yaml_stay_in_sync(
    cluster_namespace: str, console_url: str, page: Page, everything: type[Untyped]
) -> None:
    await open_new(page, console_url, "everythings", cluster_namespace)
    text = _yaml("typed", cluster_namespace, "title: typed # kept\n  size: 2\n  ports:\n  - name: web\n    number: 80")
    await write(page, text)
    await expect(field(page, "spec.title")).to_have_value("typed")
    await expect(field(page, "spec.ports[0].number")).to_have_value("80")

    await field(page, "spec.size").fill("7")  # the form changes only its own line, and the comment stays
    yaml = page.locator(".cm-content")
    await expect(yaml).to_contain_text("size: 7")
    await expect(yaml).to_contain_text("# kept")

    await write(page, text.replace("size: 2", "size: [2"))
    await expect(page.get_by_test_id("yaml-problem")).to_contain_text("line ")
    await expect(field(page, "spec.size")).to_have_value("7")  # the last valid state
    await page.get_by_role("button", name="Review and").click()
    await expect(page.get_by_test_id("notice")).to_contain_text("The YAML is invalid")

    await write(page, text.replace("size: 2", "size: 4\n  strange:\n    deep: true"))
    await expect(page.get_by_test_id("yaml-problem")).to_be_empty()
    await expect(field(page, "spec.size")).to_have_value("4")
    await expect(page.get_by_text("deep: true").first).to_be_visible()  # unknown fields are kept and shown
    await expect(page.get_by_text("strange: is not a field of this kind")).to_be_visible()
    await page.get_by_role("button", name="Review and").click()
    await expect(page.get_by_test_id("notice")).to_contain_text("cannot decode")

    many = ", ".join(f"tag-{number}" for number in range(250))  # the form shows only some of them
    await write(page, _yaml("many", cluster_namespace, f"title: many\n  size: 4\n  tags: [{many}]"))
    await expect(page.get_by_test_id("parts")).to_contain_text("1 to 100 of 250")
    await expect(field(page, "spec.tags[100]")).to_have_count(0)
    await page.get_by_label("Later elements of spec.tags").click()
    await expect(field(page, "spec.tags[100]")).to_have_value("tag-100")
    await expect(page.get_by_test_id("parts")).to_contain_text("101 to 200 of 250")


@pytest.mark.promise("Forms of the console", "Lists and maps of a form can be filled by keyboard.")
@pytest.mark.clusters("embedded")
async def test_fills_lists_and_maps_by_keyboard(
    client: Client, cluster_namespace: str, console_url: str, page: Page, everything: type[Untyped]
) -> None:
    await open_new(page, console_url, "everythings", cluster_namespace)
    await field(page, "metadata.name").focus()
    await page.keyboard.type("keys")
    await field(page, "spec.title").focus()
    await page.keyboard.type("keys")

    await page.locator('[data-path="spec.tags"] [role="button"]').first.focus()
    await page.keyboard.press("Enter")  # expands the group
    for tag in ("a", "b"):
        await page.get_by_role("button", name="Add to spec.tags").focus()
        await page.keyboard.press("Enter")
        number = 0 if tag == "a" else 1
        await expect(field(page, f"spec.tags[{number}]")).to_be_focused()
        await page.keyboard.type(tag)
        await expect(page.locator(".cm-content")).to_contain_text(f"- {tag}")

    await page.locator('[data-path="spec.limits"] [role="button"]').first.focus()
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Add to spec.limits").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Key of spec.limits", exact=False)).to_be_focused()
    await page.keyboard.type("a.b/c")
    await page.keyboard.press("Tab")  # moves to the value, which keeps its new key
    await page.keyboard.press("ControlOrMeta+a")
    await page.keyboard.type("5")
    await expect(page.locator(".cm-content")).to_contain_text("a.b/c: 5")
    await expect(field(page, "spec.limits[a.b/c]")).to_have_value("5")

    await page.locator('[data-path="spec.ports"] [role="button"]').first.focus()
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Add to spec.ports").focus()
    await page.keyboard.press("Enter")
    await field(page, "spec.ports[0].name").focus()
    await page.keyboard.type("web")
    await page.get_by_role("button", name="Review and").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_test_id("diff")).to_be_visible()
    await page.get_by_role("button", name="Create", exact=True).focus()
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/keys")
    made = to_dict(await client.get(everything, "keys", cluster_namespace))["spec"]
    assert (made["tags"], made["limits"], made["ports"]) == (["a", "b"], {"a.b/c": 5}, [{"name": "web"}])


EVIL = (
    '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
    "{{constructor.constructor('window.hacked=1')()}}"
)


@pytest.mark.promise(
    "Forms of the console",
    "Hostile descriptions, choices, defaults, names and values are shown as text in forms.",
)
async def test_shows_hostile_content_as_text(
    client: Client, cluster_namespace: str, console: Console, console_url: str, page: Page
) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "description": EVIL,
        "properties": {
            "spec": {
                "type": "object",
                "description": EVIL,
                "properties": {
                    "shown": {"type": "string", "description": EVIL, "default": EVIL},
                    "chosen": {"type": "string", "enum": [EVIL, "x"]},
                    EVIL: {"type": "string"},
                    "lists": {"type": "array", "description": EVIL, "items": {"type": "string"}},
                },
                "x-kubernetes-validations": [{"rule": "!has(self.lists)", "message": EVIL}],
            }
        },
    }
    kind = await defined(client, "evils", "Evil", schema)
    await known(console, "evils")
    metadata = {"name": "evil", "namespace": cluster_namespace, "annotations": {"evil": EVIL}}
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Evil", "metadata": metadata, "spec": {"shown": EVIL, "chosen": EVIL}}
    await client.create(from_dict(kind, body), field_manager=EVIL[:100])
    await page.goto(f"{console_url}/objects/{GROUP}/evils/{cluster_namespace}/evil/edit")
    await expect(field(page, "spec.shown")).to_have_value(EVIL)
    await expect(page.get_by_test_id("form")).to_contain_text(EVIL)
    await field(page, "spec.chosen").click()
    await page.get_by_role("option", name=EVIL).click()
    await field(page, "spec.shown").fill(EVIL + "!")
    diff = await review(page)
    await expect(diff).to_contain_text(EVIL)
    await expect(page.get_by_test_id("conflict")).to_contain_text("onerror")
    await page.keyboard.press("Escape")
    await open_new(page, console_url, "evils", cluster_namespace)
    await page.locator('[data-path="spec.lists"] [role="button"]').first.click()
    await page.get_by_role("button", name="Set spec.lists to empty").click()
    await expect(page.get_by_role("alert").filter(has_text=EVIL)).to_be_visible()
    assert await page.evaluate("window.hacked") is None
    assert await page.locator("img[src=x]").count() == 0
    # Other tests read all definitions of this server, and no class can have these fields.
    await client.delete(CustomResourceDefinition, f"evils.{GROUP}")


@pytest.mark.promise(
    "Forms of the console",
    "Users without permission to create, change or delete see the missing verb and are rejected.",
)
@pytest.mark.clusters("embedded")
async def test_rejects_create_without_permission_and_names_the_verb(
    client: Client, cluster_namespace: str, console_url: str, everything: type[Untyped], signed_in_as: SignIn
) -> None:
    page = await signed_in_as("reader-of-forms", ["get", "list", "watch"])
    await open_new(page, console_url, "everythings", cluster_namespace)
    button = page.get_by_role("button", name="Review and")
    await expect(button).to_be_disabled()
    await expect(page.get_by_test_id("reason")).to_contain_text("you need the verb “create”")
    await field(page, "metadata.name").fill("forced")
    await field(page, "spec.title").fill("forced")
    # Enabling the button in the browser does not help.
    await button.evaluate("one => { one.removeAttribute('disabled'); one.classList.remove('disabled') }")
    await button.dispatch_event("click")
    await field(page, "spec.title").fill("still here")
    await expect(page.locator(".cm-content")).to_contain_text("still here")
    await expect(page.get_by_test_id("diff")).to_have_count(0)
    assert await client.find(everything, "forced", cluster_namespace) is None


@pytest.mark.clusters("embedded")
async def test_built_in_kind_has_form_from_openapi(cluster_namespace: str, console_url: str, page: Page) -> None:
    await page.goto(f"{console_url}/kinds/apps/deployments/new?namespace={cluster_namespace}")
    await field(page, "metadata.name").fill("web")
    await expect(field(page, "spec.replicas")).to_be_visible()
    await page.locator('[data-path="spec.template.spec"] [role="button"]').first.click()
    await page.get_by_role("button", name="Add to spec.template.spec.containers").click()
    await field(page, "spec.template.spec.containers[0].name").fill("web")
    await expect(page.locator(".cm-content")).to_contain_text("- name: web")


@pytest.mark.clusters("embedded")
async def test_new_object_can_use_the_example(
    client: Client, cluster_namespace: str, console: Console, console_url: str, page: Page
) -> None:
    properties = {"size": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}}
    example = {"metadata": {"labels": {"app": "shown"}}, "spec": {"size": 8, "tags": ["from the example"]}}
    schema = {
        "type": "object",
        "example": example,
        "properties": {"spec": {"type": "object", "properties": properties}},
    }
    await defined(client, "shows", "Show", schema)
    await known(console, "shows")
    await open_new(page, console_url, "shows", cluster_namespace)
    await field(page, "metadata.name").fill("mine")
    await page.get_by_role("button", name="Use example").click()
    await expect(field(page, "spec.size")).to_have_value("8")
    await expect(field(page, "metadata.name")).to_have_value("mine")
    await expect(page.locator(".cm-content")).to_contain_text("- from the example")
