"""TestResource: a kind that its own program installs, and whose objects are handled once.

A TestResource has a command. The operator installs the CRD at startup, creates a sample, marks every new object as
HANDLED, and records an event. The status is a plain string without a status subresource.

    python testresource.py            # or: kubewright run testresource.py
    kubectl get ts
"""

import contextlib
from collections.abc import AsyncIterator
from typing import Annotated

import kubewright as kw
from kubewright.api import meta
from kubewright.client import AlreadyExists

HANDLED = "HANDLED"


class TestResourceSpec(kw.Model):
    """The desired state."""

    command: Annotated[str, kw.Pattern("^(echo).*")]
    custom_property: str


@kw.resource("insujang.github.io/v1beta1", short_names=["ts", "tr"], columns={"command": ".spec.command"})
class TestResource(kw.Resource[TestResourceSpec, str | None]):
    """A command, and whether it was handled."""


# Installs its CRD within 10 seconds, and fills its cache within 30; otherwise it exits with an error.
operator = kw.Operator("testresource-controller", install_crds=True, install_timeout=10, sync_timeout=30, resync=60)


@operator.reconciles(TestResource)
async def handle(resource: TestResource, ctx: kw.Context[TestResource]) -> None:
    """Marks a new object as handled."""
    if resource.status != HANDLED:
        await ctx.set_status(HANDLED)
        ctx.record("ObjectHandled", "Object is handled by custom controller.")


def sample() -> TestResource:
    """Returns the object that the program creates."""
    return TestResource(
        metadata=meta.ObjectMeta(name="example-tr2", namespace="default"),
        spec=TestResourceSpec(command="echo Hello World!", custom_property="thisisshouldbeshown"),
    )


@operator.needs(TestResource, verbs=["create"])
@contextlib.asynccontextmanager
async def with_sample(running: kw.Running) -> AsyncIterator[None]:
    """Creates the sample, if it does not exist, before the controllers start."""
    with contextlib.suppress(AlreadyExists):
        await running.client.create(sample())
    yield


operator.attach(with_sample, stage="leader")


if __name__ == "__main__":
    operator.run()
