"""The Kubernetes sample-controller, in one file.

A Foo names an nginx Deployment and its size. The operator creates the Deployment, keeps it in sync, and reports the
number of available replicas in the Foo's status.

    kubectl apply -k config/crd
    kubewright run foo.py            # or: python foo.py
    kubectl apply -f example-foo.yaml
"""

from typing import Annotated

import kubewright as kw
from kubewright.api import apps, core, meta


class FooSpec(kw.Model):
    """The desired state."""

    deployment_name: str
    replicas: Annotated[int, kw.Range(1, 10)] | None = None


class FooStatus(kw.Model):
    """The observed state."""

    available_replicas: int = 0


@kw.resource("example.com/v1alpha1", columns={"Available": ".status.availableReplicas"})
class Foo(kw.Resource[FooSpec, FooStatus]):
    """Runs an nginx Deployment of the given size."""


operator = kw.Operator("sample-controller")


@operator.reconciles(Foo, owns=[apps.Deployment], resync=30)
async def sync(foo: Foo, ctx: kw.Context[Foo]) -> None:
    """Makes the Deployment match the Foo, and the Foo's status match the Deployment."""
    if not foo.spec.deployment_name:
        # A retry would fail in the same way. The next change of the Foo runs this again.
        raise kw.TerminalError("deploymentName must be specified")
    try:
        # If spec.replicas is unset, or no longer set, another client may scale the Deployment.
        deployment = await ctx.apply(nginx_deployment(foo), release=["spec.replicas"])
    except kw.NotOwned:
        message = f'Resource "{foo.spec.deployment_name}" already exists and is not managed by Foo'
        ctx.record("ErrResourceExists", message, type="Warning")
        raise
    # The Deployment of a former name: without this, a renamed Foo would leave it behind.
    await ctx.prune([apps.Deployment], keep=[deployment])
    await ctx.set_status(FooStatus(available_replicas=deployment.status.available_replicas or 0))
    if ctx.changed:
        ctx.record("Synced", "Foo synced successfully")


def nginx_deployment(foo: Foo) -> apps.Deployment:
    """Returns the Deployment of a Foo."""
    labels = {"app": "nginx", "controller": foo.metadata.name}
    return apps.Deployment(
        metadata=meta.ObjectMeta(name=foo.spec.deployment_name, namespace=foo.metadata.namespace),
        spec=apps.DeploymentSpec(
            replicas=foo.spec.replicas,
            selector=meta.LabelSelector(match_labels=labels),
            template=core.PodTemplateSpec(
                metadata=meta.ObjectMeta(labels=labels),
                spec=core.PodSpec(containers=[core.Container(name="nginx", image="nginx:latest")]),
            ),
        ),
    )


if __name__ == "__main__":
    operator.run()
