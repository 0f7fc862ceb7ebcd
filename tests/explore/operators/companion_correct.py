"""Registers each site in an external system, which numbers its ConfigMap."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import kubewright as kw
from kubewright.api import core, meta

NUMBER = "registry.example.com/number"


class SiteSpec(kw.Model):
    """The desired state."""

    message: str = ""


class SiteStatus(kw.Model):
    """The observed state."""

    ready: bool = False


@kw.resource("explored.example.com/v1")
class Site(kw.Resource[SiteSpec, SiteStatus]):
    """A site."""


class Session:
    """A connection to the registry."""

    def __init__(self, names: dict[str, int]) -> None:
        self._names = names

    async def register(self, name: str) -> None:
        """Adds a name."""
        self._names.setdefault(name, 1)

    async def forget(self, name: str) -> None:
        """Removes a name."""
        self._names.pop(name, None)


class Registry:
    """Writes a number to the ConfigMap of each registered name."""

    def __init__(self, state: dict[str, Any]) -> None:
        self._names: dict[str, int] = state.setdefault("names", {})

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """Opens a connection."""
        yield Session(self._names)

    def operator(self) -> kw.Operator:
        """Returns what the registry does in the cluster."""
        companion = kw.Operator("registry")

        @companion.needs(core.ConfigMap, verbs=["update"])
        @companion.reconciles(core.ConfigMap)
        async def number(found: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> kw.Result | None:
            if not found.metadata.labels.get("site"):
                return None
            if found.metadata.name not in self._names:
                return kw.Result(requeue_after=5)  # it may be registered later
            if NUMBER not in found.metadata.annotations:
                found.metadata.annotations[NUMBER] = str(self._names[found.metadata.name])
                await ctx.update(found)
            return None

        return companion


operator = kw.Operator("site-operator")


@operator.provides(simulated=Registry)
async def registry() -> AsyncIterator[Registry]:
    """Connects to the registry."""
    raise NotImplementedError
    yield


@operator.reconciles(Site, owns=[core.ConfigMap])
async def sync(site: Site, ctx: kw.Context[Site]) -> None:
    """Registers a site and waits for its number."""
    name = site.metadata.name
    await ctx.apply(
        core.ConfigMap(metadata=meta.ObjectMeta(name=name, labels={"site": name}), data={"m": site.spec.message})
    )
    async with ctx.use(registry).session() as session:
        await session.register(name)
    child = ctx.get(core.ConfigMap, name)
    await ctx.patch_status(ready=child is not None and NUMBER in child.metadata.annotations)


@operator.finalizes(Site)
async def clean_up(site: Site, ctx: kw.Context[Site]) -> None:
    """Forgets a site."""
    async with ctx.use(registry).session() as session:
        await session.forget(site.metadata.name)
