"""The fork server: one process per run, and processes from which runs branch off."""

from __future__ import annotations

import asyncio
import gc
import os
import sys

import kubewright as kw
from kubewright.api import apps, core, meta
from kubewright.api.cel import Rules, is_available
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.cluster.policies import PolicyConditions
from kubewright.cluster.registry import builtin_types
from kubewright.explore.runner import _frames
from kubewright.explore.runner._stems import Stems

__all__ = ["serve"]


def serve() -> None:
    """Serves runs until the input ends."""
    given, taken = os.dup(0), os.dup(1)
    devnull = os.open(os.devnull, os.O_RDWR)
    os.dup2(devnull, 0)
    os.dup2(devnull, 1)
    _import_deferred()
    asyncio.run(_warm_up())
    gc.collect()
    gc.freeze()
    _frames.write(taken, "ready")
    stems = Stems((given, taken))
    while True:
        try:
            target, plan, fresh = _frames.read(given)
        except EOFError:
            stems.close()
            return
        _frames.write(taken, stems.run(target, plan, fresh=fresh))


def _import_deferred() -> None:
    """Imports what the embedded cluster imports on first use: validation of each kind, and CEL."""
    for type_ in builtin_types():
        type_.strategy.name_problems("any")
    if is_available():
        assert Rules({"type": "object", "x-kubernetes-validations": [{"rule": "true"}]})
        assert PolicyConditions().problems("true", "") == []


async def _warm_up() -> None:
    """Imports everything that a run needs, so that no run has to."""
    operator = kw.Operator("warm-up")

    @operator.reconciles(core.ConfigMap)
    async def sync(found: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None:
        if found.metadata.name == "warm-up":
            await ctx.apply(core.Secret(metadata=meta.ObjectMeta(name="warm-up")))

    clock = VirtualClock()
    labels = {"app": "warm-up"}
    place = meta.ObjectMeta(name="warm-up", namespace="default")
    async with Cluster(clock=clock, seed=1, workloads=True) as cluster:
        client = cluster.client()
        cluster.lab.compact()
        async with operator.running(client, clock=clock):
            await client.create(core.ConfigMap(metadata=place))
            await client.create(
                apps.Deployment(
                    metadata=place,
                    spec=apps.DeploymentSpec(
                        replicas=1,
                        selector=meta.LabelSelector(match_labels=labels),
                        template=core.PodTemplateSpec(
                            metadata=meta.ObjectMeta(labels=labels),
                            spec=core.PodSpec(containers=[core.Container(name="main", image="nginx")]),
                        ),
                    ),
                )
            )
            await clock.advance(120)
            await client.delete(apps.Deployment, "warm-up", "default")
            await clock.advance(120)


if sys.platform == "win32":
    raise ImportError("kubewright explore requires fork, which this operating system does not have")
