"""Memcached: cache servers in a Deployment.

The operator keeps the Deployment in sync, reports pods and conditions in the status, and removes its finalizer from a
deleted Memcached when the last pod has stopped.

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
    """The desired state."""

    size: Annotated[int, kw.Range(1, 5)] = 1
    """The number of nodes."""
    container_port: Annotated[int, kw.Range(1, 65535)] = 11211
    """The port that each node listens on."""


class MemcachedStatus(kw.Model):
    """The observed state."""

    nodes: list[str] | None = None
    """The names of the pods."""
    conditions: list[meta.Condition] | None = None
    """Available: all nodes are up. Degraded: the Deployment has a problem, or the object is being deleted."""


@kw.resource(
    "cache.example.com/v1alpha1",
    columns={
        "Size": ".spec.size",
        "Available": ".status.conditions[?(@.type=='Available')].status",
        "Age": ".metadata.creationTimestamp",
    },
)
@kw.constrain(kw.Rule("self.metadata.name.size() <= 63", message="the name must have at most 63 characters"))
class Memcached(kw.Resource[MemcachedSpec, MemcachedStatus]):
    """Memcached servers."""


operator = kw.Operator("memcached-operator")


def memcached_of(pod: core.Pod) -> list[kw.ObjectKey]:
    """Returns the Memcached of a pod, from its labels. The pod's owner is a ReplicaSet."""
    instance = pod.metadata.labels.get(INSTANCE)
    return [kw.ObjectKey(pod.metadata.namespace, instance)] if instance else []


@operator.reconciles(Memcached, owns=[apps.Deployment], watches=[kw.Watch(core.Pod, map=memcached_of, labels=OURS)])
async def sync(memcached: Memcached, ctx: kw.Context[Memcached]) -> None:
    """Makes the Deployment match the Memcached, and reports its state."""
    size = memcached.spec.size
    try:
        deployment = await ctx.apply(deployment_of(memcached))
    except kw.NotOwned as error:
        ctx.set_condition("Available", False, "NotDeployed", "there are no nodes")
        ctx.set_condition("Degraded", True, "NotOwned", str(error))
        ctx.record("NotOwned", str(error), type="Warning")
        raise  # retried with backoff
    if ctx.changed:
        ctx.log.info("Deployment %s has the size %s", deployment.metadata.name, size)
        ctx.record("Deployed", f"Deployment {deployment.metadata.name} has the size {size}")

    up = deployment.status.available_replicas or 0
    ctx.set_condition("Available", up >= size, "AllUp" if up >= size else "Waiting", f"{up} of {size} nodes are up")
    ctx.set_condition("Degraded", False, "AllWell", "the Deployment has no problems")
    for condition in deployment.status.conditions or []:
        if (condition.type, condition.status) in (("ReplicaFailure", "True"), ("Progressing", "False")):
            ctx.set_condition("Degraded", True, condition.reason or condition.type, condition.message or "")
    pods = ctx.list(core.Pod, memcached.metadata.namespace, labels=labels_of(memcached))
    await ctx.set_status(MemcachedStatus(nodes=sorted(pod.metadata.name for pod in pods)))


@operator.finalizes(Memcached)
async def clean_up(memcached: Memcached, ctx: kw.Context[Memcached]) -> kw.Result | None:
    """Stops the nodes before the Memcached is removed."""
    deployments = ctx.owned(apps.Deployment)
    if not deployments:
        return None
    ctx.set_condition("Degraded", True, "Finalizing", "the Memcached is being deleted and its nodes are stopping")
    for deployment in deployments:
        if deployment.metadata.deletion_timestamp is None:
            ctx.log.info("stopping the nodes before the Memcached is removed")
            ctx.record("Deleting", f"Memcached {memcached.metadata.name} is being deleted", type="Warning")
            await ctx.delete(deployment, propagation="Foreground")  # removed after its pods
    return kw.Result(requeue_after=60)  # the deletion of the Deployment usually comes first


def labels_of(memcached: Memcached) -> dict[str, str]:
    """Returns the labels of the pods of a Memcached."""
    return {**OURS, INSTANCE: memcached.metadata.name}


def deployment_of(memcached: Memcached) -> apps.Deployment:
    """Returns the Deployment of a Memcached."""
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
    unprivileged = core.PodSecurityContext(
        run_as_non_root=True, run_as_user=11211, seccomp_profile=core.SeccompProfile(type="RuntimeDefault")
    )
    return apps.Deployment(
        metadata=meta.ObjectMeta(name=memcached.metadata.name, labels=labels_of(memcached)),
        spec=apps.DeploymentSpec(
            replicas=memcached.spec.size,
            selector=meta.LabelSelector(match_labels=labels_of(memcached)),
            template=core.PodTemplateSpec(
                metadata=meta.ObjectMeta(labels=labels_of(memcached)),
                spec=core.PodSpec(containers=[server], security_context=unprivileged),
            ),
        ),
    )


if __name__ == "__main__":
    operator.run()
