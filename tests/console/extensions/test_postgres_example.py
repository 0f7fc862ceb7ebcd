"""The web page of the Postgres example in a browser, on planned pods."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Page, expect
from postgres_operator.kinds import Clone, Postgresql, State
from postgres_operator.ui import postgres
from worlds import NAMESPACE, World, minimal, new_world

import kubewright as kw
from kubewright.api import apps
from kubewright.cluster import Cluster
from kubewright.console import Console
from tests.console.axe.run import violations
from tests.patience import until
from tests.ports import unused_port

pytestmark = pytest.mark.browser

PATH = "acid.zalan.do/postgresqls"


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with new_world() as made:
        yield made


@pytest.fixture
def cluster(world: World) -> Cluster:
    return world.cluster


@pytest.fixture
def console_settings() -> dict[str, Any]:
    return {"extensions": [postgres]}


@pytest.fixture
def operator_port() -> int:
    return unused_port()


@pytest.fixture
async def running(world: World, console: Console, operator_port: int) -> AsyncIterator[kw.Running]:
    async with world.operator(metrics_bind=f"127.0.0.1:{operator_port}") as made:
        await until(lambda: console.kind(PATH))
        yield made


async def test_creates_shows_clones_and_deletes_a_cluster(
    world: World,
    running: kw.Running,
    console_url: str,
    page: Page,
) -> None:
    await page.goto(f"{console_url}/extensions/postgres/clusters?team=acid")
    await expect(page.get_by_role("heading", name="PostgreSQL clusters")).to_be_visible()
    await expect(page.get_by_test_id("empty")).to_have_count(2)
    await page.get_by_role("link", name="New cluster").click()

    # The form: sensible values, and the YAML beside it.
    yaml = page.locator(".cm-content")
    await expect(yaml).to_contain_text("numberOfInstances: 2")
    await expect(yaml).to_contain_text('version: "17"')
    await page.get_by_label("metadata.name", exact=True).fill("acid-shop")
    await page.get_by_label("Team (spec.teamId)", exact=True).fill("acid")
    await page.get_by_label("Number of instances (spec.numberOfInstances)", exact=True).fill("3")
    await expect(yaml).to_contain_text("numberOfInstances: 3")
    await page.get_by_role("button", name="Review and create").click()
    await page.get_by_role("button", name="Create", exact=True).click()
    await page.wait_for_url(f"**/objects/{PATH}/*/acid-shop")
    made = await world.client.get(Postgresql, "acid-shop", NAMESPACE)
    assert (made.spec.number_of_instances, made.spec.postgresql.version, made.spec.volume.size) == (3, "17", "10Gi")

    # The list and the status page follow the cluster.
    await page.goto(f"{console_url}/extensions/postgres/clusters?team=acid")
    own = page.get_by_role("region", name="My team's clusters")
    await expect(own.get_by_role("row").nth(1)).to_contain_text("acid")
    assert await violations(page) == []
    await own.get_by_role("link", name="acid-shop", exact=True).click()
    steps = page.get_by_test_id("steps")
    await expect(steps).to_contain_text("Manifest accepted: done")
    await world.until_state(State.RUNNING, "acid-shop")
    await expect(steps).to_contain_text("Database reachable: done")
    await expect(steps).to_contain_text("Primary elected: done. acid-shop-0")
    assert await violations(page) == []

    # The clone has the fields and the data of the cluster, and no name yet.
    await page.get_by_role("link", name="Clone acid-shop").click()
    await expect(page.get_by_label("Number of instances (spec.numberOfInstances)", exact=True)).to_have_value("3")
    await expect(page.get_by_label("metadata.name", exact=True)).to_have_value("")
    await expect(yaml).to_contain_text("cluster: acid-shop")
    await page.get_by_label("metadata.name", exact=True).fill("acid-copy")
    await page.get_by_role("button", name="Review and create").click()
    await page.get_by_role("button", name="Create", exact=True).click()
    await page.wait_for_url(f"**/objects/{PATH}/*/acid-copy")
    copy = await world.client.get(Postgresql, "acid-copy", NAMESPACE)
    source = await world.client.get(Postgresql, "acid-shop", NAMESPACE)
    assert copy.spec.clone == Clone(cluster="acid-shop", uid=source.metadata.uid)
    await world.until_state(State.RUNNING, "acid-copy")
    await page.goto(f"{console_url}/extensions/postgres/status/{NAMESPACE}/acid-shop")

    # An action of the extension.
    await page.get_by_role("link", name="Overview").click()
    await page.get_by_test_id("actions").click()
    await page.get_by_text("Synchronize now", exact=True).click()
    await page.get_by_test_id("action").get_by_role("button", name="Synchronize now").click()
    await expect(page.get_by_test_id("action-result")).to_have_text("The operator synchronizes the cluster.")

    # The deletion requires namespace and name.
    await page.goto(f"{console_url}/objects/{PATH}/{NAMESPACE}/acid-shop/delete")
    confirmation = page.get_by_label("Namespace and name of the object to delete")
    button = page.get_by_role("button", name="Delete", exact=True)
    await confirmation.fill("acid-shop")
    await expect(button).to_be_disabled()
    await confirmation.fill(f"{NAMESPACE}/acid-shop")
    await button.click()

    async def gone() -> bool:
        return await world.client.find(apps.StatefulSet, "acid-shop", NAMESPACE) is None

    await world.clock.advance_until(gone, limit=3600)


async def test_shows_the_queues_of_the_workers(
    world: World,
    running: kw.Running,
    console_url: str,
    page: Page,
    operator_port: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await page.goto(f"{console_url}/extensions/postgres/queues")
    await expect(page.get_by_test_id("empty")).to_contain_text("OPERATOR_API_URL")
    await world.client.create(minimal())
    await world.until_state(State.RUNNING)
    monkeypatch.setenv("OPERATOR_API_URL", f"http://127.0.0.1:{operator_port}")
    await page.reload()
    await expect(page.get_by_text("Worker 7")).to_be_visible()
    await expect(page.get_by_text(f"{NAMESPACE}/acid-minimal-cluster")).to_be_visible()  # until the next resync
    assert await violations(page) == []
    monkeypatch.setenv("OPERATOR_API_URL", "http://127.0.0.1:9")
    await page.reload()
    await expect(page.get_by_test_id("problem")).to_contain_text("OperatorUnreachable: http://127.0.0.1:9/status/")
