"""Unreachable webhooks and missing kinds are reported before they make a write fail."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

import kubewright as kw
from kubewright.api import core, discovery, meta
from kubewright.client import ApiError, Client
from kubewright.cluster import Cluster
from kubewright.deployment import Finding, NotServed, deploy, examine, has_only_simulated_nodes
from kubewright.manifests import Project
from tests.patience import until


class BookSpec(kw.Model):
    title: str = ""


@kw.resource("reachable.example.com/v1")
class Book(kw.Resource[BookSpec, None]):
    """A kind with a webhook."""


operator = kw.Operator("reachable")


@operator.reconciles(Book)
async def sync(book: Book, ctx: kw.Context[Book]) -> None: ...


@operator.defaults(Book)
def fill_in(book: Book) -> None:
    book.spec.title = book.spec.title or "untitled"


PROJECT = Project(operator=operator, target="reachable.py", image="registry.example.com/reachable:1.0.0")
BOOK = Book(metadata=meta.ObjectMeta(name="one", namespace="default"), spec=BookSpec())


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with Cluster(workloads=True) as cluster, cluster.client() as client:
        yield client


async def deployed(client: Client) -> list[str]:
    steps: list[str] = []
    await deploy(client, PROJECT, lambda what, obj: steps.append(f"{what} {obj}"))
    return steps


async def until_ready(client: Client) -> None:
    async def ready() -> bool:
        slices = await client.list(discovery.EndpointSlice, "reachable-system")
        return any(one.conditions and one.conditions.ready for part in slices for one in part.endpoints or ())

    await until(ready)


async def findings(client: Client, *projects: Project) -> list[Finding]:
    found = [one async for one in examine(client, [operator], [Book], projects=projects)]
    return [one for one in found if "Service" in one.what or "serve " in one.what]


async def test_reports_unreachable_webhook_on_simulated_nodes(client: Client) -> None:
    assert await has_only_simulated_nodes(client)
    await deployed(client)
    await until_ready(client)
    with pytest.raises(ApiError, match=r"nothing listens at [\d.]+:9443, the endpoint of service .*`kubewright dev`"):
        await client.create(BOOK)
    [found] = await findings(client)
    assert (found.state, "reachable-system/reachable-webhook, where nothing listens" in found.what) == ("error", True)
    assert "kubewright dev" in found.advice


async def test_doctor_reports_webhooks_without_endpoints_or_service(client: Client) -> None:
    assert await findings(client) == []
    await deployed(client)
    await client.delete(core.Service, "reachable-webhook", "reachable-system")
    [found] = await findings(client)
    assert found.what.endswith("which does not exist: creates and updates fail")
    nowhere = core.ServiceSpec(selector={"app": "no-such"}, ports=[core.ServicePort(port=443)])
    place = meta.ObjectMeta(name="reachable-webhook", namespace="reachable-system")
    await client.create(core.Service(metadata=place, spec=nowhere))
    [found] = await findings(client)
    assert (found.state, found.what.endswith("which has no ready endpoint: creates and updates fail")) == (
        "error",
        True,
    )


async def test_doctor_accepts_endpoints_on_real_nodes(client: Client) -> None:
    await deployed(client)
    await until_ready(client)
    async for node in client.list(core.Node):
        assert node.status.node_info is not None
        node.status.node_info.container_runtime_version = "containerd://2.1"
        await client.update(node, subresource="status")
    assert not await has_only_simulated_nodes(client)
    assert [one.state for one in await findings(client)] == ["ok"]


async def test_deploys_nothing_if_cert_manager_is_missing(client: Client) -> None:
    project = Project(operator=operator, target="reachable.py", image="a:1", certificates="cert-manager")
    steps: list[str] = []
    with pytest.raises(
        NotServed, match=r"does not serve (Issuer|Certificate) \(cert-manager.io/v1\): install cert-man"
    ) as error:
        await deploy(client, project, lambda what, obj: steps.append(what))
    assert str(error.value).endswith("Nothing was changed")
    assert steps == []
    assert await client.find(core.Namespace, "reachable-system") is None
    assert {one.state for one in await findings(client, project)} == {"error"}
    assert 'Project(certificates="self-managed")' in (await findings(client, project))[0].advice
