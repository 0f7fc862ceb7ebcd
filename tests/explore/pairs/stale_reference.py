"""Reads a Secret of the user from the cache, and does not notice when it arrives later."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    message: str = ""


class SiteStatus(kw.Model):
    """The observed state."""

    ready: bool = False


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")


def config(site: Site, suffix: str = "config", **data: str) -> core.ConfigMap:
    """Returns a ConfigMap of a site."""
    metadata = meta.ObjectMeta(name=f"{site.metadata.name}-{suffix}", namespace=site.metadata.namespace)
    return core.ConfigMap(metadata=metadata, data=data)


def secrets(secret: core.Secret) -> list[kw.ObjectKey]:
    """Returns the site that uses a Secret."""
    return [kw.ObjectKey(secret.metadata.namespace, "web")] if secret.metadata.name == "login" else []


async def sync(site: Site, ctx: kw.Context[Site]) -> None:
    """Copies the user's name."""
    secret = ctx.get(core.Secret, "login")
    await ctx.apply(config(site, found="no" if secret is None else "yes"))


broken.reconciles(Site, owns=[core.ConfigMap], reads=[core.Secret])(sync)
correct.reconciles(Site, owns=[core.ConfigMap], watches=[kw.Watch(core.Secret, map=secrets)])(sync)
