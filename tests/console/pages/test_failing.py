"""Failed reconciles: their objects are failing everywhere, and their errors are shown to viewers who may read them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Page, expect

import kubewright as kw
from kubewright.api import ObjectMeta, meta, rbac
from kubewright.cache import ObjectKey
from kubewright.client import MergePatch
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.console import Console, ObjectCache, Viewer
from kubewright.console.operators import InProcess, Operators, Remote
from kubewright.controller import Context
from kubewright.crd import install
from kubewright.operator import Operator, Running
from tests.operator.conftest import settled
from tests.patience import PATIENCE, until

PATH = "failing.console.example.com/kettles"


class KettleSpec(kw.Model):
    broken: bool = False


class KettleStatus(kw.Model):
    heat: str = ""
    conditions: list[meta.Condition] | None = None


@kw.resource("failing.console.example.com/v1", states=kw.States(".status.heat", ready=("Whistles",)))
class Kettle(kw.Resource[KettleSpec, KettleStatus]):
    """A kind whose reconciler fails on demand, and that declares its own states."""


def kettle(name: str, namespace: str, *, broken: bool = False) -> Kettle:
    return Kettle(metadata=ObjectMeta(name=name, namespace=namespace), spec=KettleSpec(broken=broken))


@pytest.fixture
def console_settings() -> dict[str, Any]:
    return {"only": [PATH]}


@pytest.fixture
async def running(cluster: Cluster, console: Console, cluster_namespace: str) -> AsyncIterator[Running]:
    """An operator whose reports the console shows."""
    operator = Operator("kettles", namespaces=[cluster_namespace], health_bind="127.0.0.1:0")

    @operator.reconciles(Kettle)
    async def boil(obj: Kettle, ctx: Context[Kettle]) -> None:
        if obj.spec.broken:
            raise kw.TerminalError("the spout is blocked")
        await ctx.set_status(KettleStatus(heat="Whistles"))

    async with cluster.client() as client:
        await install(client, Kettle)
        async with operator.running(client) as made:
            yield made


async def changed(cache: ObjectCache) -> None:
    """Waits for the next batch of changes."""
    heard = asyncio.Event()
    with cache.subscribe(lambda _batch: heard.set()):
        async with asyncio.timeout(PATIENCE):
            await heard.wait()


async def test_rows_show_failed_reconciles(
    cluster: Cluster, console: Console, running: Running, cluster_namespace: str
) -> None:
    async with cluster.client() as client:
        watched = console.operators.add(InProcess(running))
        await settled(running, await client.create(kettle("fine", cluster_namespace)))
        await settled(running, await client.create(kettle("broken", cluster_namespace, broken=True)))
        await watched.query()
        kind = await console.kind(PATH)
        assert kind is not None
        viewer = console.viewer()
        async with console.cache(kind) as cache:
            rows = {row["name"]: row for row in await cache.rows(viewer)}
            assert (rows["fine"]["state"], rows["fine"]["why"]) == ("ready", "Whistles")  # as the kind declares
            assert (rows["broken"]["state"], rows["broken"]["why"]) == ("failing", "reconcile failed, not retried")
            assert rows["broken"]["message"] == "TerminalError: the spout is blocked"
            again = {row["name"]: row for row in await cache.rows(viewer)}
            assert again["broken"] is rows["broken"]  # an unchanged failure sends nothing

            waiting = asyncio.create_task(changed(cache))
            await settled(
                running,
                await client.patch(Kettle, "broken", MergePatch({"spec": {"broken": False}}), cluster_namespace),
            )
            await watched.query()
            await waiting
            rows = {row["name"]: row for row in await cache.rows(viewer)}
            assert rows["broken"]["state"] == "ready"


async def test_remote_operator_reports_failing_objects(
    cluster: Cluster, running: Running, cluster_namespace: str
) -> None:
    async with cluster.client() as client:
        await settled(running, await client.create(kettle("broken", cluster_namespace, broken=True)))
        async with Operators(Remote(f"127.0.0.1:{running.servers[0].port}")) as operators:
            [operator] = operators
            await operator.query()
            found = operators.failures_of("failing.console.example.com", "Kettle")
            assert found[ObjectKey(cluster_namespace, "broken")].error == "TerminalError: the spout is blocked"

            await client.delete(Kettle, "broken", cluster_namespace)

            async def forgotten() -> bool:
                await operator.query()
                return not operators.failures_of("failing.console.example.com", "Kettle")

            await until(forgotten, "the deleted object to be forgotten")


async def test_states_change_with_time(cluster: Cluster, cluster_namespace: str) -> None:
    clock = VirtualClock()
    async with cluster.client() as client, Console(cluster.client(), only=[PATH], clock=clock) as console:
        await install(client, Kettle)
        made = await client.create(kettle("cold", cluster_namespace))
        waits = meta.Condition(
            type="Ready", status="False", reason="Waits", message="", last_transition_time=clock.now()
        )
        made.status.conditions = [waits]
        await client.update_status(made)
        kind = await console.kind(PATH)
        assert kind is not None
        async with console.cache(kind) as cache:
            [row] = await cache.rows(console.viewer())
            assert row["state"] == "progressing"
            heard = asyncio.Event()
            with cache.subscribe(lambda _batch: heard.set()):
                await clock.advance(301)
                assert heard.is_set()
            [row] = await cache.rows(console.viewer())
            assert row["state"] == "failing"


class TestErrorsNeedGet:
    """A viewer who may list but not get."""

    @pytest.fixture
    def cluster_settings(self) -> dict[str, Any]:
        return {"rbac": True}

    async def test_error_is_hidden_without_get(
        self, cluster: Cluster, console: Console, running: Running, cluster_namespace: str
    ) -> None:
        async with cluster.client() as client:
            where = ObjectMeta(name="lister", namespace=cluster_namespace)
            rule = rbac.PolicyRule(api_groups=["failing.console.example.com"], resources=["kettles"], verbs=["list"])
            await client.create(rbac.Role(metadata=where, rules=[rule]))
            role = rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name="lister")
            subject = rbac.Subject(api_group="rbac.authorization.k8s.io", kind="User", name="lister")
            await client.create(rbac.RoleBinding(metadata=where, role_ref=role, subjects=[subject]))
            watched = console.operators.add(InProcess(running))
            await settled(running, await client.create(kettle("broken", cluster_namespace, broken=True)))
            await watched.query()
            kind = await console.kind(PATH)
            assert kind is not None
            viewer = Viewer("lister", cluster.client_as("lister"), namespaces=console.all_namespaces)
            async with console.cache(kind) as cache:
                [row] = await cache.rows(viewer)
                assert (row["state"], row["message"]) == ("failing", "reconcile failed, not retried")
                [row] = await cache.rows(console.viewer())
                assert row["message"] == "TerminalError: the spout is blocked"


@pytest.mark.browser
@pytest.mark.promise(
    "Lists and layout of the console",
    "An object whose last reconcile failed is failing, in lists, counts, search and on its page.",
)
async def test_pages_show_failed_reconciles(
    cluster: Cluster, console: Console, running: Running, console_url: str, page: Page, cluster_namespace: str
) -> None:
    async with cluster.client() as client:
        watched = console.operators.add(InProcess(running))
        await settled(running, await client.create(kettle("fine", cluster_namespace)))
        await settled(running, await client.create(kettle("broken", cluster_namespace, broken=True)))
        await watched.query()
        await page.goto(f"{console_url}/?namespace={cluster_namespace}")
        await page.locator(f'[data-kind="{PATH}"]').get_by_text("1 failing").click()
        await expect(page.get_by_text("1 of 2 objects")).to_be_visible()
        await page.get_by_role("link", name="broken").click()
        await expect(page.get_by_test_id("object-state")).to_contain_text("failing")
        await page.goto(f"{console_url}/search?q=broken")
        await expect(page.get_by_role("main").get_by_text("failing", exact=True)).to_be_visible()
        await client.patch(Kettle, "broken", MergePatch({"spec": {"broken": False}}), cluster_namespace)
        await page.goto(f"{console_url}/objects/{PATH}/{cluster_namespace}/broken")
        await expect(page.get_by_test_id("object-state")).to_contain_text("ready")


@pytest.mark.browser
@pytest.mark.promise(
    "Lists and layout of the console",
    "The problems page lists failing objects of all kinds with error, duration and link, as far as they are visible.",
)
async def test_problems_page_lists_failing_objects(
    cluster: Cluster, console: Console, running: Running, console_url: str, page: Page, cluster_namespace: str
) -> None:
    async with cluster.client() as client:
        watched = console.operators.add(InProcess(running))
        await settled(running, await client.create(kettle("fine", cluster_namespace)))
        await watched.query()
        await page.goto(f"{console_url}/problems?namespace={cluster_namespace}")
        await expect(page.get_by_test_id("empty")).to_contain_text("No problems.")
        await settled(running, await client.create(kettle("broken", cluster_namespace, broken=True)))
        row = page.get_by_test_id("problem-row")
        await expect(row).to_contain_text("TerminalError: the spout is blocked")
        await expect(row).to_contain_text("ago")
        await row.get_by_role("link", name="Kettle").click()
        await expect(page.get_by_text("1 of 2 objects")).to_be_visible()
        await expect(page.get_by_role("gridcell", name="TerminalError: the spout is blocked")).to_be_visible()
        await page.keyboard.press("g")
        await page.keyboard.press("p")
        await expect(page.get_by_role("heading", name="Problems")).to_be_visible()
        await page.get_by_role("link", name="broken").click()
        await expect(page.get_by_test_id("object-name")).to_have_text("broken")
