"""The fork server: one process per run."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import resource
import signal
import sys
import traceback
from typing import Final

import kubewright as kw
from kubewright.api import apps, core, meta
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.explore.model import Outcome, Plan
from kubewright.explore.runner import _frames
from kubewright.explore.runner._determinism import deterministic
from kubewright.explore.runner._play import play

__all__ = ["serve"]

_SECONDS: Final = 300.0
"""Real seconds that a run may take."""
_CPU_SECONDS: Final = 60
_MEMORY: Final = 4 << 30


def serve() -> None:
    """Serves runs until the input ends."""
    given, taken = os.dup(0), os.dup(1)
    devnull = os.open(os.devnull, os.O_RDWR)
    os.dup2(devnull, 0)
    os.dup2(devnull, 1)
    asyncio.run(_warm_up())
    gc.collect()
    gc.freeze()
    _frames.write(taken, "ready")
    while True:
        try:
            target, plan = _frames.read(given)
        except EOFError:
            return
        _frames.write(taken, _forked(target, plan, devnull))


def _forked(target: str, plan: Plan, devnull: int) -> Outcome:
    """Runs a plan in a child process."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.close(reader)
            os.dup2(devnull, 2)
            with contextlib.suppress(ValueError, OSError):  # macOS has no limit of the address space
                resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
            _run(target, plan, writer)
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    try:
        found: Outcome = _frames.read(reader, _SECONDS)
    except EOFError:
        return Outcome(broken=f"the run ended without a result, or took more than {_CPU_SECONDS} CPU seconds")
    except TimeoutError:
        return Outcome(broken=f"the run did not end within {_SECONDS:g} real seconds")
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return found


def _run(target: str, plan: Plan, writer: int) -> None:
    """Runs a plan and writes its outcome. Nothing is stopped afterwards: the process is only for this run."""

    async def run() -> None:
        _frames.write(writer, await play(target, plan, escapes))
        os._exit(0)

    try:
        with deterministic(target, plan.conditions.seed) as escapes:
            asyncio.run(run())
    except BaseException as error:
        _frames.write(writer, Outcome(broken="".join(traceback.format_exception(error))))


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
    raise ImportError("kubewright explore needs a system with fork")
