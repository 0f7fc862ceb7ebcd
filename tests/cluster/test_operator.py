"""An operator runs on the embedded cluster as on a real one; `--cluster=real` runs it there."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import core, meta
from kubewright.cluster import Cluster
from kubewright.crd import install
from kubewright.testing import RealCluster
from tests.patience import until


class ToySpec(kw.Model):
    size: int = 1


class ToyStatus(kw.Model):
    seen: int = 0


@kw.resource("embedded.example.com/v1")
class Toy(kw.Resource[ToySpec, ToyStatus]):
    """A thing with a size, which a ConfigMap repeats."""


def make_operator() -> kw.Operator:
    operator = kw.Operator("toys")

    @operator.reconciles(Toy, owns=[core.ConfigMap])
    async def sync(toy: Toy, ctx: kw.Context[Toy]) -> None:
        place = meta.ObjectMeta(name=toy.metadata.name, namespace=toy.metadata.namespace)
        await ctx.apply(core.ConfigMap(metadata=place, data={"size": str(toy.spec.size)}))
        await ctx.set_status(ToyStatus(seen=toy.spec.size))

    return operator


async def test_operator_converges_and_follows_changes(cluster: Cluster | RealCluster, cluster_namespace: str) -> None:
    client = cluster.client()
    await install(client, Toy)
    async with make_operator().running(client):
        place = meta.ObjectMeta(name="a", namespace=cluster_namespace)
        toy = await client.create(Toy(metadata=place, spec=ToySpec(size=3)))

        async def shows(size: int) -> bool:
            copied = await client.find(core.ConfigMap, "a", cluster_namespace)
            seen = (await client.get(Toy, "a", cluster_namespace)).status.seen
            return copied is not None and copied.data == {"size": str(size)} and seen == size

        await until(lambda: shows(3))
        toy = await client.get(Toy, "a", cluster_namespace)
        toy.spec.size = 4
        await client.update(toy)
        await until(lambda: shows(4))
