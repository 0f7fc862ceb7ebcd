"""Special objects in a browser: running pods, and objects that do not fit their model."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page, expect

import kubewright as kw
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.console import Console
from kubewright.console.operators import InProcess
from tests.console.screenshots import shoot
from tests.console.stalls import Stall, address, operator_of, stall, stalls_defined
from tests.operator.conftest import install

pytestmark = pytest.mark.browser


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    """A cluster whose Deployments get pods."""
    return {"controllers": True, "workloads": True}


@pytest.mark.promise(
    "Objects and operators in the console",
    "An object's page shows its reconciliation, conditions with history, and owned objects, live.",
)
async def test_tree_includes_pods_of_a_deployment_and_their_events(
    cluster: Cluster, console: Console, cluster_namespace: str, console_url: str, page: Page
) -> None:
    client, namespace = cluster.client(), cluster_namespace
    await stalls_defined(client)
    async with operator_of([namespace]).running(client, install_crds=False) as running:
        operator = console.operators.add(InProcess(running))
        await operator.query()
        await client.create(stall("fruit", namespace, replicas=3))
        await page.goto(console_url + address("fruit", namespace))
        await expect(page.get_by_test_id("owned").locator(".kw-node", has_text="Pod")).to_have_count(3)
        await expect(page.get_by_test_id("owned").locator(".kw-node .kw-ready")).to_have_count(
            6
        )  # also the Stall itself
        await shoot(page, "object-tree")
        await page.get_by_role("tab", name="Events").click()
        events = page.get_by_test_id("event")
        await expect(events.filter(has_text="SuccessfulCreate").first).to_be_visible()
        await expect(events.filter(has_text="ScalingReplicaSet").first).to_contain_text("Deployment fruit-stall")
        await shoot(page, "events")
        await client.delete(Stall, "fruit", namespace)
        await expect(page.get_by_test_id("gone")).to_be_visible()


class LooseSpec(kw.Model):
    size: int = 0


@kw.resource("looks.console.example.com/v1", plural="looses")
class Loose(kw.Resource[LooseSpec, None]):
    """A kind whose server accepts any value."""


DEFINITION: dict[str, Any] = {
    "metadata": {"name": "looses.looks.console.example.com"},
    "spec": {
        "group": "looks.console.example.com",
        "names": {"kind": "Loose", "plural": "looses", "singular": "loose", "listKind": "LooseList"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


@pytest.mark.promise(
    "Objects and operators in the console",
    "A terminating object names its finalizers, a deleted one stays on the page, an undecodable one names the field.",
)
@pytest.mark.clusters
async def test_undecodable_object_names_the_field(
    client: Client, console: Console, namespace: str, console_url: str, page: Page
) -> None:
    await install(client, DEFINITION)
    made = kw.Operator("loose-operator", namespaces=[namespace])

    @made.reconciles(Loose)
    async def sync(obj: Loose, ctx: kw.Context[Loose]) -> None: ...

    async with made.running(client, install_crds=False) as running:
        operator = console.operators.add(InProcess(running))
        body = {
            "apiVersion": "looks.console.example.com/v1",
            "kind": "Loose",
            "metadata": {"name": "odd", "namespace": namespace},
            "spec": {"size": "huge"},
            "status": {"conditions": [{"type": "<b>Ready</b>", "status": "False" * 60, "message": "<i>no</i>"}, 7]},
        }
        await client.request("POST", f"/apis/looks.console.example.com/v1/namespaces/{namespace}/looses", body=body)
        await operator.query()
        await page.goto(f"{console_url}/objects/looks.console.example.com/looses/{namespace}/odd")
        await expect(page.get_by_test_id("undecodable")).to_contain_text("spec.size")
        await expect(page.get_by_test_id("conditions")).to_contain_text("<b>Ready</b>")
        await expect(page.get_by_test_id("conditions")).to_contain_text("<i>no</i>")
        await expect(page.get_by_test_id("more")).to_have_text("1 more in the YAML.")
        assert await page.get_by_test_id("conditions").evaluate("card => card.scrollWidth <= card.clientWidth")
