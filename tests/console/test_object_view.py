"""The parts of an object that a viewer sees, by role, on both clusters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
from playwright.async_api import expect

from kubewright.api import ObjectMeta, OwnerReference, authorization, core, rbac
from kubewright.cache import ObjectKey
from kubewright.client import Client, MergePatch
from kubewright.cluster import Cluster
from kubewright.console import Console, Viewer
from kubewright.console._object_view import ObjectView  # private: the model of a page, tested without a browser
from kubewright.console.operators import InProcess
from kubewright.operator import Running
from kubewright.testing import RealCluster
from tests.console.conftest import OpenPage
from tests.console.stalls import PATH, Stall, address, grown, operator_of, stall, stalls_defined
from tests.operator.conftest import settled
from tests.patience import until

pytestmark = pytest.mark.clusters

USER = "looks-visitor"


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    return {"rbac": True}


@pytest.fixture
async def console(cluster: Cluster | RealCluster) -> AsyncIterator[Console]:
    """A console whose invitations sign in a user with few permissions."""

    class AsVisitor(Console):
        async def local_viewer(self) -> Viewer:
            return self._viewer(USER, cluster.client_as(USER))

    async with AsVisitor(cluster.client(), name="tests") as made:
        yield made


@pytest.fixture
async def running(client: Client, console: Console, namespace: str) -> AsyncIterator[Running]:
    """An operator in this process, a stall, and its dependents."""
    await stalls_defined(client)
    async with operator_of([namespace]).running(client, install_crds=False) as made:
        operator = console.operators.add(InProcess(made))
        await settled(made, await client.create(stall("fruit", namespace)))
        await grown(client, namespace, "fruit")
        await settled(made, await client.patch(Stall, "fruit", MergePatch({"spec": {"replicas": 2}}), namespace))
        await operator.query()
        yield made
        await console.operators.remove(operator)


Rule = tuple[str, str, Sequence[str]]
"""A group, a resource, and verbs."""


class Grants:
    """The visitor's permissions in the test's namespace."""

    def __init__(self, cluster: Cluster | RealCluster, client: Client, namespace: str) -> None:
        self._visitor = cluster.client_as(USER)
        self._client = client
        self._namespace = namespace

    async def __call__(self, *rules: Rule) -> None:
        """Grants the visitor a role, and waits until the server enforces it: it caches roles."""
        given = [rbac.PolicyRule(api_groups=[group], resources=[name], verbs=[*verbs]) for group, name, verbs in rules]
        await self._client.create(rbac.Role(metadata=self._meta(), rules=given))
        reference = rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name=USER)
        subject = rbac.Subject(kind="User", name=USER, api_group="rbac.authorization.k8s.io")
        await self._client.create(rbac.RoleBinding(metadata=self._meta(), role_ref=reference, subjects=[subject]))
        for rule in rules:
            await until(partial(self._granted, rule))

    def _meta(self) -> ObjectMeta:
        return ObjectMeta(name=USER, namespace=self._namespace)

    async def _granted(self, rule: Rule) -> bool:
        group, name, verbs = rule
        asked = authorization.ResourceAttributes(group=group, resource=name, verb=verbs[-1], namespace=self._namespace)
        spec = authorization.SelfSubjectAccessReviewSpec(resource_attributes=asked)
        answer = await self._visitor.create(authorization.SelfSubjectAccessReview(spec=spec))
        return answer.status is not None and answer.status.allowed


@pytest.fixture
def allow(cluster: Cluster | RealCluster, client: Client, namespace: str) -> Grants:
    return Grants(cluster, client, namespace)


@asynccontextmanager
async def looking(console: Console, namespace: str, name: str = "fruit", path: str = PATH) -> AsyncIterator[ObjectView]:
    kind = await console.kind(path)
    assert kind is not None
    changed = asyncio.Event()
    view = ObjectView(console, await console.local_viewer(), kind, ObjectKey(namespace, name), changed.set)
    try:
        await view.open()
        await view.open_others()
        await view.refresh()
        yield view
    finally:
        view.close()


def names(view: ObjectView) -> list[str]:
    return [node.key.name for node in view.tree.walk()]


STALLS = ("looks.console.example.com", "stalls", ["get", "list"])


@pytest.mark.promise(
    "Objects and operators in the console",
    "Dependents and events require `list`; the operator's reports require `get` on the object.",
)
@pytest.mark.usefixtures("running")
async def test_dependents_and_events_require_list(allow: Grants, console: Console, namespace: str) -> None:
    await allow(STALLS, ("apps", "deployments", ["list"]))
    async with looking(console, namespace) as view:
        assert names(view) == ["fruit-stall"]
        assert {kind.plural for kind in view.unlisted} == {"replicasets", "pods"}
        assert ([*view.events], view.events_problem) == ([], "You may not list events in this namespace.")


@pytest.mark.promise(
    "Objects and operators in the console",
    "The owner graph shows owners above and owned objects below that the viewer may see, and names hidden kinds.",
)
@pytest.mark.usefixtures("running")
async def test_owners_require_permission(allow: Grants, console: Console, namespace: str) -> None:
    await allow(("apps", "replicasets", ["get"]), ("apps", "deployments", ["list"]), ("", "pods", ["list"]))
    async with looking(console, namespace, "fruit-stall-1-a", "core/pods") as view:
        found = [[(node.kind.kind, node.key.name) for node in level] for level in view.ancestry.levels]
        assert found == [[("ReplicaSet", "fruit-stall-1")], [("Deployment", "fruit-stall")]]
        assert [kind.plural for kind in view.ancestry.hidden] == ["stalls"]
        assert (view.ancestry.missing, view.ancestry.truncated) == ((), False)


@pytest.mark.usefixtures("running")
async def test_reports_missing_owners_and_bounds_them(
    allow: Grants, client: Client, console: Console, namespace: str
) -> None:
    await allow(("*", "*", ["get", "list"]))

    def owner(kind: str, uid: str, version: str = "v1") -> OwnerReference:
        return OwnerReference(api_version=version, kind=kind, name=f"owner-{uid}", uid=uid)

    owners = [owner("Unheard", "a", "example.com/v1"), *(owner("ConfigMap", f"{at}") for at in range(30))]
    held = ["example.com/held"]  # the garbage collector would delete it
    about = ObjectMeta(name="orphan", namespace=namespace, owner_references=owners, finalizers=held)
    await client.create(core.ConfigMap(metadata=about))
    async with looking(console, namespace, "orphan", "core/configmaps") as view:
        assert view.ancestry.levels == ()
        assert view.ancestry.missing[:2] == ("Unheard owner-a", "ConfigMap owner-0")
        assert len(view.ancestry.missing) == 10
        assert view.ancestry.truncated
    await client.patch(core.ConfigMap, "orphan", MergePatch({"metadata": {"finalizers": None}}), namespace)


@pytest.mark.promise(
    "Objects and operators in the console",
    "Values that a write changed require `get` on the written object.",
)
@pytest.mark.usefixtures("running")
async def test_administrator_sees_everything(allow: Grants, console: Console, namespace: str) -> None:
    await allow(("*", "*", ["get", "list"]))
    async with looking(console, namespace) as view:
        assert names(view) == ["fruit-stall", "fruit-stall-1", "fruit-stall-1-a"]
        assert view.unlisted == []
        [status] = view.controllers
        shown = [
            wrote.lines for turn in status.entries for wrote in turn.writes if "deployments" in wrote.record.resource
        ]
        assert any(lines and any("replicas: 2" in line.text for line in lines) for lines in shown)
        assert [line.message for line in status.logs][-1] == "looking after 2 replicas"


@pytest.mark.promise(
    "Objects and operators in the console",
    "Values that a write changed require `get` on the written object.",
)
@pytest.mark.usefixtures("running")
async def test_operator_reports_require_get_on_object_and_written_objects(
    allow: Grants, console: Console, namespace: str
) -> None:
    await allow(STALLS)
    async with looking(console, namespace) as view:
        [status] = view.controllers
        writes = [wrote for turn in status.entries for wrote in turn.writes]
        for wrote in writes:
            assert (wrote.lines is None) == ("deployments" in wrote.record.resource)
        assert any(wrote.fields for wrote in writes if "deployments" in wrote.record.resource), "paths are no values"


@pytest.mark.promise(
    "Objects and operators in the console",
    "Dependents and events require `list`; the operator's reports require `get` on the object.",
)
@pytest.mark.usefixtures("running")
async def test_list_permission_does_not_show_operator_reports(allow: Grants, console: Console, namespace: str) -> None:
    await allow(("looks.console.example.com", "stalls", ["list"]))
    async with looking(console, namespace) as view:
        assert view.obj is not None
        assert view.controllers == []


@pytest.mark.promise(
    "Objects and operators in the console",
    "Dependents and events require `list`; the operator's reports require `get` on the object.",
)
@pytest.mark.usefixtures("running")
@pytest.mark.browser
async def test_limited_viewer_sees_permitted_parts_and_reasons(
    allow: Grants, client: Client, console_url: str, open_page: OpenPage, namespace: str
) -> None:
    await allow(STALLS)
    secret = core.Secret(metadata=ObjectMeta(name="key", namespace=namespace), string_data={"password": "hunter2"})
    await client.create(secret)
    page = await open_page()
    await page.goto(console_url + address("fruit", namespace))
    await expect(page.get_by_test_id("object-name")).to_have_text("fruit")
    await expect(page.get_by_test_id("unlisted")).to_contain_text("deployments")
    await expect(page.get_by_text("fruit-stall")).to_have_count(0)
    await page.get_by_role("tab", name="Events").click()
    await expect(page.get_by_test_id("empty")).to_contain_text("You may not list events")
    await page.goto(f"{console_url}/objects/core/secrets/{namespace}/key?tab=yaml")
    await expect(page.get_by_test_id("problem")).to_contain_text("may not get secrets")
    assert "hunter2" not in await page.content()
