"""Permissions of viewers, granted by roles, on both clusters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from kubewright.api import ObjectMeta, core, rbac
from kubewright.client import ApiError, Client, Forbidden, MergePatch, Outcome, Request, Unauthorized, load_config
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.console import ALL, Console, Kind, Viewer
from kubewright.console.access import with_token, without_credentials
from kubewright.testing import RealCluster
from tests.patience import PATIENCE

pytestmark = pytest.mark.clusters

Clusters = Cluster | RealCluster


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    return {"rbac": True}


@pytest.fixture
async def admin(cluster: Clusters) -> AsyncIterator[Client]:
    async with cluster.client() as client:
        yield client


@pytest.fixture
async def console(cluster: Clusters) -> AsyncIterator[Console]:
    async with Console(cluster.client()) as made:
        yield made


@pytest.fixture
async def maps(console: Console) -> Kind:
    kind = await console.kind("core/configmaps")
    assert kind is not None
    return kind


class People:
    """Users with roles, whose requests are counted."""

    def __init__(self, cluster: Clusters, admin: Client, console: Console) -> None:
        self._cluster = cluster
        self._admin = admin
        self._console = console
        self.asked: list[str] = []

    def named(self, user: str, *, read_only: bool = False) -> Viewer:
        client = self._cluster.client_as(user, hooks=[self._count])
        return Viewer(user, client, read_only=read_only, namespaces=self._console.all_namespaces)

    def _count(self, request: Request) -> None:
        self.asked.append(request.resource)

    async def allow(self, user: str, namespace: str, verbs: Sequence[str], *, names: Sequence[str] = ()) -> None:
        """Grants a role on ConfigMaps in one namespace."""
        rule = rbac.PolicyRule(
            api_groups=[""], resources=["configmaps"], verbs=[*verbs], resource_names=[*names] or None
        )
        meta = ObjectMeta(name=f"{user}-reads", namespace=namespace)
        await self._admin.create(rbac.Role(metadata=meta, rules=[rule]))
        reference = rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name=meta.name)
        subject = rbac.Subject(kind="User", name=user, api_group="rbac.authorization.k8s.io")
        binding = rbac.RoleBinding(
            metadata=ObjectMeta(name=meta.name, namespace=namespace), role_ref=reference, subjects=[subject]
        )
        await self._admin.create(binding)


@pytest.fixture
def people(cluster: Clusters, admin: Client, console: Console) -> People:
    return People(cluster, admin, console)


@pytest.fixture
async def other_namespace(admin: Client, cluster_namespace: str) -> AsyncIterator[str]:
    name = f"{cluster_namespace}-other"
    await admin.create(core.Namespace(metadata=ObjectMeta(name=name)))
    yield name
    await admin.delete(core.Namespace, name)


async def made(admin: Client, namespace: str, *names: str) -> None:
    for name in names:
        await admin.create(core.ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace)))


async def seen(console: Console, kind: Kind, viewer: Viewer, *namespaces: str) -> set[str]:
    """Returns the names of a list in these namespaces, without objects that Kubernetes creates."""
    async with console.cache(kind) as cache:
        rows = await cache.rows(viewer)
        assert {row["id"] for row in rows} == {
            str(one.key) for one in await cache.visible(viewer)
        }  # with every type of request
        return {row["id"] for row in rows if row["namespace"] in namespaces and row["name"] != "kube-root-ca.crt"}


async def on_cache(console: Console, kind: Kind, namespace: str, *names: str) -> None:
    """Waits until the objects are cached."""
    async with asyncio.timeout(PATIENCE), console.cache(kind) as cache:
        changed = asyncio.Event()
        with cache.subscribe(lambda _: changed.set()):
            while not all(cache.get(namespace, name) for name in names):
                await changed.wait()
                changed.clear()


@pytest.mark.promise(
    "Access to the console and its cost",
    "A viewer sees the objects that their roles let them list, or get by name.",
)
async def test_viewer_sees_listable_namespaces(
    console: Console, maps: Kind, people: People, admin: Client, cluster_namespace: str, other_namespace: str
) -> None:
    await made(admin, cluster_namespace, "mine")
    await made(admin, other_namespace, "theirs")
    await on_cache(console, maps, other_namespace, "theirs")
    await on_cache(console, maps, cluster_namespace, "mine")
    await people.allow("ann-lists", cluster_namespace, ["get", "list", "watch"])
    ann, boss = people.named("ann-lists"), console.viewer()
    assert await seen(console, maps, ann, cluster_namespace, other_namespace) == {f"{cluster_namespace}/mine"}
    assert len(await seen(console, maps, boss, cluster_namespace, other_namespace)) == 2
    async with console.cache(maps) as cache:
        assert await cache.rows(ann, other_namespace) == []
        assert await cache.read(ann, other_namespace, "theirs") is None
        assert await cache.read(ann, cluster_namespace, "mine") is not None
        assert await cache.rows_of(ann, [(other_namespace, "theirs")]) == []
        assert len(await cache.rows_of(ann, [(cluster_namespace, "mine"), (cluster_namespace, "gone")])) == 1
        assert await cache.rows_of(ann, [(cluster_namespace, "gone")]) == []  # a review without a namespace
    where = await ann.namespaces_of(maps)
    assert where is not ALL
    assert cluster_namespace in where
    assert other_namespace not in where
    assert await boss.namespaces_of(maps) is ALL


@pytest.mark.promise(
    "Access to the console and its cost",
    "A viewer sees the objects that their roles let them list, or get by name.",
)
async def test_viewer_sees_objects_granted_by_name(
    console: Console, maps: Kind, people: People, admin: Client, cluster_namespace: str
) -> None:
    await made(admin, cluster_namespace, "named", "unnamed")
    await on_cache(console, maps, cluster_namespace, "named", "unnamed")
    await people.allow("ben-names", cluster_namespace, ["get"], names=["named", "missing"])
    ben = people.named("ben-names")
    assert await seen(console, maps, ben, cluster_namespace) == {f"{cluster_namespace}/named"}
    assert await ben.may_see(maps, cluster_namespace, "named")
    assert not await ben.may_see(maps, cluster_namespace, "unnamed")


async def test_viewer_without_roles_sees_nothing(
    console: Console, maps: Kind, people: People, admin: Client, cluster_namespace: str
) -> None:
    await made(admin, cluster_namespace, "one")
    nodes = await console.kind("core/nodes")
    assert nodes is not None
    stranger = people.named("stranger")
    assert await seen(console, maps, stranger, cluster_namespace) == set()
    assert await stranger.namespaces_of(nodes) == frozenset()
    assert not await stranger.may("list", nodes)


@pytest.mark.promise(
    "Access to the console and its cost",
    "A read-only console rejects every write on the server.",
)
async def test_read_only_console_rejects_every_write(
    cluster: Clusters, admin: Client, maps: Kind, cluster_namespace: str
) -> None:
    await made(admin, cluster_namespace, "kept")
    viewer = Viewer("admin", cluster.client(), read_only=True)
    patch, new = MergePatch({"data": {"a": "b"}}), core.ConfigMap(metadata=ObjectMeta(name="x", namespace="default"))
    for attempt in (
        viewer.client.create(new),
        viewer.client.create(new, dry_run=True),
        viewer.client.apply(new),
        viewer.client.patch(core.ConfigMap, "kept", patch, cluster_namespace),
        viewer.client.delete(core.ConfigMap, "kept", cluster_namespace),
        viewer.client.delete_collection(core.ConfigMap, cluster_namespace),
        viewer.client.request("POST", "/api/v1/namespaces/default/configmaps", body={}),
        viewer.client.exec("web", ["sh"], cluster_namespace),
    ):
        with pytest.raises(Forbidden, match="this console is read-only"):
            await attempt
    assert (await viewer.client.get(core.ConfigMap, "kept", cluster_namespace)).metadata.name == "kept"
    assert await viewer.may("list", maps)
    assert not await viewer.may("delete", maps, cluster_namespace, "kept")
    assert not await viewer.may("create", maps, cluster_namespace)


@pytest.mark.promise(
    "Access to the console and its cost",
    "Access reviews are shared and cached briefly; a failed review counts as neither allowed nor denied.",
)
async def test_concurrent_questions_share_one_review(people: People, maps: Kind) -> None:
    viewer = people.named("curious")
    answers = await asyncio.gather(*(viewer.may("list", maps) for _ in range(50)))
    assert set(answers) == {False}
    assert people.asked == ["selfsubjectaccessreviews.authorization.k8s.io"]


@pytest.mark.promise(
    "Access to the console and its cost",
    "Access reviews are shared and cached briefly; a failed review counts as neither allowed nor denied.",
)
async def test_failed_review_raises_and_is_not_cached(cluster: Clusters, maps: Kind) -> None:
    outcomes: list[Outcome] = []

    def forget(request: Request) -> Any:
        request.path = "/nowhere" if not outcomes else request.path
        return outcomes.append

    viewer = Viewer("admin", cluster.client(hooks=[forget]))
    with pytest.raises(ApiError):
        await viewer.may("list", maps)
    assert await viewer.may("list", maps)


async def test_console_limited_to_one_namespace_shows_it(
    cluster: Clusters, people: People, admin: Client, cluster_namespace: str, other_namespace: str
) -> None:
    await made(admin, cluster_namespace, "mine")
    await made(admin, other_namespace, "theirs")
    await people.allow("small-console", cluster_namespace, ["get", "list", "watch"])
    client = cluster.client_as("small-console", namespace=cluster_namespace)
    async with Console(client) as console:
        kind = await console.kind("core/configmaps")
        secrets = await console.kind("core/secrets")
        assert kind is not None
        assert secrets is not None
        viewer = console.viewer()
        assert await seen(console, kind, viewer, cluster_namespace, other_namespace) == {f"{cluster_namespace}/mine"}
        with pytest.raises(Forbidden, match="the console's own account may not list secrets"):
            await console.cache(secrets)


@pytest.mark.promise(
    "Access to the console and its cost",
    "Access reviews are shared and cached briefly; a failed review counts as neither allowed nor denied.",
)
@pytest.mark.clusters("embedded")
async def test_caches_answers_for_ten_seconds(people: People, maps: Kind, cluster: Clusters) -> None:
    clock = VirtualClock()
    viewer = Viewer("curious", cluster.client_as("curious", hooks=[people._count]), clock=clock)
    await viewer.may("get", maps, "default", "a")
    await viewer.may("get", maps, "default", "a")
    assert len(people.asked) == 1
    await clock.advance(10)
    await viewer.may("get", maps, "default", "a")
    assert len(people.asked) == 2


async def test_reports_rejected_credentials(cluster: Clusters, maps: Kind) -> None:
    rejected: list[bool] = []

    await cluster.serve()
    async with Client(without_credentials(load_config(kubeconfig=cluster.kubeconfig()))) as anonymous:
        ghost = Viewer("ghost", with_token(anonymous, "no.such.token"))
        ghost.on_rejected = lambda: rejected.append(True)
        with pytest.raises(Unauthorized):
            await ghost.may("list", maps)
    assert rejected == [True]


@pytest.mark.clusters("real")  # the embedded cluster answers immediately
async def test_cancels_pending_reviews_before_closing_the_client(people: People, maps: Kind) -> None:
    viewer = people.named("hasty")
    waiting = [asyncio.ensure_future(viewer.may("get", maps, "default", f"map-{number}")) for number in range(200)]
    while not people.asked:  # noqa: ASYNC110  # the first requests are on their way
        await asyncio.sleep(0)
    await viewer.access.close()
    asked = len(people.asked)
    assert asked < 200
    await asyncio.wait(waiting)
    assert len(people.asked) == asked
    assert any(one.cancelled() for one in waiting)
