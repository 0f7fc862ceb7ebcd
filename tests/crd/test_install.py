"""Definitions on both clusters: installed, changed and rejected, and their effect on objects."""

import asyncio
from typing import Annotated, Any

import msgspec
import pytest
from msgspec.structs import replace

import kubewright as kw
from kubewright.api import JSON, apiextensions, core, info_of, meta
from kubewright.client import Client, Forbidden, Impersonation, Invalid, MergePatch
from kubewright.clock import VirtualClock
from kubewright.crd import InstallError, crd_of, install
from tests.crd.conftest import Cases, kind_of, resource_of

pytestmark = pytest.mark.clusters

CRD = apiextensions.CustomResourceDefinition


class Port(kw.Model):
    name: str
    number: int = 80


class Spec(kw.Model):
    color: Annotated[str, kw.Choices("red", "blue")] = "red"
    replicas: int = 1
    ports: Annotated[list[Port], kw.ListType("map", keys=["name"])] = msgspec.field(default_factory=list)
    open: JSON = None


class Condition(kw.Model):
    type: str
    status: str


class Status(kw.Model):
    replicas: int = 0
    selector: str | None = None
    conditions: Annotated[list[Condition] | None, kw.ListType("map", keys=["type"])] = None


def versioned(kind: str, version: str = "v1", spec: Any = Spec, **arguments: Any) -> type[kw.Object]:
    @kw.resource(f"install.example.com/{version}", kind=kind, **arguments)
    class Thing(kw.Resource[spec, Status]): ...

    return Thing


@pytest.mark.promise(
    "Definitions from types",
    "Installing changes what differs, waits until it is served, and sends nothing otherwise.",
)
async def test_install_waits_until_served_and_a_second_run_changes_nothing(client: Client) -> None:
    kind = versioned("Plain")
    [made] = await install(client, kind)
    assert await client.list(kind) == []
    [again] = await install(client, kind)
    assert again.metadata.resource_version == made.metadata.resource_version


@pytest.mark.promise(
    "Definitions from types",
    "Installing changes what differs, waits until it is served, and sends nothing otherwise.",
)
async def test_update_keeps_additions_of_others(client: Client) -> None:
    [made] = await install(client, versioned("Changing"))
    made.metadata.labels["theirs"] = "x"
    await client.update(made)

    class Larger(Spec):
        size: int | None = None

    [changed] = await install(client, versioned("Changing", spec=Larger, labels={"ours": "y"}))
    assert changed.metadata.labels == {"theirs": "x", "ours": "y"}
    assert changed.metadata.generation == 2
    assert changed.spec.versions == crd_of(versioned("Changing", spec=Larger, labels={"ours": "y"})).spec.versions


async def test_installs_several_kinds_concurrently(client: Client) -> None:
    kinds = [versioned("Alpha"), versioned("Beta")]
    results = await asyncio.gather(*(install(client, *kinds) for _ in range(5)))
    assert {tuple(crd.metadata.name for crd in made) for made in results} == {
        ("alphas.install.example.com", "betas.install.example.com")
    }


@pytest.mark.promise("Definitions from types", "Installing refuses what would break stored objects, with the reason.")
async def test_rejects_change_of_scope_before_sending(client: Client) -> None:
    await install(client, versioned("Scoped"))
    with pytest.raises(InstallError, match="the scope cannot change from Namespaced to Cluster"):
        await install(client, versioned("Scoped", scope="Cluster"), versioned("Adjacent"))
    assert not [crd for crd in await client.list(CRD) if crd.metadata.name.startswith("adjacents.")]


@pytest.mark.promise("Definitions from types", "Installing refuses what would break stored objects, with the reason.")
async def test_rejects_removal_of_a_stored_version(client: Client) -> None:
    await install(client, versioned("Stored", "v1"))
    with pytest.raises(InstallError, match=r"storeds.install.example.com: there may be objects stored in v1,"):
        await install(client, versioned("Stored", "v2"))
    [both] = await install(client, versioned("Stored", "v1", served=False), versioned("Stored", "v2", storage=True))
    assert both.status.stored_versions == ["v1", "v2"]
    with pytest.raises(InstallError, match="stored in v1"):
        await install(client, versioned("Stored", "v2"))


@pytest.mark.promise("Definitions from types", "Installing refuses what would break stored objects, with the reason.")
async def test_rejects_change_of_names(client: Client) -> None:
    await install(client, versioned("Named", plural="named"))
    with pytest.raises(InstallError, match="the kind cannot change from Named to Other"):
        await install(client, versioned("Other", plural="named"))


async def test_taken_names_fail_immediately(client: Client) -> None:
    await install(client, versioned("First", short_names=["taken"]))
    with pytest.raises(InstallError, match=r"NamesAccepted is False \(ShortNamesConflict\): .*taken"):
        await install(client, versioned("Second", short_names=["taken"]))


async def test_installs_after_a_taken_name_was_changed(client: Client) -> None:
    await install(client, versioned("Holder", short_names=["holdings"]))
    with pytest.raises(InstallError, match=r"holdings belongs to holders.install.example.com"):
        await install(client, versioned("Mended", short_names=["holdings"]))
    [mended] = await install(client, versioned("Mended", short_names=["mnd"]))
    assert mended.status.accepted_names is not None
    assert mended.status.accepted_names.short_names == ["mnd"]


async def test_raises_the_servers_error_for_a_rejected_definition(client: Client) -> None:
    with pytest.raises(Invalid, match="undeclared reference"):
        await install(client, kind_of(Annotated[int, kw.Rule("slef > 0")]))


@pytest.mark.clusters("real")  # its client has a configuration
async def test_timeout_names_the_condition_of_the_definition(client: Client) -> None:
    class Deaf(Client):
        async def wait_for(self, kind: Any, name: str, condition: Any, namespace: str | None = None) -> Any:
            condition(await self.get(kind, name))
            deafened.set()
            await asyncio.Event().wait()

    clock, deafened = VirtualClock(), asyncio.Event()
    async with Deaf(client._config) as deaf:
        waiting = asyncio.ensure_future(install(deaf, versioned("Late"), timeout=30, clock=clock))
        await deafened.wait()
        await clock.advance(30)
        with pytest.raises(InstallError, match=r"lates.install.example.com: not served after 30s: .*(Names|condition)"):
            await waiting


@pytest.mark.promise("Definitions from types", "Protected groups need their approval.")
async def test_a_protected_group_is_served_with_its_approval(client: Client) -> None:
    @kw.resource("install.k8s.io/v1", api_approved="unapproved, for a test")
    class Guarded(kw.Resource[Spec, None]): ...

    await install(client, Guarded)
    assert await client.list(Guarded) == []


@pytest.mark.promise(
    "Definitions from types",
    "Defaults are those that Python has; unknown members are pruned, open ones kept.",
)
async def test_drops_unknown_fields_and_keeps_those_of_open_objects(cases: Cases) -> None:
    class Open(kw.Model):
        size: int | None = None
        loose: JSON = None
        bag: Annotated[dict[str, JSON] | None, kw.PreserveUnknown()] = None

    kind = resource_of(Open, None)
    async with cases.installed(kind):
        content = {"spec": {"size": 1, "gone": 2, "loose": {"a": {"b": 1}}, "bag": {"c": [1]}}}
        made = await cases.create(kind, content, validation="Ignore")
    assert made["spec"] == {"size": 1, "loose": {"a": {"b": 1}}, "bag": {"c": [1]}}


async def test_keeps_the_metadata_of_a_template(cases: Cases) -> None:
    kind = kind_of(core.PodTemplateSpec)
    template = {
        "metadata": {"labels": {"app": "a"}, "annotations": {"b": "c"}, "name": "d"},
        "spec": {"containers": [{"name": "main", "image": "nginx", "resources": {"limits": {"cpu": "1"}}}]},
    }
    async with cases.installed(kind):
        made = await cases.create(kind, {"spec": {"value": template}})
    assert made["spec"]["value"] == template


async def test_the_status_is_a_subresource_without_defaults(cases: Cases, client: Client) -> None:
    kind: Any = versioned("Own")
    [_] = await install(client, kind)
    made = await client.create(
        kind(metadata=meta.ObjectMeta(name="a", namespace=cases.namespace), spec=Spec(), status=Status(replicas=5))
    )
    assert made.status.replicas == 0
    raw = msgspec.json.decode(made.metadata.origin.raw)
    assert "status" not in raw
    patch = MergePatch({"status": {"selector": "a=b"}})
    made = await client.patch(kind, "a", patch, cases.namespace, subresource="status")
    assert msgspec.json.decode(made.metadata.origin.raw)["status"] == {"selector": "a=b"}


@pytest.mark.promise(
    "Definitions from types",
    "Columns, scale and selectable fields work as `kubectl` and clients use them.",
)
async def test_shows_columns_with_their_types(client: Client, namespace: str) -> None:
    kind: Any = versioned(
        "Shown",
        columns={
            "Replicas": ".spec.replicas",
            "Color": kw.Column(".spec.color", priority=1, description="of the thing"),
            "Ready": '.status.conditions[?(@.type=="Ready")].status',
            "Port": ".spec.ports[0].number",
            "Age": ".metadata.creationTimestamp",
            "App": r".metadata.labels.app\.kubernetes\.io/name",
        },
    )
    await install(client, kind)
    labels = {"app.kubernetes.io/name": "x"}
    made = await client.create(
        kind(metadata=meta.ObjectMeta(name="a", namespace=namespace, labels=labels), spec=Spec(ports=[Port(name="p")]))
    )
    made.status.conditions = [Condition(type="Other", status="False"), Condition(type="Ready", status="True")]
    await client.update_status(made)
    path = f"{info_of(kind).path}/namespaces/{namespace}/{info_of(kind).plural}"
    raw = await client.request("GET", path, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    table = msgspec.json.decode(raw)
    columns = [(column["name"], column["type"], column["priority"]) for column in table["columnDefinitions"]]
    assert columns == [
        ("Name", "string", 0),
        ("Replicas", "integer", 0),
        ("Color", "string", 1),
        ("Ready", "string", 0),
        ("Port", "integer", 0),
        ("Age", "date", 0),
        ("App", "string", 0),
    ]
    assert [cell for cell, column in zip(table["rows"][0]["cells"], columns, strict=True) if column[0] != "Age"] == [
        "a",
        1,
        "red",
        "True",
        80,
        "x",
    ]


@pytest.mark.promise(
    "Definitions from types",
    "Columns, scale and selectable fields work as `kubectl` and clients use them.",
)
async def test_selects_objects_by_selectable_fields(client: Client, namespace: str) -> None:
    kind: Any = versioned("Selectable", selectable_fields=[".spec.color", ".spec.replicas"])
    await install(client, kind)
    for name, color, replicas in (("a", "red", 1), ("b", "blue", 1), ("c", "blue", 2)):
        metadata = meta.ObjectMeta(name=name, namespace=namespace)
        await client.create(kind(metadata=metadata, spec=Spec(color=color, replicas=replicas)))
    found = await client.list(kind, namespace, fields={"spec.color": "blue", "spec.replicas": "2"})
    assert [thing.metadata.name for thing in found] == ["c"]


@pytest.mark.promise(
    "Definitions from types",
    "Columns, scale and selectable fields work as `kubectl` and clients use them.",
)
async def test_scale_reads_and_writes_the_replicas(client: Client, namespace: str) -> None:
    kind: Any = versioned("Scaled", scale_subresource=kw.Scale(selector=".status.selector"))
    await install(client, kind)
    made = await client.create(kind(metadata=meta.ObjectMeta(name="a", namespace=namespace), spec=Spec()))
    made.status.selector, made.status.replicas = "a=b", 1
    await client.update_status(made)
    path = f"{info_of(kind).path}/namespaces/{namespace}/{info_of(kind).plural}/a/scale"
    scale = msgspec.json.decode(await client.request("GET", path))
    assert (scale["spec"], scale["status"]) == ({"replicas": 1}, {"replicas": 1, "selector": "a=b"})
    scale["spec"]["replicas"] = 4
    await client.request("PUT", path, body=scale)
    assert (await client.get(kind, "a", namespace)).spec.replicas == 4


async def test_discovery_has_short_names_and_categories(client: Client) -> None:
    await install(client, versioned("Nicknamed", short_names=["nick"], categories=["everything"]))
    raw = await client.request("GET", "/apis/install.example.com/v1")
    [found] = [r for r in msgspec.json.decode(raw)["resources"] if r["name"] == "nicknameds"]
    assert (found["shortNames"], found["categories"]) == (["nick"], ["everything"])


async def test_a_cluster_scoped_kind_has_no_namespace(client: Client) -> None:
    kind: Any = versioned("Wide", scope="Cluster")
    await install(client, kind)
    made = await client.create(kind(metadata=meta.ObjectMeta(name="a"), spec=Spec()))
    assert made.metadata.namespace == ""


async def test_a_deprecated_version_warns(client: Client, namespace: str, caplog: pytest.LogCaptureFixture) -> None:
    old: Any = versioned("Aging", "v1beta1", deprecated="use v1 of Aging")
    new: Any = versioned("Aging", "v1", storage=True)
    await install(client, old, new)
    await client.create(new(metadata=meta.ObjectMeta(name="a", namespace=namespace), spec=Spec()))
    read = await client.get(old, "a", namespace)
    assert read.api_version == "install.example.com/v1beta1"
    assert "use v1 of Aging" in caplog.text


@pytest.mark.promise("Definitions from types", "Rules about changes hold for updates.")
async def test_immutable_fields_keep_their_value_their_presence_and_their_absence(cases: Cases) -> None:
    class Fixed(kw.Model):
        needed: Annotated[int, kw.Immutable()]
        perhaps: Annotated[int | None, kw.Immutable("was chosen already")] = None
        namespace: Annotated[int | None, kw.Immutable()] = None
        free: int | None = None

    kind: Any = resource_of(Fixed, None)
    async with cases.installed(kind):
        client, namespace = cases.client, cases.namespace
        made = await client.create(
            kind(metadata=meta.ObjectMeta(name="a", namespace=namespace), spec=Fixed(needed=1, perhaps=2))
        )
        for change, path, message in (
            ({"needed": 2}, "spec.needed", "is immutable"),
            ({"perhaps": 3}, "spec.perhaps", "was chosen already"),
            ({"perhaps": None}, "spec.perhaps", "was chosen already"),
            ({"namespace": 1}, "spec.namespace", "is immutable"),
        ):
            changed = msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, **change))
            with pytest.raises(Invalid, match=message) as refused:
                await client.update(changed)
            assert refused.value.status.details is not None
            assert [cause.field for cause in refused.value.status.details.causes or []] == [path]
        made.spec.free = 5
        assert (await client.update(made)).spec.free == 5


async def test_an_update_aligns_the_elements_of_a_list_map(client: Client, namespace: str) -> None:
    """The server has fields of a mount that this program does not know. A moved mount keeps them."""

    class Mount(kw.Model):
        mount_path: str
        size: int = 1

    class FullMount(Mount):
        note: str | None = None

    class FullSpec(kw.Model):
        mounts: Annotated[list[FullMount], kw.ListType("map", keys=["mountPath"])]

    class LessSpec(kw.Model):
        mounts: Annotated[list[Mount], kw.ListType("map", keys=["mountPath"])]

    full: Any = versioned("Aligned", spec=FullSpec)
    less: Any = versioned("Aligned", spec=LessSpec)
    await install(client, full)
    mounts = [FullMount(mount_path="/a", note="first"), FullMount(mount_path="/b", note="second")]
    await client.create(full(metadata=meta.ObjectMeta(name="x", namespace=namespace), spec=FullSpec(mounts=mounts)))
    seen = await client.get(less, "x", namespace)
    seen.spec.mounts = [Mount(mount_path="/b", size=2)]
    await client.update(seen)
    after = await client.get(full, "x", namespace)
    assert after.spec.mounts == [FullMount(mount_path="/b", size=2, note="second")]


@pytest.mark.clusters("real")
async def test_install_without_permission_is_reported(client: Client) -> None:
    assert client._config is not None
    restricted = replace(client._config, impersonate=Impersonation(user="restricted"))
    async with Client(restricted) as unprivileged:
        with pytest.raises(Forbidden, match="customresourcedefinitions"):
            await install(unprivileged, versioned("Wanted"))
