"""Bulk actions on the selected rows of a list."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Page, expect

from kubewright.client import Client
from kubewright.console import Console, Viewer
from kubewright.console.actions import BulkChange, Target, denied, run_bulk
from kubewright.console.forms import Writer
from kubewright.crd import install
from tests.console.axe.run import violations
from tests.console.gadgets import PATH, AnyCluster, Gadget, gadget
from tests.patience import until


@pytest.fixture
async def client(cluster: AnyCluster) -> AsyncIterator[Client]:
    async with cluster.client() as made:
        await install(made, Gadget)
        yield made


def target(made: Gadget, **metadata: Any) -> Target:
    return Target(made.metadata.namespace or "", made.metadata.name or "", made.metadata.uid or "", metadata)


async def writer_of(console: Console, client: Client) -> Writer:
    kind = await until(lambda: console.kind(PATH))
    return Writer(client, kind.resource)


def test_previews_each_change() -> None:
    one = Target("shop", "a", "1", {"labels": {"app": "web"}, "finalizers": ["example.com/f"]})
    assert BulkChange("labels", "app", "api").preview(one) == "'web' → 'api'"
    assert BulkChange("labels", "app", "web").preview(one) == ""  # nothing would change
    assert BulkChange("labels", "app").preview(one) == "'web' removed"
    assert BulkChange("labels", "tier").preview(one) == ""
    assert BulkChange("annotations", "note", "").preview(one) == "set to ''"
    assert BulkChange("delete").preview(one) == "deleted after its finalizers: example.com/f"
    assert BulkChange("delete").preview(Target("", "a", "1", {"deletionTimestamp": "now"})) == ""


def test_rejects_invalid_keys_and_values() -> None:
    assert BulkChange("delete").problem() == ""
    assert BulkChange("labels", "").problem() == "the key is empty"
    assert "alphanumeric" in BulkChange("labels", "no key!", "x").problem()
    assert "alphanumeric" in BulkChange("labels", "app", "not a value!").problem()
    assert BulkChange("annotations", "app", "any value!").problem() == ""


@pytest.mark.clusters
@pytest.mark.promise(
    "Lists and layout of the console",
    "Bulk changes name the result of each object, and change no other object with the same name.",
)
async def test_bulk_change_reports_each_object(client: Client, console: Console, cluster_namespace: str) -> None:
    writer = await writer_of(console, client)
    made = [await client.create(gadget(f"g{number}", cluster_namespace)) for number in range(3)]
    targets = [target(one) for one in made]
    targets[1] = Target(cluster_namespace, "g1", "another-uid", {})
    targets.append(Target(cluster_namespace, "gone", "some-uid", {}))
    counted: list[int] = []
    results = await run_bulk(writer, BulkChange("labels", "app", "web"), targets, counted.append)
    assert [bool(one.error) for one in results] == [False, True, False, True]
    assert sorted(counted) == [1, 2, 3, 4]
    labels = [(await client.get(Gadget, f"g{at}", cluster_namespace)).metadata.labels for at in range(3)]
    assert labels == [{"app": "web"}, {}, {"app": "web"}]

    results = await run_bulk(writer, BulkChange("delete"), targets)
    assert [bool(one.error) for one in results] == [False, True, False, True]
    assert [one.metadata.name for one in await client.list(Gadget, cluster_namespace)] == ["g1"]
    results = await run_bulk(writer, BulkChange("labels", "app"), [target(made[1])])
    assert results[0].error == ""


async def test_denied_objects_are_known_before(console: Console, client: Client) -> None:
    kind = await until(lambda: console.kind(PATH))

    class Answers(Viewer):
        async def may(
            self, verb: str, kind: Any, namespace: Any = None, name: Any = None, subresource: str = ""
        ) -> bool:
            return verb == "patch" and (namespace == "mine" or name == "own")

    targets = [Target("mine", "a", "1", {}), Target("theirs", "b", "2", {}), Target("theirs", "own", "3", {})]
    viewer = Answers("limited", client)
    assert await denied(viewer, kind, BulkChange("labels", "a", "b"), targets) == {targets[1]}
    assert await denied(viewer, kind, BulkChange("delete"), targets) == set(targets)


@pytest.mark.browser
async def test_labels_and_deletes_the_selection(
    client: Client, cluster_namespace: str, console_url: str, page: Page
) -> None:
    for name in ("apple", "pear", "plum"):
        await client.create(gadget(name, cluster_namespace))
    await page.goto(f"{console_url}/kinds/{PATH}?namespace={cluster_namespace}")
    bar = page.get_by_test_id("selection")
    await expect(page.locator(".ag-row")).to_have_count(3)
    await expect(bar).to_be_hidden()
    await page.get_by_label("Filter rows").fill("p")
    for number, name in enumerate(("apple", "pear"), 1):
        await page.locator(f'.ag-row[row-id="{cluster_namespace}/{name}"] input[type=checkbox]').click()
        await expect(bar).to_contain_text(f"{number} selected")  # the bar moves the rows
    assert await violations(page) == []

    await bar.get_by_role("button", name="Label").click()
    dialog = page.get_by_test_id("bulk")
    await expect(dialog).to_contain_text("Label 2 gadgets in tests")
    apply = dialog.get_by_role("button", name="Label", exact=True)
    await expect(apply).to_be_disabled()
    await dialog.get_by_label("Key").fill("not a key!")
    await expect(dialog.get_by_test_id("bulk-problem")).to_contain_text("alphanumeric")
    await dialog.get_by_label("Key").fill("season")
    await dialog.get_by_label("Value").fill("autumn")
    await expect(dialog.get_by_test_id("bulk-list")).to_contain_text(f"{cluster_namespace}/pear: set to 'autumn'")
    assert await violations(page) == []
    await apply.click()
    await expect(dialog.get_by_test_id("bulk-progress")).to_have_text("2 changed")
    await dialog.get_by_role("button", name="Close").click()
    found = {one.metadata.name: one.metadata.labels for one in await client.list(Gadget, cluster_namespace)}
    assert found == {"apple": {"season": "autumn"}, "pear": {"season": "autumn"}, "plum": {}}

    await bar.get_by_role("button", name="Delete").click()
    await expect(dialog.get_by_role("button", name="Delete")).to_be_disabled()
    # One of them is replaced by a new object with the same name, which stays.
    await client.delete(Gadget, "pear", cluster_namespace)
    await client.create(gadget("pear", cluster_namespace, 7))
    await dialog.get_by_label("Number of objects to delete").fill("2")
    await dialog.get_by_role("button", name="Delete").click()
    await expect(dialog.get_by_test_id("bulk-progress")).to_have_text("1 deleted, 1 failed")
    await expect(dialog.get_by_test_id("bulk-list")).to_contain_text(
        re.compile(f"{cluster_namespace}/pear: failed: .*(uid|UID)")
    )
    names = [one.metadata.name for one in await client.list(Gadget, cluster_namespace)]
    assert names == ["pear", "plum"]
