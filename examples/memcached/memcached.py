"""Memcached: cache servers in a Deployment of the size that is asked for.

The operator keeps the Deployment as it should be, tells in the status which pods there are and whether all is well, and
lets a Memcached go only when its last pod has ended.

    kubectl apply --server-side -k config/crd
    kubewright run memcached.py
    kubectl apply -f example-memcached.yaml
"""

from typing import Annotated

import kubewright as kw
from kubewright.api import apps, core, meta

INSTANCE = "app.kubernetes.io/instance"
OURS = {"app.kubernetes.io/name": "memcached", "app.kubernetes.io/managed-by": "memcached-operator"}


class MemcachedSpec(kw.Model):
    """What is asked for."""

    size: Annotated[int, kw.Range(1, 5)] = 1
    """The number of nodes."""
    container_port: Annotated[int, kw.Range(1, 65535)] = 11211
    """The port at which each node listens."""


class MemcachedStatus(kw.Model):
    """What is there."""

    nodes: list[str] | None = None
    """The names of the pods."""
    conditions: list[meta.Condition] | None = None
    """Available: whether all nodes are up. Degraded: whether something is wrong, or it is being deleted."""


@kw.resource(
    "cache.example.com/v1alpha1",
    columns={
        "Size": ".spec.size",
        "Available": ".status.conditions[?(@.type=='Available')].status",
        "Age": ".metadata.creationTimestamp",
    },
)
@kw.constrain(kw.Rule("self.metadata.name.size() <= 63", message="its name has at most 63 characters"))
class Memcached(kw.Resource[MemcachedSpec, MemcachedStatus]):
    """Memcached servers."""


operator = kw.Operator("memcached-operator")


def memcached_of(pod: core.Pod) -> list[kw.ObjectKey]:
    """Which Memcached a pod belongs to. Its owner is a ReplicaSet, so this is in its labels."""
    instance = pod.metadata.labels.get(INSTANCE)
    return [kw.ObjectKey(pod.metadata.namespace, instance)] if instance else []


@operator.reconciles(Memcached, owns=[apps.Deployment], watches=[kw.Watch(core.Pod, map=memcached_of, labels=OURS)])
async def sync(memcached: Memcached, ctx: kw.Context[Memcached]) -> None:
    """Make the Deployment match the Memcached, and the status match what is there."""
    size = memcached.spec.size
    try:
        deployment = await ctx.apply(deployment_of(memcached))
    except kw.NotOwned as error:
        ctx.set_condition("Available", False, "NotDeployed", "there are no nodes")
        ctx.set_condition("Degraded", True, "NotOwned", str(error))
        ctx.record("NotOwned", str(error), type="Warning")
        raise  # it comes back, after a time that grows
    if ctx.changed:
        ctx.record("Deployed", f"Deployment {deployment.metadata.name} has the size {size}")

    up = deployment.status.available_replicas or 0
    ctx.set_condition("Available", up >= size, "AllUp" if up >= size else "Waiting", f"{up} of {size} nodes are up")
    ctx.set_condition("Degraded", False, "AllWell", "nothing is in the way")
    for condition in deployment.status.conditions or []:
        if (condition.type, condition.status) in (("ReplicaFailure", "True"), ("Progressing", "False")):
            ctx.set_condition("Degraded", True, condition.reason or condition.type, condition.message or "")
    pods = ctx.list(core.Pod, memcached.metadata.namespace, labels=labels_of(memcached))
    await ctx.set_status(MemcachedStatus(nodes=sorted(pod.metadata.name for pod in pods)))


@operator.finalizes(Memcached)
async def clean_up(memcached: Memcached, ctx: kw.Context[Memcached]) -> kw.Result | None:
    """Stop the nodes first: when the Memcached is gone, nothing of it runs any more."""
    deployments = ctx.owned(apps.Deployment)
    if not deployments:
        return None
    ctx.set_condition("Degraded", True, "Finalizing", "it is being deleted, and its nodes are being stopped")
    for deployment in deployments:
        if deployment.metadata.deletion_timestamp is None:
            ctx.record("Deleting", f"Memcached {memcached.metadata.name} is being deleted", type="Warning")
            await ctx.delete(deployment, propagation="Foreground")  # it goes after its pods
    return kw.Result(requeue_after=60)  # or, more likely, as soon as the Deployment is gone


def labels_of(memcached: Memcached) -> dict[str, str]:
    """What the pods of a Memcached are known by."""
    return {**OURS, INSTANCE: memcached.metadata.name}


def deployment_of(memcached: Memcached) -> apps.Deployment:
    """The Deployment that a Memcached asks for."""
    port = memcached.spec.container_port
    server = core.Container(
        name="memcached",
        image="memcached:1.6-alpine",
        command=["memcached", "--memory-limit=64", "--extended=modern", f"--port={port}"],
        ports=[core.ContainerPort(name="memcached", container_port=port)],
        security_context=core.SecurityContext(
            allow_privilege_escalation=False, capabilities=core.Capabilities(drop=["ALL"])
        ),
    )
    as_nobody_special = core.PodSecurityContext(
        run_as_non_root=True, run_as_user=11211, seccomp_profile=core.SeccompProfile(type="RuntimeDefault")
    )
    return apps.Deployment(
        metadata=meta.ObjectMeta(name=memcached.metadata.name, labels=labels_of(memcached)),
        spec=apps.DeploymentSpec(
            replicas=memcached.spec.size,
            selector=meta.LabelSelector(match_labels=labels_of(memcached)),
            template=core.PodTemplateSpec(
                metadata=meta.ObjectMeta(labels=labels_of(memcached)),
                spec=core.PodSpec(containers=[server], security_context=as_nobody_special),
            ),
        ),
    )


if __name__ == "__main__":
    operator.run()
