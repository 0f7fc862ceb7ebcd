"""What the log says about failures that the program, or its installation, has to be changed for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import kubewright as kw
from kubewright.api import apiextensions, batch, core, meta
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.crd import install
from kubewright.testing import operator_client
from tests.patience import until


class FooSpec(kw.Model):
    image: str = "a"


class FooStatus(kw.Model):
    seen: int = 0


@kw.resource("messages.example.com/v1")
class Foo(kw.Resource[FooSpec, FooStatus]):
    """Something whose reconciler fails."""


Reconcile = Callable[[Foo, kw.Context[Foo]], Awaitable[None]]


def failing(reconcile: Reconcile, **options: Any) -> kw.Operator:
    operator = kw.Operator("messages")

    @operator.reconciles(Foo, **options)
    async def sync(foo: Foo, ctx: kw.Context[Foo]) -> None:
        await reconcile(foo, ctx)

    return operator


def foo() -> Foo:
    return Foo(metadata=meta.ObjectMeta(name="one", namespace="default"), spec=FooSpec())


async def log_of(operator: kw.Operator, client: Client, caplog: pytest.LogCaptureFixture, what: str) -> str:
    """The first line of the log with these words, after a Foo was made."""

    def lines() -> list[str]:
        return [record.getMessage() for record in caplog.records if what in record.getMessage()]

    async def logged() -> bool:
        return bool(lines())

    async with operator.running(client, install_crds=False) as running:
        await until(logged)
        inspected = running.inspect(Foo, "one", "default")
        assert what in inspected.last_error
    return lines()[0]


async def test_a_forbidden_call_names_the_permission_to_declare(caplog: pytest.LogCaptureFixture) -> None:
    async def lists_pods(foo: Foo, ctx: kw.Context[Foo]) -> None:
        await ctx.client.list(core.Pod, "default")

    operator = failing(lists_pods)
    async with Cluster(rbac=True) as cluster, cluster.client() as admin:
        await install(admin, Foo)
        client = await operator_client(cluster, operator, "default")
        await admin.create(foo())
        line = await log_of(operator, client, caplog, "Forbidden")
    assert 'pods is forbidden: User "system:serviceaccount:' in line
    assert line.endswith(
        'Declare the call with operator.needs(core.Pod, verbs=["list"]) unless it is declared already, run `kubewright'
        " manifests`, and apply the role"
    )


async def test_a_definition_without_a_status_is_named(caplog: pytest.LogCaptureFixture) -> None:
    async def writes_status(foo: Foo, ctx: kw.Context[Foo]) -> None:
        await ctx.set_status(FooStatus(seen=1))

    async with Cluster() as cluster, cluster.client() as client:
        await install(client, Foo)
        definition = await client.get(apiextensions.CustomResourceDefinition, "foos.messages.example.com")
        definition.spec.versions[0].subresources = None
        await client.update(definition)
        await client.create(foo())
        line = await log_of(failing(writes_status), client, caplog, "NotFound")
    assert (
        "The CustomResourceDefinition foos.messages.example.com has no status subresource in the cluster."
        " Run `kubewright install`"
    ) in line


async def test_an_immutable_field_is_named_without_the_whole_value(caplog: pytest.LogCaptureFixture) -> None:
    image = "a"

    async def applies_job(foo: Foo, ctx: kw.Context[Foo]) -> None:
        variables = [core.EnvVar(name=f"E{number}", value="x" * 50) for number in range(20)]
        container = core.Container(name="main", image=image, env=variables)
        pod = core.PodTemplateSpec(spec=core.PodSpec(restart_policy="Never", containers=[container]))
        await ctx.apply(batch.Job(metadata=meta.ObjectMeta(name="one"), spec=batch.JobSpec(template=pod)))

    operator = failing(applies_job, owns=[batch.Job])
    async with Cluster() as cluster, cluster.client() as client:
        await install(client, Foo)
        await client.create(foo())
        async with operator.running(client, install_crds=False):
            await client.wait_for(batch.Job, "one", lambda found: True, "default")
        image = "b"
        line = await log_of(operator, client, caplog, "ImmutableFields")
    assert "has immutable fields that would change: spec.template.spec.containers[0].image. Keep the values" in line
    assert len(line) < 500


async def test_the_error_inside_a_task_group_is_named_and_decides(caplog: pytest.LogCaptureFixture) -> None:
    async def in_a_group(foo: Foo, ctx: kw.Context[Foo]) -> None:
        async def one() -> None:
            raise kw.TerminalError("no such zone")

        async with asyncio.TaskGroup() as group:
            group.create_task(one())

    async with Cluster() as cluster, cluster.client() as client:
        await install(client, Foo)
        await client.create(foo())
        line = await log_of(failing(in_a_group), client, caplog, "no such zone")
    assert line == "Foo default/one: reconcile failed, not retried until the object changes: no such zone"
