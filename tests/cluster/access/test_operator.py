"""An operator that runs as its service account with its generated roles only, on both clusters."""

from __future__ import annotations

from typing import Any

import pytest

import kubewright as kw
from kubewright.api import ObjectMeta, core
from kubewright.client import Forbidden
from kubewright.cluster import Cluster, ClusterError
from kubewright.crd import install
from kubewright.testing import RealCluster, operator_client, verified_rbac
from tests.patience import until

pytestmark = pytest.mark.clusters


class LampSpec(kw.Model):
    bulbs: int = 1


class LampStatus(kw.Model):
    lit: int = 0


@kw.resource("access.example.com/v1")
class Lamp(kw.Resource[LampSpec, LampStatus]):
    """A kind whose objects own a number of ConfigMaps."""


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    return {"rbac": True, "controllers": False}


def lamps(name: str) -> kw.Operator:
    operator = kw.Operator(name)

    @operator.reconciles(Lamp, owns=[core.ConfigMap])
    async def sync(lamp: Lamp, ctx: kw.Context[Lamp]) -> None:
        names = [f"{lamp.metadata.name}-{number}" for number in range(lamp.spec.bulbs)]
        wanted = [core.ConfigMap(metadata=ObjectMeta(name=each), data={"lit": "yes"}) for each in names]
        for bulb in wanted:
            await ctx.apply(bulb)
        await ctx.prune([core.ConfigMap], keep=wanted)
        await ctx.set_status(LampStatus(lit=len(wanted)))
        ctx.record("Lit", f"{len(wanted)} bulbs")

    @operator.finalizes(Lamp)
    async def clean(lamp: Lamp, ctx: kw.Context[Lamp]) -> None: ...

    return operator


@pytest.mark.promise(
    "Access to the embedded cluster",
    "An operator runs as its own service account with only its generated roles, on both clusters.",
)
async def test_operator_works_with_generated_roles_only(cluster: Cluster | RealCluster, cluster_namespace: str) -> None:
    admin = cluster.client()
    await install(admin, Lamp)
    operator = lamps(f"lamps-{cluster_namespace}")
    own = await operator_client(cluster, operator, cluster_namespace)
    with pytest.raises(Forbidden):
        await own.list(core.Secret, cluster_namespace)
    with verified_rbac(operator, unused=False):
        async with own, operator.running(own, install_crds=False):
            place = ObjectMeta(name="a", namespace=cluster_namespace)
            await admin.create(Lamp(metadata=place, spec=LampSpec(bulbs=2)))
            await admin.wait_for(Lamp, "a", lambda seen: seen.status.lit == 2, cluster_namespace)
            lamp = await admin.get(Lamp, "a", cluster_namespace)
            lamp.spec.bulbs = 1
            await admin.update(lamp)
            await admin.wait_for(Lamp, "a", lambda seen: seen.status.lit == 1, cluster_namespace)
            left = [each.metadata.name for each in await admin.list(core.ConfigMap, cluster_namespace)]
            assert [name for name in left if name != "kube-root-ca.crt"] == ["a-0"]
            await admin.delete(Lamp, "a", cluster_namespace)

            async def gone() -> bool:
                return await admin.find(Lamp, "a", cluster_namespace) is None

            await until(gone)


@pytest.mark.promise(
    "Access to the embedded cluster",
    "An operator runs as its own service account with only its generated roles, on both clusters.",
)
@pytest.mark.clusters("embedded")
async def test_rejects_service_account_client_without_rbac() -> None:
    async with Cluster() as cluster:
        with pytest.raises(ClusterError, match=r"use Cluster\(rbac=True\), or pytest --cluster-rbac"):
            await operator_client(cluster, lamps("lamps"), "default")


async def test_both_clusters_deny_with_the_same_message(cluster: Cluster | RealCluster, cluster_namespace: str) -> None:
    refused = []
    for user in (cluster.client_as("jane"), cluster.client_as(f"system:serviceaccount:{cluster_namespace}:robot", "x")):
        async with user:
            with pytest.raises(Forbidden) as caught:
                await user.list(core.Secret, cluster_namespace)
            refused.append(caught.value.status.message)
    assert refused == [
        f'secrets is forbidden: User "{user}" cannot list resource "secrets" in API group "" in the namespace '
        f'"{cluster_namespace}"'
        for user in ("jane", f"system:serviceaccount:{cluster_namespace}:robot")
    ]
