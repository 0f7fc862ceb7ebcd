"""Generates a password again when the user changes something else."""

from __future__ import annotations

import secrets

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    user: str = "admin"
    rotation: int = 0


class SiteStatus(kw.Model):
    """The observed state."""

    ready: bool = False


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")


def secret(site: Site, password: str) -> core.Secret:
    """Returns the Secret of a site. The address contains the user, so that it changes with the user."""
    name, user = f"{site.metadata.name}-auth", site.spec.user
    data = {"password": password.encode(), "url": f"db://{user}:{password}@db".encode()}
    annotations = {"rotation": str(site.spec.rotation), "user": user}
    return core.Secret(metadata=meta.ObjectMeta(name=name, annotations=annotations), data=data)


@broken.reconciles(Site, owns=[core.Secret])
async def sync_broken(site: Site, ctx: kw.Context[Site]) -> None:
    """Writes a new Secret if anything has changed."""
    found = ctx.get(core.Secret, f"{site.metadata.name}-auth")
    wanted = secret(site, secrets.token_hex(8))
    if found is None or found.metadata.annotations != wanted.metadata.annotations:
        await ctx.apply(wanted)


@correct.reconciles(Site, owns=[core.Secret])
async def sync_correct(site: Site, ctx: kw.Context[Site]) -> None:
    """Keeps the password unless the user asks for another one."""
    found = ctx.get(core.Secret, f"{site.metadata.name}-auth")
    if found is None or found.metadata.annotations.get("rotation") != str(site.spec.rotation):
        password = secrets.token_hex(8)
    else:
        password = (found.data or {})["password"].decode()
    await ctx.apply(secret(site, password))
