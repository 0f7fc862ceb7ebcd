"""Operators that define their kinds themselves: what they may, and how it ends when the server does not serve them."""

from __future__ import annotations

import pytest

from kubewright import resource
from kubewright.api import JSON, ObjectMeta, Resource, core
from kubewright.api.apiextensions.v1 import CustomResourceDefinition
from kubewright.cache import ObjectKey
from kubewright.cluster import Cluster
from kubewright.controller import Context, Watch
from kubewright.crd import InstallError, install
from kubewright.operator import ExitCode, Operator
from kubewright.operator.definition import defined_kinds
from kubewright.operator.process import report_failure


@resource("defining.example.com/v1", plural="definables")
class Definable(Resource[JSON, None]):
    """Defined by its operator."""


def defining(**options: bool) -> set[str]:
    operator = Operator("definer", **options)  # type: ignore[arg-type]  # the one option that these tests give

    @operator.reconciles(Definable)
    async def sync(obj: Definable, ctx: Context[Definable]) -> None: ...

    return {str(one) for one in operator.permissions() if one.group == "apiextensions.k8s.io"}


def test_roles_allow_for_the_definition_where_the_operator_makes_it() -> None:
    name = "customresourcedefinitions.apiextensions.k8s.io"
    assert defining(install_crds=True) == {
        f"create {name}",
        *(f"{verb} {name} definables.defining.example.com" for verb in ("get", "patch", "watch")),
    }
    assert defining() == defining(install_crds=False) == set()


@pytest.mark.promise(
    "What wakes a reconciler",
    "What runs in a test defines the kinds of its groups that it uses, and none of others.",
)
def test_kinds_of_its_groups_that_it_uses_are_defined_with_those_that_it_reconciles() -> None:
    @resource("defining.example.com/v1")
    class Shared(Resource[JSON, None]):
        """Watched, and of the same group."""

    @resource("other.example.com/v1")
    class Foreign(Resource[JSON, None]):
        """A kind of another operator."""

    operator = Operator("definer")

    @operator.reconciles(Definable, watches=[Watch(Shared, map=lambda _: [])], reads=[Foreign], owns=[core.Secret])
    async def sync(obj: Definable, ctx: Context[Definable]) -> None: ...

    assert defined_kinds(operator.registrations()) == [Definable, Shared]


def test_unserved_definition_exits_as_not_ready() -> None:
    assert report_failure(InstallError("definables.defining.example.com", "not served after 30s")) is ExitCode.NOT_READY


async def test_running_defines_a_kind_that_is_only_watched_beside_a_built_in_one() -> None:
    @resource("watched.example.com/v1")
    class Watched(Resource[JSON, None]):
        """Of this program, and reconciled by nothing."""

    operator, seen = Operator("watcher"), list[str]()

    @operator.reconciles(core.ConfigMap, watches=[Watch(Watched, map=ObjectKey.of)], reads=[Definable])
    async def sync(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None:
        seen.append(ctx.trigger)

    place = ObjectMeta(name="a", namespace="default")
    async with Cluster() as cluster, cluster.client() as client:
        await client.create(core.ConfigMap(metadata=place))
        async with operator.running(cluster) as running:
            await client.create(Watched(metadata=place, spec={}))
            await running.settled()
            assert "Watched created" in seen or "Watched added" in seen, seen
            assert await client.list(Definable) == []


async def test_running_keeps_definition_of_another_operator() -> None:
    @resource("foreign.example.com/v1", plural="foreigners")
    class Foreigner(Resource[JSON, None]):
        """A kind of another operator, with a larger definition."""

    operator = Operator("watcher")

    @operator.reconciles(core.ConfigMap, reads=[Foreigner])
    async def sync(obj: core.ConfigMap, ctx: Context[core.ConfigMap]) -> None: ...

    async with Cluster() as cluster, cluster.client() as client:
        await install(client, Foreigner)
        before = await client.get(CustomResourceDefinition, "foreigners.foreign.example.com")
        async with operator.running(cluster):
            pass
        after = await client.get(CustomResourceDefinition, "foreigners.foreign.example.com")
        assert after.metadata.resource_version == before.metadata.resource_version
