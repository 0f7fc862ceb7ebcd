"""Names that somebody else has: `deploy` takes over nothing, and `undeploy` removes nothing, that is not its own."""

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
    """What a command told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def __call__(self, did: str, what: str) -> None:
        self.told.append(f"{did} {what}")


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


async def test_what_others_have_applied_of_the_project_is_known_by_its_labels(client: Client, project: Project) -> None:
    for obj in objects(project):  # as `kubectl apply` does with the files of `kubewright installer`
        await client.writing_as("kubectl").apply(obj)
    steps = Steps()
    await deploy(client, project, steps)
    assert {told.partition(" ")[0] for told in steps.told} == {"applied"}


async def test_an_object_of_another_owner_is_named_with_its_owner_before_anything_is_written(
    client: Client, project: Project
) -> None:
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


async def test_what_the_project_has_made_is_applied_again_whoever_has_changed_it(
    client: Client, project: Project
) -> None:
    await deploy(client, project, Steps())
    role = next(obj for obj in objects(project) if isinstance(obj, rbac.ClusterRole))
    found = await client.get(rbac.ClusterRole, role.metadata.name)
    del found.metadata.labels["app.kubernetes.io/managed-by"]
    found.rules = []
    await client.writing_as("kubectl-edit").update(found)
    await deploy(client, project, Steps())
    mended = await client.get(rbac.ClusterRole, role.metadata.name)
    assert (mended.rules, mended.metadata.labels) == (role.rules, role.metadata.labels)


async def test_a_namespace_that_is_there_stays_as_it_is_and_stays_there(client: Client, project: Project) -> None:
    theirs = core.Namespace(metadata=ObjectMeta(name=project.namespace))
    before = await client.writing_as("kubectl-create").create(theirs)
    steps = Steps()
    await deploy(client, project, steps)
    assert f"kept Namespace {project.namespace}, which was created by kubectl-create" in steps.told
    assert (await client.get(core.Namespace, project.namespace)).metadata.labels == before.metadata.labels
    await undeploy(client, project, steps)
    assert await client.find(core.Namespace, project.namespace) is not None


async def test_what_is_of_another_owner_is_not_removed(client: Client, project: Project) -> None:
    role = next(obj for obj in objects(project) if isinstance(obj, rbac.ClusterRole))
    theirs = rbac.ClusterRole(metadata=ObjectMeta(name=role.metadata.name, labels={"whose": "theirs"}))
    await client.writing_as("kubectl-create").create(theirs)
    steps = Steps()
    await undeploy(client, project, steps)
    kept = (
        f"kept ClusterRole {role.metadata.name}, which does not belong to this project, but was created by"
        " kubectl-create"
    )
    assert kept in steps.told
    assert await client.find(rbac.ClusterRole, role.metadata.name) is not None


async def test_a_definition_whose_names_are_taken_says_which_and_by_whom(client: Client, project: Project) -> None:
    await install(client, Pager)
    with pytest.raises(InstallError, match=r"pages.names.example.com: NamesAccepted is False .*pg") as refused:
        await deploy(client, project, Steps())
    assert str(refused.value).endswith("; pg belongs to pagers.names.example.com")
