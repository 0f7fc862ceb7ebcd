"""Actions on an object: reconcile now, pause, resume, scale, restart, copy as kubectl."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from playwright.async_api import Page, expect

import kubewright as kw
from kubewright.api import ObjectMeta
from kubewright.cluster import Cluster
from kubewright.console import Console
from kubewright.console.actions import Action, actions_of, kubectl, scaled_to
from kubewright.console.forms import Writer
from kubewright.console.operators import InProcess
from kubewright.controller import RECONCILE_ANNOTATION, generation_changed
from kubewright.crd import install
from kubewright.operator import Operator
from kubewright.pausing import PAUSE_ANNOTATION
from tests.operator.conftest import settled
from tests.patience import PATIENCE, until

PATH = "actions.console.example.com/engines"


class EngineSpec(kw.Model):
    replicas: int = 1


class EngineStatus(kw.Model):
    replicas: int = 0


@kw.resource("actions.console.example.com/v1", scale_subresource=True)
class Engine(kw.Resource[EngineSpec, EngineStatus]):
    """A kind that can be scaled."""


def engine(namespace: str) -> Engine:
    return Engine(metadata=ObjectMeta(name="v8", namespace=namespace), spec=EngineSpec())


@pytest.fixture
def console_settings() -> dict[str, Any]:
    return {"only": [PATH, "apps/deployments", "core/configmaps"]}


async def test_actions_depend_on_the_kind(cluster: Cluster, console: Console) -> None:
    async with cluster.client() as client:
        await install(client, Engine)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    found = {}
    for path in (PATH, "apps/deployments", "core/configmaps"):
        kind = await console.kind(path)
        assert kind is not None
        found[path] = {one.name: one for one in actions_of(kind, "shop", "it", {"spec": {"replicas": 3}}, now)}
    assert [*found[PATH]] == ["reconcile", "pause", "scale"]
    assert [*found["apps/deployments"]] == ["scale", "restart"]
    assert not found["core/configmaps"]
    assert found[PATH]["reconcile"].command == (
        "kubectl annotate engines.actions.console.example.com/it --namespace shop --overwrite "
        f"{RECONCILE_ANNOTATION}=2026-01-01T00:00:00Z"
    )
    assert found["apps/deployments"]["scale"].replicas == 3
    kind = await console.kind("core/configmaps")
    assert kind is not None
    assert kubectl("get", kind, "shop", "a b", "--output yaml") == (
        "kubectl get configmaps 'a b' --namespace shop --output yaml"
    )


async def test_paused_object_offers_to_resume(cluster: Cluster, console: Console) -> None:
    async with cluster.client() as client:
        await install(client, Engine)
    kind = await console.kind(PATH)
    assert kind is not None
    command = "kubectl annotate engines.actions.console.example.com/it --namespace shop"

    def action(values: Any) -> Action:
        obj = {"metadata": {"annotations": values}}
        found = {one.name: one for one in actions_of(kind, "shop", "it", obj, datetime(2026, 1, 1, tzinfo=UTC))}
        assert len(found.keys() & {"pause", "resume"}) == 1
        return found.get("pause") or found["resume"]

    for values in (None, {}, {PAUSE_ANNOTATION: "false"}, {PAUSE_ANNOTATION: 1}):
        pause = action(values)
        assert pause.patch == {"metadata": {"annotations": {PAUSE_ANNOTATION: "true"}}}
        assert pause.command == f"{command} --overwrite {PAUSE_ANNOTATION}=true"
    resume = action({PAUSE_ANNOTATION: "yes"})
    assert resume.patch == {"metadata": {"annotations": {PAUSE_ANNOTATION: None}}}
    assert resume.command == f"{command} {PAUSE_ANNOTATION}-"


async def test_requested_reconcile_passes_every_predicate(cluster: Cluster, cluster_namespace: str) -> None:
    ran = asyncio.Queue[str]()
    operator = Operator("engines", namespaces=[cluster_namespace])

    @operator.reconciles(Engine, when=generation_changed)
    async def run(obj: Engine, ctx: kw.Context[Engine]) -> None:
        ran.put_nowait(obj.metadata.annotations.get(RECONCILE_ANNOTATION, ""))

    async with cluster.client() as client, asyncio.timeout(PATIENCE):
        await install(client, Engine)
        async with operator.running(client) as running:
            made = await client.create(engine(cluster_namespace))
            await settled(running, made)
            assert await ran.get() == ""
            writer = Writer(client, kw.Untyped.kind_of("actions.console.example.com/v1", "Engine", plural="engines"))
            for patch in ({"metadata": {"annotations": {"other": "1"}}}, _request("now")):
                await writer.patch("v8", cluster_namespace, made.metadata.uid or "", patch)
            assert await ran.get() == "now"
            assert ran.empty()  # the other annotation did not pass the predicate


def _request(at: str) -> dict[str, Any]:
    return {"metadata": {"annotations": {RECONCILE_ANNOTATION: at}}}


@pytest.mark.clusters
async def test_patch_writes_only_the_object_with_the_uid(cluster: Any, cluster_namespace: str) -> None:
    async with cluster.client() as client:
        await install(client, Engine)
        made = await client.create(engine(cluster_namespace))
        kind = kw.Untyped.kind_of(
            "actions.console.example.com/v1", "Engine", plural="engines", subresources=frozenset(["scale"])
        )
        writer = Writer(client, kind)
        with pytest.raises(kw.ApiError):
            await writer.patch("v8", cluster_namespace, "another-uid", _request("now"))
        await writer.patch("v8", cluster_namespace, made.metadata.uid or "", scaled_to(4), "scale")
        found = await client.get(Engine, "v8", cluster_namespace)
        assert found.spec.replicas == 4
        assert not found.metadata.annotations


@pytest.mark.browser
@pytest.mark.promise(
    "Objects and operators in the console",
    "Actions show the kubectl command that does the same, and run with the credentials of the viewer.",
)
async def test_actions_of_an_object_page(
    cluster: Cluster, console_url: str, page: Page, cluster_namespace: str
) -> None:
    async with cluster.client() as client:
        await install(client, Engine)
        await client.create(engine(cluster_namespace))
        await page.goto(f"{console_url}/objects/{PATH}/{cluster_namespace}/v8")
        await page.get_by_test_id("actions").click()
        await page.get_by_text("Scale", exact=True).click()
        dialog = page.get_by_test_id("action")
        await dialog.get_by_label("Replicas").fill("3")
        await expect(dialog).to_contain_text("--replicas=3")
        await dialog.get_by_role("button", name="Scale").click()
        await expect(dialog).to_be_hidden()
        assert (await client.get(Engine, "v8", cluster_namespace)).spec.replicas == 3

        await page.get_by_test_id("actions").click()
        await page.get_by_text("Reconcile now", exact=True).click()
        await dialog.get_by_role("button", name="Reconcile now").click()
        await expect(dialog).to_be_hidden()
        assert RECONCILE_ANNOTATION in (await client.get(Engine, "v8", cluster_namespace)).metadata.annotations

        await page.get_by_test_id("actions").click()
        await page.get_by_text("Pause", exact=True).click()
        await expect(dialog).to_contain_text(f"{PAUSE_ANNOTATION}=true")
        await dialog.get_by_role("button", name="Pause").click()
        await expect(dialog).to_be_hidden()
        await expect(page.get_by_test_id("object-state")).to_contain_text("suspended")
        await page.get_by_test_id("actions").click()
        await page.get_by_text("Resume", exact=True).click()
        await dialog.get_by_role("button", name="Resume").click()
        await expect(dialog).to_be_hidden()
        await expect(page.get_by_test_id("object-state")).not_to_contain_text("suspended")
        assert PAUSE_ANNOTATION not in (await client.get(Engine, "v8", cluster_namespace)).metadata.annotations

        await page.get_by_test_id("actions").click()
        await page.get_by_text("Copy as kubectl").click()
        await expect(page.get_by_role("dialog", name="Copy as kubectl")).to_contain_text(
            f"kubectl edit engines.actions.console.example.com v8 --namespace {cluster_namespace}"
        )


async def opened(page: Page, title: str) -> bool:
    """Opens the menu of actions. Returns whether it has an entry: an update of the page may replace the menu."""
    await page.get_by_test_id("actions").click()
    try:
        await expect(page.get_by_text(title, exact=True)).to_be_visible(timeout=2_000)
    except AssertionError:
        return False
    return True


@pytest.mark.promise(
    "Objects and operators in the console",
    "Pause and resume use the annotation of the kind's operator.",
)
@pytest.mark.browser
async def test_pause_uses_the_annotation_of_the_operator(
    cluster: Cluster, console: Console, console_url: str, page: Page, cluster_namespace: str
) -> None:
    operator = Operator("engine-operator", namespaces=[cluster_namespace], pause_annotation="example.com/hold")

    @operator.reconciles(Engine)
    async def run(obj: Engine, ctx: kw.Context[Engine]) -> None:
        pass

    client = cluster.client()
    await install(client, Engine)
    async with client, operator.running(client, install_crds=False) as running:
        connected = console.operators.add(InProcess(running))
        await settled(running, await client.create(engine(cluster_namespace)))
        await connected.query()
        await page.goto(f"{console_url}/objects/{PATH}/{cluster_namespace}/v8")
        dialog = page.get_by_test_id("action")
        for title, value in (("Pause", "true"), ("Resume", None)):
            await until(partial(opened, page, title))
            await page.get_by_text(title, exact=True).click()
            await expect(dialog).to_contain_text("example.com/hold")
            await dialog.get_by_role("button", name=title).click()
            await expect(dialog).to_be_hidden()
            annotations = (await client.get(Engine, "v8", cluster_namespace)).metadata.annotations
            assert annotations.get("example.com/hold") == value
            assert PAUSE_ANNOTATION not in annotations


@pytest.mark.browser
async def test_open_menu_survives_changes_of_the_object(
    cluster: Cluster, console_url: str, page: Page, cluster_namespace: str
) -> None:
    async with cluster.client() as client:
        await install(client, Engine)
        made = await client.create(engine(cluster_namespace))
        await page.goto(f"{console_url}/objects/{PATH}/{cluster_namespace}/v8")
        await expect(page.get_by_text("generation 1 ")).to_be_visible()
        await page.get_by_test_id("actions").click()
        await expect(page.get_by_text("Pause", exact=True)).to_be_visible()
        made.spec.replicas = 2
        await client.update(made)
        await expect(page.get_by_text("generation 2 ")).to_be_visible()
        await page.get_by_text("Pause", exact=True).click()
        await expect(page.get_by_test_id("action")).to_contain_text(f"{PAUSE_ANNOTATION}=true")
