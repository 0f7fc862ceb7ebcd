"""Deletes its object when it expires, but measures the time from the start of the operator."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

import kubewright as kw
from kubewright.api import core, meta


class PreviewSpec(kw.Model):
    """The desired state."""

    minutes: Annotated[int, kw.Range(1, 60)] = 10


class PreviewStatus(kw.Model):
    """The observed state."""

    ready: bool = False


@kw.resource("pairs.example.com/v1")
class Preview(kw.Resource[PreviewSpec, PreviewStatus]):
    """A preview."""


broken = kw.Operator("preview-operator")
correct = kw.Operator("preview-operator")
_SEEN: dict[str, datetime] = {}


async def keep_until(preview: Preview, ctx: kw.Context[Preview], end: datetime) -> kw.Result | None:
    """Creates the page, and deletes the object when its time is over."""
    left = (end - ctx.clock.now()).total_seconds()
    if left <= 0:
        await ctx.client.delete(preview)
        return None
    await ctx.apply(core.ConfigMap(metadata=meta.ObjectMeta(name=f"{preview.metadata.name}-page")))
    return kw.Result(requeue_after=left)


@broken.needs(Preview, verbs=["delete"])
@broken.reconciles(Preview, owns=[core.ConfigMap])
async def sync_broken(preview: Preview, ctx: kw.Context[Preview]) -> kw.Result | None:
    """Measures from the first time that it sees the object."""
    seen = _SEEN.setdefault(preview.metadata.uid, ctx.clock.now())
    return await keep_until(preview, ctx, seen + timedelta(minutes=preview.spec.minutes))


@correct.needs(Preview, verbs=["delete"])
@correct.reconciles(Preview, owns=[core.ConfigMap])
async def sync_correct(preview: Preview, ctx: kw.Context[Preview]) -> kw.Result | None:
    """Measures from the creation of the object."""
    created = preview.metadata.creation_timestamp
    assert created is not None
    return await keep_until(preview, ctx, created + timedelta(minutes=preview.spec.minutes))
