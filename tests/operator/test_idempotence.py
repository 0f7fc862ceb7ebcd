"""`running.check_idempotent()`: one more reconcile of unchanged objects writes nothing."""

from __future__ import annotations

import itertools

import pytest

import kubewright as kw
from kubewright.api import core, meta
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.operator import NotIdempotent


def source(name: str = "a") -> core.ConfigMap:
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace="default", labels={"app": "toys"}))


async def check(operator: kw.Operator) -> None:
    clock = VirtualClock()
    async with Cluster(clock=clock) as cluster, cluster.client() as client:
        await client.create(source())
        async with operator.running(cluster, clock=clock) as running:
            await running.settled()
            await running.check_idempotent()


async def test_passes_for_an_operator_that_writes_only_changes() -> None:
    operator = kw.Operator("quiet")

    @operator.reconciles(core.ConfigMap, labels={"app": "toys"}, owns=[core.Secret])
    async def sync(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None:
        await ctx.apply(core.Secret(metadata=meta.ObjectMeta(name=obj.metadata.name), string_data={"a": "b"}))

    await check(operator)


async def test_names_each_write_of_a_non_idempotent_operator() -> None:
    operator, numbers = kw.Operator("restless"), itertools.count()

    @operator.reconciles(core.ConfigMap, labels={"app": "toys"}, owns=[core.Secret])
    async def sync(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None:
        if ctx.trigger in ("initial", "idempotence check"):
            content = {"a": str(next(numbers))}
            await ctx.apply(core.Secret(metadata=meta.ObjectMeta(name="child"), string_data=content))

    with pytest.raises(NotIdempotent, match=r"(?s)wrote or failed:\n  ConfigMap default/a: \w+ secrets default/child"):
        await check(operator)


async def test_names_a_reconcile_that_fails() -> None:
    operator = kw.Operator("failing")

    @operator.reconciles(core.ConfigMap, labels={"app": "toys"})
    async def sync(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None:
        if ctx.trigger == "idempotence check":
            raise RuntimeError("the disk is full")

    with pytest.raises(NotIdempotent, match=r"ConfigMap default/a: RuntimeError: the disk is full"):
        await check(operator)
