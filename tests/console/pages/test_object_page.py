"""The page of an object in a browser, on both clusters."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Page, WebSocket, expect

from kubewright.api import apps, core, meta
from kubewright.client import Client, MergePatch, NotFound
from kubewright.console import Console
from kubewright.console.operators import InProcess
from kubewright.operator import Running
from tests.console.axe.run import violations
from tests.console.screenshots import shoot
from tests.console.stalls import HOSTILE, Stall, address, grown, operator_of, stall, stalls_defined
from tests.patience import until

pytestmark = [pytest.mark.browser, pytest.mark.clusters]


@pytest.fixture
async def running(client: Client, console: Console, namespace: str) -> AsyncIterator[Running]:
    """An operator of stalls that the console queries."""
    await stalls_defined(client)
    async with operator_of([namespace]).running(client, install_crds=False) as made:
        operator = console.operators.add(InProcess(made))
        yield made
        await console.operators.remove(operator)


async def opened(client: Client, namespace: str, name: str = "fruit", **spec: Any) -> Stall:
    """A stall that the operator has reconciled."""
    made = await client.create(stall(name, namespace, **spec))

    async def there() -> apps.Deployment | None:
        try:
            return await client.get(apps.Deployment, f"{name}-stall", namespace)
        except NotFound:
            return None

    await until(there)
    return made


def condition(type_: str, status: str, message: str = "") -> dict[str, str]:
    moment = "2026-01-01T00:00:00Z"
    return {"type": type_, "status": status, "reason": "Seen", "message": message, "lastTransitionTime": moment}


@pytest.mark.promise(
    "Objects and operators in the console",
    "An object's page shows its reconciliation, conditions with history, and owned objects, live.",
)
async def test_shows_reconciliation_conditions_and_owned_objects(
    running: Running, client: Client, namespace: str, console_url: str, page: Page
) -> None:
    await opened(client, namespace, replicas=2)
    await grown(client, namespace, "fruit")
    sockets: list[WebSocket] = []
    page.on("websocket", lambda socket: sockets.append(socket))
    await page.goto(console_url + address("fruit", namespace))
    await expect(page.get_by_test_id("object-name")).to_have_text("fruit")
    await expect(page.get_by_test_id("object-state")).to_contain_text("ready")
    tree = page.get_by_test_id("owned")
    for name in ("fruit-stall", "fruit-stall-1", "fruit-stall-1-a"):
        await expect(tree.get_by_role("link", name=name, exact=True)).to_be_visible()
    for owned in ("Deployment", "ReplicaSet", "Pod"):
        await expect(tree.get_by_text(owned, exact=True)).to_be_visible()
    await expect(tree.get_by_test_id("own-node")).to_contain_text("ready")
    await expect(page.get_by_test_id("facts")).to_contain_text("Replicas")
    await expect(page.get_by_test_id("conditions")).to_contain_text("2 at work")
    await expect(page.get_by_test_id("why")).to_contain_text("Last reconcile succeeded")
    # Changes appear live, with the history of the condition.
    await client.patch(Stall, "fruit", MergePatch({"spec": {"broken": "no apples"}}), namespace)
    await expect(page.get_by_test_id("object-state")).to_contain_text("failing")
    await expect(page.get_by_test_id("why")).to_contain_text("ConnectionError: no apples")
    await expect(page.get_by_test_id("condition-history")).to_contain_text("True → False")
    # Problems come first, and the others are folded.
    status: dict[str, Any] = {"conditions": [condition("Synced", "True"), condition("Ready", "False", "no apples")]}
    await client.patch(Stall, "fruit", MergePatch({"status": status}), namespace, subresource="status")
    await expect(page.get_by_test_id("conditions").locator(".kw-condition").first).to_contain_text("Ready")
    folded = page.get_by_test_id("folded-conditions")
    await expect(folded.locator("summary")).to_have_text("1 more without a problem")
    # The operator fails the object again: its reason is the last change.
    await expect(page.get_by_test_id("conditions").locator(".kw-condition").first).to_contain_text("SupplyFailed")
    await expect(folded.get_by_text("Synced")).to_be_hidden()
    async with sockets[-1].expect_event("framesent", lambda sent: "newState" in str(sent)):
        await folded.locator("summary").click()
    await expect(folded.get_by_text("Synced")).to_be_visible()
    # Expanded conditions stay expanded when the page is updated.
    status["conditions"].append(condition("Stocked", "True"))
    await client.patch(Stall, "fruit", MergePatch({"status": status}), namespace, subresource="status")
    await expect(folded.get_by_text("Stocked")).to_be_visible()
    assert await violations(page) == []
    await shoot(page, "object")
    # An owned object has a page with its own dependents.
    await tree.get_by_role("link", name="fruit-stall", exact=True).click()
    await expect(page.get_by_test_id("object-name")).to_have_text("fruit-stall")
    await expect(page.get_by_role("link", name="Stall fruit")).to_have_attribute("href", address("fruit", namespace))
    await expect(page.get_by_role("link", name="Deployment", exact=True).first).to_have_attribute(
        "aria-current", "page"
    )
    await expect(page.get_by_test_id("owned").get_by_role("link", name="fruit-stall-1", exact=True)).to_be_visible()
    # The owner is above the object, and links back.
    await expect(tree.get_by_role("listitem").first).to_contain_text("Stall")
    await expect(tree.get_by_test_id("own-node")).to_contain_text("fruit-stall")
    await tree.get_by_role("link", name="fruit", exact=True).click()
    await expect(page.get_by_test_id("object-name")).to_have_text("fruit")


@pytest.mark.promise(
    "Objects and operators in the console",
    "The timeline shows the trigger of a reconcile, its writes, its error and its next retry.",
)
@pytest.mark.promise(
    "Objects and operators in the console",
    "Hostile error messages, events, conditions and annotations are shown as text.",
)
async def test_timeline_shows_changes_and_retried_failures(
    running: Running, client: Client, namespace: str, console_url: str, page: Page
) -> None:
    await opened(client, namespace)
    await client.patch(Stall, "fruit", MergePatch({"spec": {"replicas": 3}}), namespace)
    await page.goto(console_url + address("fruit", namespace, "timeline"))
    written = page.get_by_test_id("write").filter(has_text="applied deployments.apps fruit-stall")
    written = written.filter(has_text="+   replicas: 3")  # the newest write comes first, and may come late
    await expect(written.first).to_be_visible()
    await written.first.get_by_test_id("changes").click()
    await expect(page.locator("[data-testid=diff]:visible")).to_contain_text("+   replicas: 3")
    await expect(page.get_by_test_id("durations").locator("canvas")).to_be_visible()
    await shoot(page, "timeline")
    await client.patch(Stall, "fruit", MergePatch({"spec": {"broken": HOSTILE}}), namespace)
    await expect(page.get_by_test_id("entry").filter(has_text="attempt 2").first).to_be_visible()
    await expect(page.get_by_test_id("entry-error").first).to_contain_text("onerror=")
    await expect(page.get_by_test_id("queue")).to_contain_text("after")
    assert await page.evaluate("window.hacked") is None


@pytest.mark.promise(
    "Objects and operators in the console",
    "Events of an object and its dependents are found in both APIs, counted, and sorted newest first.",
)
@pytest.mark.promise(
    "Objects and operators in the console",
    "The operator's log of an object is kept in bounded memory and contains no credentials.",
)
@pytest.mark.promise(
    "Objects and operators in the console",
    "Hostile error messages, events, conditions and annotations are shown as text.",
)
async def test_shows_events_and_logs_of_object_and_dependents(
    running: Running, client: Client, namespace: str, console_url: str, page: Page
) -> None:
    await opened(client, namespace)
    child = await client.get(apps.Deployment, "fruit-stall", namespace)
    about = core.ObjectReference(
        api_version="apps/v1", kind="Deployment", name="fruit-stall", namespace=namespace, uid=child.metadata.uid
    )
    event = core.Event(
        metadata=meta.ObjectMeta(name="fruit-stall.1", namespace=namespace),
        involved_object=about,
        type="Warning",
        reason="TooSmall",
        message=f"hardly any room {HOSTILE}",
        count=4,
    )
    await client.create(event)
    stranger = core.Event(
        metadata=meta.ObjectMeta(name="stranger.1", namespace=namespace),
        involved_object=core.ObjectReference(kind="Deployment", name="else", namespace=namespace, uid="else"),
        reason="NothingToDoWithIt",
    )
    await client.create(stranger)
    await page.goto(console_url + address("fruit", namespace, "events"))
    of_child = page.get_by_test_id("event").filter(has_text="TooSmall")
    await expect(of_child).to_contain_text("hardly any room <img")
    await expect(of_child.get_by_role("link", name="Deployment fruit-stall")).to_be_visible()
    await expect(page.get_by_test_id("event").filter(has_text="The stall is open")).to_contain_text("stall-operator")
    await expect(page.get_by_text("NothingToDoWithIt")).to_have_count(0)
    await page.get_by_role("tab", name="Logs").click()
    await expect(page.get_by_test_id("log")).to_contain_text("looking after 1 replicas wanted=1")
    await expect(page).to_have_url(console_url + address("fruit", namespace, "logs"))
    await client.patch(Stall, "fruit", MergePatch({"spec": {"replicas": 7}}), namespace)
    await expect(page.get_by_test_id("log")).to_contain_text("looking after 7 replicas")
    assert await page.evaluate("window.hacked") is None


@pytest.mark.promise(
    "Objects and operators in the console",
    "Hostile error messages, events, conditions and annotations are shown as text.",
)
async def test_yaml_is_live_and_hides_managed_fields(
    client: Client, namespace: str, console_url: str, page: Page
) -> None:
    await stalls_defined(client)
    made = stall("bread", namespace)
    made.metadata.annotations = {"note": HOSTILE}
    made.metadata.labels = {"kind": "bakery"}
    await client.create(made)
    await page.goto(console_url + address("bread", namespace, "yaml"))
    yaml = page.get_by_test_id("yaml")
    await expect(yaml).to_contain_text("replicas: 1")
    await expect(yaml).to_contain_text("onerror=")
    await expect(yaml).not_to_contain_text("managedFields")
    await page.get_by_test_id("managed-fields").click()
    await expect(yaml).to_contain_text("managedFields")
    await client.patch(Stall, "bread", MergePatch({"spec": {"replicas": 4}}), namespace)
    await expect(yaml).to_contain_text("replicas: 4")
    # No operator reports about stalls here, and the page explains what to do.
    await page.get_by_role("tab", name="Timeline").click()
    await expect(page.get_by_test_id("empty")).to_contain_text("--operator")
    assert await page.evaluate("window.hacked") is None


@pytest.mark.promise(
    "Objects and operators in the console",
    "The values of a Secret are masked until the viewer reveals them, and are not in the page before.",
)
async def test_masks_secret_values_until_revealed(client: Client, namespace: str, console_url: str, page: Page) -> None:
    copy = {"kubectl.kubernetes.io/last-applied-configuration": '{"data":{"password":"aHVudGVyMg=="}}'}
    about = meta.ObjectMeta(name="key", namespace=namespace, annotations=copy)
    await client.create(core.Secret(metadata=about, string_data={"password": "hunter2"}))
    await page.goto(f"{console_url}/objects/core/secrets/{namespace}/key")
    await expect(page.get_by_text("last-applied-configuration")).to_be_visible()
    assert "aHVudGVyMg==" not in await page.content()
    await page.get_by_role("tab", name="YAML").click()
    await expect(page.get_by_test_id("yaml")).to_contain_text("password: ••••••••")
    assert "aHVudGVyMg==" not in await page.content()
    await page.get_by_test_id("reveal").click()
    await expect(page.get_by_test_id("yaml")).to_contain_text("password: aHVudGVyMg==")

    # The copied text is the shown one, and the button reports the result.
    button, said = page.get_by_role("button", name="Copy"), page.locator(".kw-copy [aria-live]")
    at_first = await button.bounding_box()
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await button.click()
    await expect(said).to_have_text("Copied")
    assert "password: aHVudGVyMg==" in await page.evaluate("navigator.clipboard.readText()")
    assert await button.bounding_box() == at_first  # the layout did not shift
    await page.evaluate("() => Object.defineProperty(navigator, 'clipboard', { value: undefined })")  # as without TLS
    await button.click()
    await expect(said).to_have_text("Not copied: the browser allows it with HTTPS or on localhost only")


@pytest.mark.promise(
    "Objects and operators in the console",
    "A terminating object names its finalizers, a deleted one stays on the page, an undecodable one names the field.",
)
async def test_deleted_object_shows_finalizers_and_stays_on_the_page(
    client: Client, namespace: str, console_url: str, page: Page
) -> None:
    await stalls_defined(client)
    held = stall("old", namespace)
    held.metadata.finalizers = ["looks.console.example.com/sweep"]
    await client.create(held)
    await page.goto(console_url + address("old", namespace))
    await expect(page.get_by_test_id("object-name")).to_have_text("old")
    await client.delete(Stall, "old", namespace)
    await expect(page.get_by_test_id("terminating")).to_contain_text(
        "Waiting for finalizers: looks.console.example.com/sweep"
    )
    await client.patch(Stall, "old", MergePatch({"metadata": {"finalizers": None}}), namespace)
    await expect(page.get_by_test_id("gone")).to_be_visible()
    await expect(page.get_by_test_id("object-name")).to_have_text("old")
    # An object that does not exist yet: the page waits for it.
    await page.goto(console_url + address("new", namespace))
    await expect(page.get_by_test_id("absent")).to_be_visible()
    await client.create(stall("new", namespace))
    await expect(page.get_by_test_id("absent")).to_have_count(0)
    await expect(page.get_by_test_id("conditions")).to_be_visible()
    # Expanded parts stay as they are while others change.
    await page.get_by_test_id("conditions").evaluate("card => { card.kept = true }")
    await client.patch(Stall, "new", MergePatch({"metadata": {"labels": {"cache": "upper"}}}), namespace)
    await expect(page.get_by_text("upper", exact=True)).to_be_visible()
    assert await page.get_by_test_id("conditions").evaluate("card => card.kept")
