"""Deletes its object when it expires: a user who changes or deletes it then comes too late."""

from __future__ import annotations

from datetime import timedelta

import kubewright as kw
from kubewright.api import core, meta


class PreviewSpec(kw.Model):
    """The desired state."""

    minutes: int = 10


class PreviewStatus(kw.Model):
    """The observed state."""

    expires: str = ""


@kw.resource("explored.example.com/v1")
class Preview(kw.Resource[PreviewSpec, PreviewStatus]):
    """A preview."""


operator = kw.Operator("preview-operator")


@operator.needs(Preview, verbs=["delete"])
@operator.reconciles(Preview, owns=[core.ConfigMap])
async def sync(preview: Preview, ctx: kw.Context[Preview]) -> kw.Result | None:
    """Creates the page, and deletes the object when its time is over."""
    created = preview.metadata.creation_timestamp
    assert created is not None
    end = created + timedelta(minutes=preview.spec.minutes)
    left = (end - ctx.clock.now()).total_seconds()
    if left <= 0:
        await ctx.client.delete(preview)
        return None
    await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name=f"{preview.metadata.name}-page")))
    await ctx.patch_status(expires=end.isoformat())
    return kw.Result(requeue_after=left)
