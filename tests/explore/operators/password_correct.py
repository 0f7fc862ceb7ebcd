"""Generates a password if its cache has none, so that a new leader may generate it again."""

from __future__ import annotations

import secrets

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    message: str = ""
    replicas: int = 1


class SiteStatus(kw.Model):
    """The observed state."""

    ready: bool = False


@kw.resource("explored.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


operator = kw.Operator("site-operator")


@operator.reconciles(Site, owns=[core.Secret])
async def sync(site: Site, ctx: kw.Context[Site]) -> None:
    """Keeps the password that exists."""
    name = f"{site.metadata.name}-auth"
    found = ctx.get(core.Secret, name)
    password = (found.data or {}).get("password") if found is not None else None
    data = {"password": password or secrets.token_hex(8).encode(), "user": site.spec.message.encode()}
    await ctx.apply(core.Secret(metadata=meta.ObjectMeta(name=name), data=data))
