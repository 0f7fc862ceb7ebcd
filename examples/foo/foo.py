"""The Kubernetes sample-controller, in one file.

A Foo asks for an nginx Deployment of a certain name and size. The operator makes it, keeps it that way, and tells in
the Foo's status how many replicas are available.

    kubectl apply -k config/crd
    kubewright run foo.py            # or: python foo.py
    kubectl apply -f example-foo.yaml
"""

from typing import Annotated

import kubewright as kw
from kubewright.api import apps, core, meta


class FooSpec(kw.Model):
    """What is asked for."""

    deployment_name: str
    replicas: Annotated[int, kw.Range(1, 10)] | None = None


class FooStatus(kw.Model):
    """What is there."""

    available_replicas: int = 0


@kw.resource("example.com/v1alpha1", columns={"Available": ".status.availableReplicas"})
class Foo(kw.Resource[FooSpec, FooStatus]):
    """Runs an nginx Deployment of the size it asks for."""


operator = kw.Operator("sample-controller")


@operator.reconciles(Foo, owns=[apps.Deployment], resync=30)
async def sync(foo: Foo, ctx: kw.Context[Foo]) -> None:
    """Make the Deployment match the Foo, and the Foo's status match the Deployment."""
    if not foo.spec.deployment_name:
        # Trying again would not help; the Foo comes back here when somebody changes it.
        raise kw.TerminalError("deploymentName must be specified")
    try:
        # A Foo that does not say (any more) how many replicas it wants leaves their number to others, as it is.
        deployment = await ctx.apply(nginx_deployment(foo), release=["spec.replicas"])
    except kw.NotOwned:
        message = f'Resource "{foo.spec.deployment_name}" already exists and is not managed by Foo'
        ctx.record("ErrResourceExists", message, type="Warning")
        raise
    await ctx.set_status(FooStatus(available_replicas=deployment.status.available_replicas or 0))
    if ctx.changed:
        ctx.record("Synced", "Foo synced successfully")


def nginx_deployment(foo: Foo) -> apps.Deployment:
    """The Deployment that a Foo asks for."""
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
