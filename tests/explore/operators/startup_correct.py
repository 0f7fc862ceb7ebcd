"""Creates a ConfigMap of its own when it starts, and one for each Site."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import kubewright as kw
from kubewright.api import core, meta
from kubewright.client import AlreadyExists


class SiteSpec(kw.Model):
    """The desired state."""

    message: str
    replicas: int = 1


@kw.resource("explored.example.com/v1")
class Site(kw.Resource[SiteSpec, None]):
    """A message."""


operator = kw.Operator("startup")


@operator.reconciles(Site, owns=[core.ConfigMap])
async def sync(site: Site, ctx: kw.Context[Site]) -> None:
    """Creates the child."""
    await ctx.apply(
        core.ConfigMap(metadata=meta.ObjectMeta(name=site.metadata.name), data={"message": site.spec.message})
    )


@operator.needs(core.ConfigMap, verbs=["create"])
@contextlib.asynccontextmanager
async def with_settings(running: kw.Running) -> AsyncIterator[None]:
    """Creates the settings. If this fails, the program ends, and the kubelet starts it again."""
    with contextlib.suppress(AlreadyExists):
        settings = core.ConfigMap(metadata=meta.ObjectMeta(name="settings", namespace="default"), data={"color": "red"})
        await running.client.create(settings)
    yield


operator.attach(with_settings, stage="leader")
