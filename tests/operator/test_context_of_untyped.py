"""Statuses and conditions where no model says what they are, or where there is none yet."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright import resource
from kubewright.api import Model, Resource, Untyped, core, is_condition_true, meta
from kubewright.cache import ObjectKey
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.controller import Context, Owns
from kubewright.crd import install
from kubewright.operator import Operator
from tests.operator.conftest import install as install_definition
from tests.operator.conftest import settled
from tests.patience import until

pytestmark = pytest.mark.clusters("embedded")


class Empty(Model):
    size: int = 0


class JarStatus(Model):
    sweets: int = 0
    conditions: list[meta.Condition] | None = None


class BottleStatus(Model):
    litres: int
    conditions: list[meta.Condition] | None = None


@resource("untyped.example.com/v1")
class Jar(Resource[Empty, JarStatus | None]):
    """Its status is absent at first."""


@resource("untyped.example.com/v1")
class Bottle(Resource[Empty, BottleStatus | None]):
    """Its status cannot be empty."""


Found = Untyped.kind_of("untyped.example.com/v1", "Jar", plural="jars", subresources={"status"})
"""The same as `Jar`, known by name alone."""

READY = {
    "type": "Ready",
    "status": "True",
    "reason": "Full",
    "message": "",
    "lastTransitionTime": "2030-01-01T00:00:00Z",
    "lastProbeTime": "2030-01-01T00:00:00Z",
}


@pytest.fixture(autouse=True)
async def definitions(client: Client) -> None:
    await install(client, Jar, Bottle)


@pytest.fixture
def operator(namespace: str) -> Operator:
    return Operator("jars", namespaces=[namespace])


def named(namespace: str) -> meta.ObjectMeta:
    return meta.ObjectMeta(name="a", namespace=namespace)


async def test_conditions_of_an_untyped_kind_are_set_kept_and_removed(
    operator: Operator, client: Client, namespace: str
) -> None:
    @operator.reconciles(Found)
    async def sync(jar: Untyped, ctx: Context[Untyped]) -> None:
        if "status" in jar:
            return
        assert ctx.set_condition("Ready", True, "Full")
        await ctx.set_status({"sweets": 3})
        assert not ctx.set_condition("Ready", True, "Full")
        assert ctx.set_condition("Open", True, "Lid")
        assert ctx.remove_condition("Ready")

    async with operator.running(client, install_crds=False) as running:
        made = await client.create(Found(metadata=named(namespace), content={"spec": {}}))
        await settled(running, made)
        found = await client.get(Jar, "a", namespace)
    assert found.status is not None
    assert found.status.sweets == 3
    assert [(one.type, one.status, one.reason) for one in found.status.conditions or ()] == [("Open", "True", "Lid")]


async def test_what_plain_conditions_say_beyond_ours_stays(operator: Operator, client: Client, namespace: str) -> None:
    """Without a status subresource, writing the status does not change the generation."""
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version: dict[str, Any] = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": loose}}
    names = {"kind": "Loose", "plural": "looses"}
    spec = {"group": "untyped.example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    await install_definition(client, {"metadata": {"name": "looses.untyped.example.com"}, "spec": spec})
    loose_kind = Untyped.kind_of("untyped.example.com/v1", "Loose", plural="looses")

    @operator.reconciles(loose_kind)
    async def sync(obj: Untyped, ctx: Context[Untyped]) -> None:
        ctx.set_condition("Ready", False, "Empty")
        await ctx.patch_status({"seen": True})

    async with operator.running(client, install_crds=False) as running:
        content = {"status": {"conditions": [READY]}}
        made = await client.create(loose_kind(metadata=named(namespace), content=content))
        await settled(running, made)
        found = await client.get(loose_kind, "a", namespace)
    (ready,) = found["status"]["conditions"]
    assert found["status"]["seen"] is True
    assert (ready["status"], ready["reason"], ready["lastProbeTime"]) == ("False", "Empty", "2030-01-01T00:00:00Z")


async def test_reports_status_that_the_server_stores_elsewhere(
    operator: Operator, client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The server ignores it without a word, and the reconciler would believe that it is written."""
    unaware = Untyped.kind_of("untyped.example.com/v1", "Jar", plural="jars")

    @operator.reconciles(unaware)
    async def sync(jar: Untyped, ctx: Context[Untyped]) -> None:
        await ctx.set_status({"sweets": 3})

    async with operator.running(client, install_crds=False) as running:
        made = await client.create(unaware(metadata=named(namespace), content={"spec": {}}))
        await settled(running, made)
    assert "the server accepts the status of Jar only at /status: pass subresources=" in caplog.text


async def test_a_status_that_is_absent_gets_conditions_when_its_model_allows_it(
    operator: Operator, client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    @operator.reconciles(Jar)
    async def fill(jar: Jar, ctx: Context[Jar]) -> None:
        ctx.set_condition("Ready", True, "Full")

    @operator.reconciles(Bottle)
    async def pour(bottle: Bottle, ctx: Context[Bottle]) -> None:
        ctx.set_condition("Ready", True, "Full")

    async with operator.running(client, install_crds=False) as running:
        made = await client.create(Jar(metadata=named(namespace), spec=Empty()))
        other = await client.create(Bottle(metadata=named(namespace), spec=Empty()))
        await settled(running, made)
        await settled(running, other)
        found = await client.get(Jar, "a", namespace)
    assert is_condition_true(found.status, "Ready")
    assert "Bottle has no status yet, and BottleStatus requires litres: write it first" in caplog.text


async def test_rejects_invalid_object_name_or_kind(operator: Operator, client: Client, namespace: str) -> None:
    """A key in place of a name found nothing: as if the object had gone."""
    logged: dict[str, str] = {}

    @operator.reconciles(Jar, owns=[core.ConfigMap])
    async def sync(jar: Jar, ctx: Context[Any]) -> None:
        wrong: Any = ObjectKey(namespace, "a")
        plain: Any = "Jar"
        config_map: Any = core.ConfigMap
        calls: dict[str, Any] = {
            "key": lambda: ctx.get(Jar, wrong),
            "kind": lambda: ctx.get(plain, "a"),
            "labels": lambda: ctx.list(Jar, wrong._asdict()),
            "number": lambda: ctx.list(Jar, labels=plain.count("J")),
            "listed": lambda: ctx.apply(wrong._asdict()),
            "class": lambda: ctx.create(config_map),
            "bare": lambda: ctx.prune(config_map, keep=[]),
            "kept": lambda: ctx.prune([core.ConfigMap], keep=[plain]),
        }
        for name, call in calls.items():
            try:
                result = call()
                if hasattr(result, "__await__"):
                    await result
            except TypeError as error:
                logged[name] = str(error)

    async with operator.running(client, install_crds=False) as running:
        made = await client.create(Jar(metadata=named(namespace), spec=Empty()))
        await settled(running, made)
    assert logged == {
        "key": "name and namespace are strings, not ObjectKey: for a key, pass key.name and key.namespace",
        "kind": "a kind must be a class, such as core.ConfigMap, not 'Jar'",
        "labels": "a namespace must be a string, not dict: labels go into labels=",
        "number": 'labels must be a label selector, such as "app=web" or {"app": "web"}, not int',
        "listed": "expected an object, such as core.ConfigMap(...), not a dict",
        "class": "expected an object, such as core.ConfigMap(...), not the class ConfigMap",
        "bare": "prune takes the kinds in a list: prune([ConfigMap], keep=...)",
        "kept": "expected an object, such as core.ConfigMap(...), not a str",
    }


async def test_logs_owned_object_without_selected_labels_once(
    operator: Operator, client: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    done: set[str] = set()

    @operator.reconciles(Jar, owns=[Owns(core.ConfigMap, labels={"app": "jars"})])
    async def sync(jar: Jar, ctx: Context[Jar]) -> None:
        for name, labels in (("with", {"app": "jars", "more": "x"}), ("without", {}), ("other", {"app": "x"})):
            await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name=name, labels=labels)))
        done.add("sync")

    @operator.reconciles(Jar, name="reader", owns=[Owns(core.Secret, labels="app=jars")], reads=[core.Secret])
    async def read(jar: Jar, ctx: Context[Jar]) -> None:
        await ctx.apply(core.Secret(metadata=meta.ObjectMeta(name="seen")))
        done.add("read")

    async def both_done() -> bool:
        return done == {"sync", "read"}

    async with operator.running(client, install_crds=False):
        await client.create(Jar(metadata=named(namespace), spec=Empty()))
        await until(both_done)
    logged = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(logged) == 1
    assert "ctx.apply of a ConfigMap without the labels that controller 'jar' selects (app=jars)" in logged[0]


def test_subresources_are_names() -> None:
    wrong: Any = "status"
    with pytest.raises(TypeError, match=r"subresources is a set of names, such as \{'status'\}, not a string"):
        Untyped.kind_of("a.example.com/v1", "A", plural="as", subresources=wrong)


async def test_the_class_from_the_server_knows_its_subresources(cluster: Cluster) -> None:
    made = await cluster.client().kind("untyped.example.com/v1", "Jar")
    assert made.__resource__.subresources == Found.__resource__.subresources
