"""Objects of other owners: `deploy` does not take them over, and `undeploy` does not remove them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

import kubewright as kw
from kubewright.api import ObjectMeta, core, rbac
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.crd import InstallError, install
from kubewright.deployment import NameTaken, deploy, undeploy
from kubewright.manifests import Project, objects

HELM = {"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/name": "shop"}


class Spec(kw.Model):
    size: int = 0


@kw.resource("names.example.com/v1", short_names=["pg"])
class Page(kw.Resource[Spec, None]): ...


@kw.resource("names.example.com/v1", short_names=["pg"])
class Pager(kw.Resource[Spec, None]): ...


class Steps:
    """The reported steps."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, did: str, what: str) -> None:
        self.lines.append(f"{did} {what}")


@pytest.fixture
def project() -> Project:
    operator = kw.Operator("page-operator")

    @operator.reconciles(Page)
    async def sync(page: Page, ctx: kw.Context[Page]) -> None: ...

    return Project(operator=operator, target="page.py")


@pytest_asyncio.fixture
async def client() -> AsyncIterator[Client]:
    async with Cluster(seed=1) as cluster, cluster.client() as client:
        yield client


async def test_recognizes_the_projects_objects_by_their_labels(client: Client, project: Project) -> None:
    for obj in objects(project):  # as `kubectl apply` does with the files of `kubewright installer`
        await client.writing_as("kubectl").apply(obj)
    steps = Steps()
    await deploy(client, project, steps)
    assert {line.partition(" ")[0] for line in steps.lines} == {"applied"}


async def test_reports_object_of_another_owner_before_writing(client: Client, project: Project) -> None:
    role = next(obj for obj in objects(project) if isinstance(obj, rbac.ClusterRole))
    theirs = rbac.ClusterRole(metadata=ObjectMeta(name=role.metadata.name, labels=HELM))
    before = await client.writing_as("kubectl-create").create(theirs)
    with pytest.raises(NameTaken) as refused:
        await deploy(client, project, Steps())
    assert str(refused.value) == (
        f"ClusterRole {role.metadata.name} was created by kubectl-create (managed by Helm, part of shop):"
        " delete it, or give the operator another name. Nothing was changed"
    )
    assert (await client.get(rbac.ClusterRole, role.metadata.name)).metadata == before.metadata
    assert await client.find(core.Namespace, project.namespace) is None


async def test_reapplies_the_projects_objects_after_changes_by_other_clients(client: Client, project: Project) -> None:
    await deploy(client, project, Steps())
    role = next(obj for obj in objects(project) if isinstance(obj, rbac.ClusterRole))
    found = await client.get(rbac.ClusterRole, role.metadata.name)
    del found.metadata.labels["app.kubernetes.io/managed-by"]
    found.rules = []
    await client.writing_as("kubectl-edit").update(found)
    await deploy(client, project, Steps())
    restored = await client.get(rbac.ClusterRole, role.metadata.name)
    assert (restored.rules, restored.metadata.labels) == (role.rules, role.metadata.labels)


async def test_does_not_change_or_remove_an_existing_namespace(client: Client, project: Project) -> None:
    theirs = core.Namespace(metadata=ObjectMeta(name=project.namespace))
    before = await client.writing_as("kubectl-create").create(theirs)
    steps = Steps()
    await deploy(client, project, steps)
    assert f"kept Namespace {project.namespace}, which was created by kubectl-create" in steps.lines
    assert (await client.get(core.Namespace, project.namespace)).metadata.labels == before.metadata.labels
    await undeploy(client, project, steps)
    assert await client.find(core.Namespace, project.namespace) is not None


async def test_does_not_remove_an_object_of_another_owner(client: Client, project: Project) -> None:
    role = next(obj for obj in objects(project) if isinstance(obj, rbac.ClusterRole))
    theirs = rbac.ClusterRole(metadata=ObjectMeta(name=role.metadata.name, labels={"whose": "theirs"}))
    await client.writing_as("kubectl-create").create(theirs)
    steps = Steps()
    await undeploy(client, project, steps)
    kept = (
        f"kept ClusterRole {role.metadata.name}, which does not belong to this project, but was created by"
        " kubectl-create"
    )
    assert kept in steps.lines
    assert await client.find(rbac.ClusterRole, role.metadata.name) is not None


async def test_reports_definition_that_owns_a_taken_name(client: Client, project: Project) -> None:
    await install(client, Pager)
    with pytest.raises(InstallError, match=r"pages.names.example.com: NamesAccepted is False .*pg") as refused:
        await deploy(client, project, Steps())
    assert str(refused.value).endswith("; pg belongs to pagers.names.example.com")
