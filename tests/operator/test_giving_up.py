"""What a reconciler gives up: a field of a child, a condition, an object that is slow to go. On both clusters."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kubewright import resource
from kubewright.api import Model, ObjectMeta, Resource, apps, core, meta, set_condition
from kubewright.client import Client, MergePatch
from kubewright.controller import Context
from kubewright.crd import install
from kubewright.operator import Operator
from tests.operator.conftest import settled
from tests.patience import until

pytestmark = pytest.mark.clusters


class LentSpec(Model):
    replicas: int | None = None
    alarmed: bool = False


class LentStatus(Model):
    seen: int | None = None
    conditions: list[meta.Condition] = []  # noqa: RUF012


@resource("giving-up.example.com/v1", plural="lents")
class Lent(Resource[LentSpec, LentStatus]):
    """Has a Deployment whose size it may or may not decide on."""


@pytest.fixture
def operator(namespace: str) -> Operator:
    return Operator("giver", namespaces=[namespace])


def lent(namespace: str, **spec: Any) -> Lent:
    return Lent(metadata=ObjectMeta(name="one", namespace=namespace), spec=LentSpec(**spec))


def deployment(obj: Lent) -> apps.Deployment:
    labels = {"app": "one"}
    return apps.Deployment(
        metadata=meta.ObjectMeta(name="one"),
        spec=apps.DeploymentSpec(
            replicas=obj.spec.replicas,
            selector=meta.LabelSelector(match_labels=labels),
            template=core.PodTemplateSpec(
                metadata=meta.ObjectMeta(labels=labels),
                spec=core.PodSpec(containers=[core.Container(name="one", image="one")]),
            ),
        ),
    )


@pytest.mark.parametrize("changes_before", [0, 1])
async def test_a_released_field_keeps_its_value_and_has_no_owner(
    operator: Operator, client: Client, namespace: str, changes_before: int
) -> None:
    """Right after the create, and after a first apply: the server notes the two differently."""
    sizes: list[Any] = []

    @operator.reconciles(Lent, owns=[apps.Deployment])
    async def sync(obj: Lent, ctx: Context[Lent]) -> None:
        applied = await ctx.apply(deployment(obj), release=["spec.replicas"])
        sizes.append((obj.spec.replicas, applied.spec.replicas, ctx.changed))

    async with operator.running(client) as running:
        await client.create(lent(namespace, replicas=3))
        for _ in range(changes_before):
            await client.wait_for(apps.Deployment, "one", lambda found: found.spec.replicas == 3, namespace)
            await client.patch(Lent, "one", MergePatch({"spec": {"replicas": 4}}), namespace)
        kept = 3 + changes_before
        await client.wait_for(apps.Deployment, "one", lambda found: found.spec.replicas == kept, namespace)
        asked = await client.patch(Lent, "one", MergePatch({"spec": {"replicas": None}}), namespace)
        await settled(running, asked)
        assert sizes[-1] == (None, kept, sizes[-1][2])
        # It has no owner now: another client may set it without a conflict.
        theirs = await client.patch(apps.Deployment, "one", MergePatch({"spec": {"replicas": 7}}), namespace)
        await settled(running, theirs)
        assert sizes[-1] == (None, 7, False)
        # And it can be taken back.
        asked = await client.patch(Lent, "one", MergePatch({"spec": {"replicas": 2}}), namespace)
        await settled(running, asked)
        assert sizes[-1][:2] == (2, 2)
    found = await client.get(apps.Deployment, "one", namespace)
    assert found.spec.replicas == 2


@pytest.mark.promise("Our own writes", "A field to be given up that does not exist is an error that names it.")
async def test_a_released_field_that_does_not_exist_is_an_error_that_names_it(
    operator: Operator, client: Client, namespace: str
) -> None:
    messages: list[str] = []

    @operator.reconciles(Lent, owns=[apps.Deployment])
    async def sync(obj: Lent, ctx: Context[Lent]) -> None:
        for paths in (["spec.replica"], ["spec.template.spec.containers[0].image"], "spec.replicas"):
            with pytest.raises(TypeError) as error:
                await ctx.apply(deployment(obj), release=paths)
            messages.append(str(error.value))

    async with operator.running(client) as running:
        await settled(running, await client.create(lent(namespace)))
    assert "replica" in messages[0]
    assert "is inside a list" in messages[1]
    assert messages[2] == "release must be a list of paths: release=['spec.replicas']"


@pytest.mark.promise("Our own writes", "The last condition can be taken away.")
async def test_the_last_condition_can_be_removed(operator: Operator, client: Client, namespace: str) -> None:
    answers: list[bool] = []

    @operator.reconciles(Lent)
    async def sync(obj: Lent, ctx: Context[Lent]) -> None:
        if obj.spec.alarmed:
            ctx.set_condition("Alarmed", True, "Asked")
        else:
            answers.append(ctx.remove_condition("Alarmed"))
            answers.append(ctx.remove_condition("Alarmed"))

    async with operator.running(client) as running:
        await client.create(lent(namespace, alarmed=True))
        await client.wait_for(Lent, "one", lambda found: len(found.status.conditions) == 1, namespace)
        asked = await client.patch(Lent, "one", MergePatch({"spec": {"alarmed": False}}), namespace)
        await settled(running, asked)
        assert (await client.get(Lent, "one", namespace)).status.conditions == []
    assert answers[:2] == [True, False]


@pytest.mark.promise("Our own writes", "Conditions are a map by type, for the server too.")
async def test_conditions_are_a_map_by_type_for_the_server_too(client: Client, namespace: str) -> None:
    """Two managers can each apply their own, as with Kubernetes' own kinds."""
    await install(client, Lent)
    await client.create(lent(namespace))
    for type_ in ("Ready", "Degraded"):
        obj = lent(namespace)
        set_condition(obj.status, type_, True, "Said", now=datetime(2030, 1, 1, tzinfo=UTC))
        await client.apply(obj, field_manager=type_.lower(), subresource="status")
    found = await client.get(Lent, "one", namespace)
    assert sorted(condition.type for condition in found.status.conditions) == ["Degraded", "Ready"]


@pytest.mark.promise("Our own writes", "An object whose deletion takes time is still seen, as going.")
async def test_a_deleted_object_with_finalizers_stays_visible_in_deletion(
    operator: Operator, client: Client, namespace: str
) -> None:
    seen: list[Any] = []

    @operator.reconciles(Lent, owns=[core.ConfigMap])
    async def sync(obj: Lent, ctx: Context[Lent]) -> None:
        if seen:
            return
        metadata = meta.ObjectMeta(name="kept", finalizers=["giving-up.example.com/wait"])
        made = await ctx.create(core.ConfigMap(metadata=metadata))
        seen.append(await ctx.delete(made, propagation="Foreground"))
        found = ctx.get(core.ConfigMap, "kept")
        assert found is not None
        seen.append(found.metadata.deletion_timestamp is not None)
        seen.append(sorted(found.metadata.finalizers))

    async with operator.running(client) as running:
        await settled(running, await client.create(lent(namespace)))

        async def done() -> bool:
            return len(seen) == 3

        await until(done)
        await client.patch(core.ConfigMap, "kept", MergePatch({"metadata": {"finalizers": None}}), namespace)
    assert seen[:2] == [True, True]
    assert "giving-up.example.com/wait" in seen[2]
