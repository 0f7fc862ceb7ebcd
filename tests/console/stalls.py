"""A kind with everything that an object's page shows: conditions, dependents, events, logs, failures."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import kubewright as kw
from kubewright.api import apps, core, meta, set_controller
from kubewright.client import AlreadyExists, Client
from kubewright.crd import install
from kubewright.operator import Operator
from kubewright.queue import ExponentialBackoff

__all__ = ["HOSTILE", "PATH", "Stall", "StallSpec", "address", "grown", "operator_of", "stall", "stalls_defined"]

PATH = "looks.console.example.com/stalls"
HOSTILE = (
    '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
    "{{constructor.constructor('window.hacked=1')()}}"
)


class StallSpec(kw.Model):
    replicas: int = 1
    broken: str = ""


class StallStatus(kw.Model):
    conditions: list[meta.Condition] | None = None


@kw.resource("looks.console.example.com/v1", columns={"Replicas": ".spec.replicas"})
class Stall(kw.Resource[StallSpec, StallStatus]):
    """A stall on a market."""


async def stalls_defined(client: Client) -> None:
    """A cluster that serves stalls."""
    await install(client, Stall)


def stall(name: str, namespace: str, **spec: object) -> Stall:
    """Returns a stall that is not created yet."""
    return Stall(metadata=meta.ObjectMeta(name=name, namespace=namespace), spec=StallSpec(**spec))  # type: ignore[arg-type]


def address(name: str, namespace: str, tab: str = "") -> str:
    """Returns the path of its page."""
    return f"/objects/{PATH}/{namespace}/{name}" + (f"?tab={tab}" if tab else "")


def operator_of(namespaces: Sequence[str], **options: object) -> Operator:
    """Creates a Deployment per stall, sets conditions, records an event, logs, and fails for a broken one."""
    made = Operator("stall-operator", namespaces=[*namespaces], **options)  # type: ignore[arg-type]

    @made.reconciles(Stall, owns=[apps.Deployment], rate_limiter=lambda: ExponentialBackoff(0.2, 60.0))
    async def sync(obj: Stall, ctx: kw.Context[Stall]) -> None:
        ctx.log.warning("looking after %d replicas", obj.spec.replicas, extra={"wanted": obj.spec.replicas})
        if obj.spec.broken:
            ctx.set_condition("Ready", False, "SupplyFailed", obj.spec.broken)
            raise ConnectionError(obj.spec.broken)
        await ctx.apply(deployment(obj))
        ctx.set_condition("Ready", True, "Open", f"{obj.spec.replicas} at work")
        if ctx.changed:
            ctx.record("Opened", "The stall is open")

    return made


def deployment(obj: Stall) -> apps.Deployment:
    """Returns the Deployment of a stall."""
    labels = {"stall": "it"}
    container = core.Container(name="stall", image="example.com/stall:1")
    template = core.PodTemplateSpec(metadata=meta.ObjectMeta(labels=labels), spec=core.PodSpec(containers=[container]))
    return apps.Deployment(
        metadata=meta.ObjectMeta(name=f"{obj.metadata.name}-stall"),
        spec=apps.DeploymentSpec(
            replicas=obj.spec.replicas, selector=meta.LabelSelector(match_labels=labels), template=template
        ),
    )


async def grown(client: Client, namespace: str, name: str) -> None:
    """Creates the ReplicaSet and pod that controllers would create, on a cluster without them."""
    owner = await client.get(apps.Deployment, f"{name}-stall", namespace)
    with contextlib.suppress(AlreadyExists):
        await client.create(core.ServiceAccount(metadata=meta.ObjectMeta(name="default", namespace=namespace)))
    labels = owner.spec.template.metadata.labels
    replicas = apps.ReplicaSet(
        metadata=meta.ObjectMeta(name=f"{name}-stall-1", namespace=namespace),
        spec=apps.ReplicaSetSpec(selector=meta.LabelSelector(match_labels=labels), template=owner.spec.template),
    )
    set_controller(replicas, owner=owner)
    replicas = await client.create(replicas)
    pod = core.Pod(
        metadata=meta.ObjectMeta(name=f"{name}-stall-1-a", namespace=namespace, labels=dict(labels)),
        spec=owner.spec.template.spec,
    )
    set_controller(pod, owner=replicas)
    await client.create(pod)
