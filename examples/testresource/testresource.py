"""TestResource: a kind that its own program defines, and that is handled once.

A TestResource holds a command. The operator defines the kind at its start, makes a sample, marks every new object as
HANDLED, and tells so in an event. Its status is a plain text beside the spec, and no subresource.

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
    """What is asked for."""

    command: Annotated[str, kw.Pattern("^(echo).*")]
    custom_property: str


@kw.resource("insujang.github.io/v1beta1", short_names=["ts", "tr"], columns={"command": ".spec.command"})
class TestResource(kw.Resource[TestResourceSpec, str | None]):
    """A command, and whether it was handled."""


# It defines its kind itself, and gives up after 10 seconds; its cache has 30 to fill.
operator = kw.Operator("testresource-controller", install_crds=True, install_timeout=10, sync_timeout=30, resync=60)


@operator.reconciles(TestResource)
async def handle(resource: TestResource, ctx: kw.Context[TestResource]) -> None:
    """Mark a new object as handled. The object is a copy of what the cache has: nothing is changed in place."""
    if resource.status != HANDLED:
        await ctx.set_status(HANDLED)
        ctx.record("ObjectHandled", "Object is handled by custom controller.")


def sample() -> TestResource:
    """The object that the program makes by itself."""
    return TestResource(
        metadata=meta.ObjectMeta(name="example-tr2", namespace="default"),
        spec=TestResourceSpec(command="echo Hello World!", custom_property="thisisshouldbeshown"),
    )


@operator.needs(TestResource, verbs=["create"])
@contextlib.asynccontextmanager
async def with_sample(running: kw.Running) -> AsyncIterator[None]:
    """Make the sample before the controllers start; one that is there already is fine."""
    with contextlib.suppress(AlreadyExists):
        await running.client.create(sample())
    yield


operator.attach(with_sample, stage="leader")


if __name__ == "__main__":
    operator.run()
