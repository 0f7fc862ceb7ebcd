"""Generates a token again if it is killed between a deletion and a creation."""

from __future__ import annotations

import secrets

import kubewright as kw
from kubewright.api import core, meta


class SiteSpec(kw.Model):
    """The desired state."""

    user: str = "admin"


class SiteStatus(kw.Model):
    """The observed state."""

    ready: bool = False


@kw.resource("pairs.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


broken = kw.Operator("site-operator")
correct = kw.Operator("site-operator")


def secret(site: Site, token: bytes | None) -> core.Secret:
    """Returns the Secret of a site, with a new token if there is none."""
    data = {"user": site.spec.user.encode(), "token": token or secrets.token_hex(8).encode()}
    return core.Secret(metadata=meta.ObjectMeta(name=f"{site.metadata.name}-token"), data=data)


@broken.reconciles(Site, owns=[core.Secret])
def sync_broken(site: Site, ctx: kw.BlockingContext[Site]) -> None:
    """Deletes the Secret, and has the token only in memory until it creates the next one."""
    found = ctx.get(core.Secret, f"{site.metadata.name}-token")
    held = found.data or {} if found is not None else {}
    if held.get("user") == site.spec.user.encode():
        return
    if found is not None:
        ctx.delete(found)
    ctx.create(secret(site, held.get("token")))


@correct.reconciles(Site, owns=[core.Secret])
def sync_correct(site: Site, ctx: kw.BlockingContext[Site]) -> None:
    """Changes the Secret in place."""
    found = ctx.get(core.Secret, f"{site.metadata.name}-token")
    if found is None:
        ctx.create(secret(site, None))
    elif (found.data or {}).get("user") != site.spec.user.encode():
        found.data = {**(found.data or {}), "user": site.spec.user.encode()}
        ctx.update(found)
