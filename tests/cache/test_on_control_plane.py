"""Caches on both clusters, and on real ones of a special kind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from kubewright.api import ObjectMeta, Untyped, apps, core
from kubewright.cache import CacheSyncError, Change, Informer, applied_digest
from kubewright.client import Client, MergePatch
from kubewright.testing import ControlPlane
from tests.patience import PATIENCE, until

pytestmark = pytest.mark.clusters


async def in_trouble(informer: Informer[Any]) -> None:
    """Wait until it knows what keeps it from its objects."""
    await until(lambda: informer.health.last_error)


@pytest.fixture(scope="module")
def plain_plane() -> Iterator[ControlPlane]:
    """A server without streaming lists."""
    with ControlPlane(feature_gates={"WatchList": False}) as plane:
        yield plane


@pytest.fixture
async def plain_client(plain_plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client.connect(kubeconfig=plain_plane.kubeconfig) as connected:
        yield connected


def config_map(name: str, namespace: str, **labels: str) -> core.ConfigMap:
    return core.ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels), data={"k": "v"})


class Watching:
    """Waits until an informer's handlers have heard something."""

    def __init__(self, informer: Informer[Any]) -> None:
        self.changes: list[Change[Any]] = []
        self._informer = informer
        self._news = asyncio.Event()
        informer.add_handler(self._hear)

    @property
    def revision(self) -> int:
        """Of the last change that was heard of."""
        return self.changes[-1].snapshot.resource_version if self.changes else 0

    def _hear(self, change: Change[Any]) -> None:
        self.changes.append(change)
        self._news.set()

    async def until(self, done: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not done():
                self._news.clear()
                await self._news.wait()

    async def until_delivered(self, type_: str, name: str) -> Change[Any]:
        found: list[Change[Any]] = []

        def delivered() -> bool:
            found[:] = [change for change in self.changes if change.type == type_ and change.key.name == name]
            return bool(found)

        await self.until(delivered)
        return found[-1]


async def live(informer: Informer[Any], client: Client, namespace: str) -> None:
    """The informer of ConfigMaps hears of creation, change and deletion."""
    watching = Watching(informer)
    await client.create(config_map("live", namespace, app="web"))
    added = await watching.until_delivered("added", "live")
    assert not added.initial
    await client.patch(core.ConfigMap, "live", MergePatch({"metadata": {"labels": {"app": "db"}}}), namespace)
    updated = await watching.until_delivered("updated", "live")
    assert updated.old is added.new
    assert [s.key.name for s in informer.lister.snapshots(namespace, "app=db")] == ["live"]
    await client.delete(core.ConfigMap, "live", namespace)
    deleted = await watching.until_delivered("deleted", "live")
    assert deleted.snapshot.labels == {"app": "db"}
    assert deleted.snapshot.resource_version > updated.snapshot.resource_version
    assert informer.lister.get("live", namespace) is None


@pytest.mark.promise("The stream from the server", "Everything is read as a stream where the server can.")
async def test_a_streaming_list_fills_the_cache(client: Client, namespace: str) -> None:
    for number in range(5):
        await client.create(config_map(f"c-{number}", namespace))
    async with Informer(client, core.ConfigMap, namespaces=[namespace]) as informer:
        await informer.wait_for_sync(PATIENCE)
        assert [key.name for key in informer.lister.keys(namespace)] == [f"c-{number}" for number in range(5)]
        assert next(iter(informer._reflectors.values()))._streams
        found = informer.lister.get("c-1", namespace)
        assert found is not None
        assert found.data == {"k": "v"}
        assert found.metadata.managed_fields == []
        await live(informer, client, namespace)


@pytest.mark.promise("The stream from the server", "Where it cannot, it is read in pages.")
@pytest.mark.control_plane
async def test_a_server_without_streaming_lists_is_read_in_pages(plain_client: Client) -> None:
    client, namespace = plain_client, "default"
    for number in range(5):
        await client.create(config_map(f"c-{number}", namespace))
    async with Informer(client, core.ConfigMap, namespaces=[namespace]) as informer:
        await informer.wait_for_sync(PATIENCE)
        assert not next(iter(informer._reflectors.values()))._streams
        assert [key.name for key in informer.lister.keys(namespace)] == [f"c-{number}" for number in range(5)]
        snapshot = informer.lister.snapshot((namespace, "c-1"))
        assert snapshot is not None
        assert snapshot.raw.startswith(b'{"apiVersion":"v1","kind":"ConfigMap",')
        await live(informer, client, namespace)


@pytest.mark.promise("The stream from the server", "Where it cannot, it is read in pages.")
@pytest.mark.control_plane
async def test_pages_follow_each_other_to_the_end(plain_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    # private: several pages without thousands of objects
    monkeypatch.setattr("kubewright.cache._reflector.PAGE_SIZE", 3)
    await plain_client.create(core.Namespace(metadata=ObjectMeta(name="paged")))
    for number in range(10):
        await plain_client.create(config_map(f"p-{number}", "paged"))
    async with Informer(plain_client, core.ConfigMap, namespaces=["paged"]) as informer:
        await informer.wait_for_sync(PATIENCE)
        assert len(informer.lister) == 10


@pytest.mark.promise("What the cache keeps", "The metadata alone can be fetched and kept, also of custom resources.")
@pytest.mark.promise("Reading the cache", "A kind that is not served is named, and waited for.")
async def test_metadata_alone_is_fetched_and_kept_also_of_custom_resources(client: Client, namespace: str) -> None:
    definition = Untyped.kind_of(
        "apiextensions.k8s.io/v1", "CustomResourceDefinition", plural="customresourcedefinitions", namespaced=False
    )
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "bits", "singular": "bit", "kind": "Bit"}
    spec = {"group": "cache.example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    bits = Untyped.kind_of("cache.example.com/v1", "Bit", plural="bits")
    # The informer begins before its kind is served, and gets there by itself.
    async with (
        Informer(client, bits, metadata_only=True) as informer,
        Informer(client, apps.Deployment, namespaces=[namespace], metadata_only=True) as deployments,
    ):
        await in_trouble(informer)
        with pytest.raises(CacheSyncError, match=r"does not serve bits\.cache\.example\.com in version v1"):
            await informer.wait_for_sync(0.01)
        await client.create(definition(metadata=ObjectMeta(name="bits.cache.example.com"), content={"spec": spec}))
        await informer.wait_for_sync(PATIENCE)
        watching = Watching(informer)
        await client.create(
            bits(metadata=ObjectMeta(name="b", namespace=namespace, labels={"a": "b"}), content={"spec": {"big": "x"}})
        )
        change = await watching.until_delivered("added", "b")
        assert change.new is not None
        assert b"spec" not in change.new.raw
        found = informer.lister.get("b", namespace)
        assert found is not None
        assert (found.api_version, found.kind, found.metadata.labels) == ("cache.example.com/v1", "Bit", {"a": "b"})
        await deployments.wait_for_sync(PATIENCE)


@pytest.mark.promise("What the cache keeps", "Label and field selectors narrow what is cached.")
async def test_caches_only_selected_objects(client: Client, namespace: str) -> None:
    await client.create(config_map("one", namespace, app="web"))
    await client.create(config_map("two", namespace, app="db"))
    async with (
        Informer(client, core.ConfigMap, namespaces=[namespace], labels="app in (web,api)") as by_label,
        Informer(client, core.ConfigMap, namespaces=[namespace], fields={"metadata.name": "two"}) as by_field,
    ):
        await by_label.wait_for_sync(PATIENCE)
        await by_field.wait_for_sync(PATIENCE)
        assert [key.name for key in by_label.lister.keys()] == ["one"]  # noqa: SIM118
        assert [key.name for key in by_field.lister.keys()] == ["two"]  # noqa: SIM118
        watching = Watching(by_label)
        await client.patch(core.ConfigMap, "one", MergePatch({"metadata": {"labels": {"app": "db"}}}), namespace)
        await watching.until_delivered("deleted", "one")
        await client.patch(core.ConfigMap, "two", MergePatch({"metadata": {"labels": {"app": "api"}}}), namespace)
        await watching.until_delivered("added", "two")


@pytest.mark.promise("What the cache keeps", "The cache may hold one namespace, several or all.")
async def test_several_namespaces_fill_one_cache(client: Client, namespace: str) -> None:
    other = f"{namespace}-too"
    await client.create(core.Namespace(metadata=ObjectMeta(name=other)))
    await client.create(config_map("here", namespace))
    await client.create(config_map("there", other))
    async with Informer(client, core.ConfigMap, namespaces=[namespace, other]) as informer:
        await informer.wait_for_sync(PATIENCE)
        assert informer.lister.keys() == [(namespace, "here"), (other, "there")]
        await live(informer, client, other)


@pytest.mark.promise(
    "Reading the cache",
    "A missing permission names verb and user, for list and watch each, and heals.",
)
async def test_a_missing_permission_names_verb_and_user_and_heals(
    control_plane: ControlPlane, client: Client, namespace: str
) -> None:
    from kubewright.api import rbac

    user = f"jane-{namespace}"
    async with (
        Client.connect(kubeconfig=control_plane.add_user(user)) as jane,
        Informer(jane, core.ConfigMap, namespaces=[namespace]) as informer,
    ):
        await in_trouble(informer)
        with pytest.raises(CacheSyncError) as caught:
            await informer.wait_for_sync(0.01)
        for verb in ("list", "watch"):
            assert f"the verb '{verb}' on configmaps is forbidden" in str(caught.value)
            assert f'User "{user}" cannot {verb} resource "configmaps"' in str(caught.value)
        meta = ObjectMeta(name="reader", namespace=namespace)
        rule = rbac.PolicyRule(api_groups=[""], resources=["configmaps"], verbs=["list", "watch"])
        await client.create(rbac.Role(metadata=meta, rules=[rule]))
        await client.create(
            rbac.RoleBinding(
                metadata=ObjectMeta(name="reader", namespace=namespace),
                role_ref=rbac.RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name="reader"),
                subjects=[rbac.Subject(kind="User", name=user, api_group="rbac.authorization.k8s.io")],
            )
        )
        await informer.wait_for_sync(PATIENCE)
        assert informer.health.last_error == ""


@pytest.mark.promise(
    "Our own writes",
    "Gets, lists and indexes show a write at once; handlers hear what is confirmed, and nothing else.",
)
async def test_reads_see_our_own_writes_on_a_real_server(client: Client, namespace: str) -> None:
    async with Informer(client, core.ConfigMap, namespaces=[namespace], field_manager=client.field_manager) as informer:
        await informer.wait_for_sync(PATIENCE)
        watching = Watching(informer)
        applied = config_map("mine", namespace)
        for round_ in range(20):
            applied = await client.apply(config_map("mine", namespace, round=str(round_)))
            informer.written(applied)
            assert [s.labels for s in informer.lister.snapshots(namespace, f"round={round_}")] == [
                {"round": str(round_)}
            ]
        assert applied.metadata.origin is not None
        await watching.until(lambda: str(watching.revision) == applied.metadata.resource_version)
        snapshot = informer.lister.snapshot((namespace, "mine"))
        assert snapshot is not None
        assert snapshot.applied == applied_digest(applied.metadata.origin.raw, client.field_manager)
        assert snapshot.applied is not None
        await client.delete(core.ConfigMap, "mine", namespace)
        informer.removed((namespace, "mine"), applied.metadata.uid)
        assert informer.lister.get("mine", namespace) is None
        await watching.until_delivered("deleted", "mine")
        assert len(informer._overlay) == 0


@pytest.mark.promise("Our own writes", "The answer that removed the last finalizer means gone.")
async def test_the_answer_that_removes_the_last_finalizer_hides_the_object(client: Client, namespace: str) -> None:
    async with Informer(client, core.ConfigMap, namespaces=[namespace]) as informer:
        await informer.wait_for_sync(PATIENCE)
        watching = Watching(informer)
        kept = config_map("kept", namespace)
        kept.metadata.finalizers = ["example.com/keep"]
        await client.create(kept)
        await client.delete(core.ConfigMap, "kept", namespace)
        await watching.until(lambda: any(change.snapshot.deleting for change in watching.changes))
        patch = MergePatch({"metadata": {"finalizers": None}})
        answer = await client.patch(core.ConfigMap, "kept", patch, namespace)
        informer.written(answer)
        assert informer.lister.get("kept", namespace) is None
        await watching.until_delivered("deleted", "kept")
        assert len(informer._overlay) == 0


@pytest.mark.promise(
    "The stream from the server",
    "After 410 everything is read again, and deletions follow from the difference.",
)
@pytest.mark.control_plane
async def test_history_that_the_server_has_forgotten_is_made_up_for() -> None:
    with ControlPlane() as plane:
        async with Client.connect(kubeconfig=plane.kubeconfig) as client:
            await client.create(config_map("gone", "default"))
            await client.create(config_map("stays", "default"))
            proxy = plane.proxy()
            async with (
                Client.connect(kubeconfig=proxy.kubeconfig) as through_proxy,
                Informer(through_proxy, core.ConfigMap, namespaces=["default"]) as informer,
            ):
                await informer.wait_for_sync(PATIENCE)
                watching = Watching(informer)
                proxy.stall()
                await client.delete(core.ConfigMap, "gone", "default")
                await client.create(config_map("new", "default"))
                await asyncio.to_thread(plane.expire_history)
                proxy.cut()
                proxy.resume()
                deleted = await watching.until_delivered("deleted", "gone")
                added = await watching.until_delivered("added", "new")
                assert deleted.missed
                assert deleted.snapshot.object().data == {"k": "v"}
                assert not added.initial
                assert informer.health.relists >= 1
                assert [key.name for key in informer.lister.keys()] == ["new", "stays"]  # noqa: SIM118
