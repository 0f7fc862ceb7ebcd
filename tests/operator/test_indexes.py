"""`operator.indexes`: objects found by what a function says of them, in reconcilers and in map functions."""

from __future__ import annotations

import asyncio
import re

import pytest

from kubewright import resource
from kubewright.api import Model, Resource, core, meta
from kubewright.cache import ObjectKey
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.controller import Context, NotCached, Reader, Watch
from kubewright.operator import Operator
from tests.patience import PATIENCE


class SiteSpec(Model):
    theme: str | None = None


@resource("indexes.example.com/v1")
class Site(Resource[SiteSpec, None]):
    """Uses a ConfigMap as its theme."""


def site(name: str, theme: str | None) -> Site:
    return Site(metadata=meta.ObjectMeta(name=name, namespace="default"), spec=SiteSpec(theme=theme))


def theme(color: str) -> core.ConfigMap:
    return core.ConfigMap(metadata=meta.ObjectMeta(name="dark", namespace="default"), data={"color": color})


@pytest.mark.promise(
    "What wakes a reconciler",
    "An index finds the objects that share a value, in reconcilers and in map functions.",
)
async def test_change_triggers_only_objects_of_the_index() -> None:
    operator, woken = Operator("sites"), asyncio.Queue[tuple[str, str, list[str]]]()

    @operator.indexes(Site, "theme")
    def theme_of(found: Site) -> str | None:
        return found.spec.theme

    def users_of(config: core.ConfigMap, reader: Reader) -> list[ObjectKey]:
        return [ObjectKey.of(one) for one in reader.by_index(Site, "theme", config.metadata.name)]

    @operator.reconciles(Site, watches=[Watch(core.ConfigMap, map=users_of)])
    async def sync(obj: Site, ctx: Context[Site]) -> None:
        used = ctx.get(core.ConfigMap, "dark")
        beside = [one.metadata.name for one in ctx.by_index(Site, "theme", "dark")]
        woken.put_nowait((obj.metadata.name, ((used and used.data) or {}).get("color", ""), beside))

    assert theme_of(site("a", "dark")) == "dark"
    async with Cluster() as cluster, asyncio.timeout(PATIENCE):
        client: Client = cluster.client()
        await client.create(theme("black"))
        async with operator.running(client):
            for name, uses in (("a", "dark"), ("b", None), ("c", "dark")):
                await client.create(site(name, uses))
            seen = [await woken.get() for _ in range(3)]
            assert {name for name, _, _ in seen} == {"a", "b", "c"}
            await client.apply(theme("grey"), field_manager="test", force=True)
            again = sorted([await woken.get(), await woken.get()])
            assert again == [("a", "grey", ["a", "c"]), ("c", "grey", ["a", "c"])]
            assert woken.empty()


@pytest.mark.promise(
    "What wakes a reconciler",
    "An index finds the objects that share a value, in reconcilers and in map functions.",
)
async def test_index_of_uncached_kind_names_the_fix() -> None:
    operator = Operator("sites")
    operator.indexes(core.Secret, "type")(lambda secret: secret.type)

    @operator.reconciles(Site)
    async def sync(obj: Site, ctx: Context[Site]) -> None: ...

    async with Cluster() as cluster:
        with pytest.raises(NotCached, match=r"Secret is not cached: add reads=\[Secret\]"):
            async with operator.running(cluster.client()):
                pytest.fail("it must not start")


def test_rejects_invalid_index() -> None:
    operator = Operator("sites")
    operator.indexes(Site, "theme")(lambda found: found.spec.theme)
    with pytest.raises(ValueError, match="there is already an index 'theme' of Site"):
        operator.indexes(Site, "theme")
    with pytest.raises(ValueError, match="there is already an index 'owner' of Site"):
        operator.indexes(Site, "owner")
    with pytest.raises(TypeError, match="the name of an index of Site must be a string, such as by-owner, not 5"):
        operator.indexes(Site, 5)  # type: ignore[arg-type]
    for name in ("", " ", "a b", "a\tb"):
        message = f"the name of an index of Site must be one word without spaces, such as by-owner, not {name!r}"
        with pytest.raises(ValueError, match=re.escape(message)):
            operator.indexes(Site, name)
    with pytest.raises(TypeError, match=r"'host' of Site must be a function of an object, not 'spec\.host'"):
        operator.indexes(Site, "host")("spec.host")  # type: ignore[arg-type]

    async def later(found: Site) -> str:
        return "never"

    with pytest.raises(TypeError, match=r"the index 'host' of Site: .*later is async: make it a plain def"):
        operator.indexes(Site, "host")(later)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"the index 'host' of Site: .*<lambda> must take one argument, the object"):
        operator.indexes(Site, "host")(lambda: "example.com")  # type: ignore[arg-type,misc]
