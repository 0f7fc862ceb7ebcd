"""The search for live objects of all kinds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from kubewright.api import ObjectMeta, Untyped, core
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.console import Console, Kind, Viewer
from kubewright.console.caches import MAX_SEARCHED_KINDS, find_objects, searched_kinds
from kubewright.crd import install
from tests.console.gadgets import Gadget, gadget


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    return {"rbac": True, "controllers": False}


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    async with cluster.client() as made:
        await install(made, Gadget)
        for name, namespace in (("web", "default"), ("web-2", "default"), ("my-web", "kube-system"), ("db", "default")):
            await made.create(gadget(name, namespace))
            await made.create(core.ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace)))
        yield made


@pytest.fixture
async def console(cluster: Cluster, client: Client) -> AsyncIterator[Console]:
    async with Console(cluster.client(), name="tests") as made:
        yield made


async def search(console: Console, viewer: Viewer, query: str, most: int = 9) -> dict[str, list[tuple[int, str]]]:
    kinds, _ = searched_kinds(await console.kinds())
    among = await console.all_namespaces()
    return {
        found.kind.kind: [(rank, row["id"]) for rank, row in found.rows]
        async for found in find_objects(console.cache, viewer, kinds, among, query, most=most)
    }


@pytest.mark.promise(
    "Lists and layout of the console",
    "The search finds live objects of all kinds that the viewer may see.",
)
async def test_finds_objects_of_all_kinds_best_first(console: Console) -> None:
    viewer = await console.local_viewer()
    names = [(0, "default/web"), (1, "default/web-2"), (2, "kube-system/my-web")]
    assert await search(console, viewer, "web") == {"Gadget": names, "ConfigMap": names}
    assert await search(console, viewer, " WEB gdgt") == {"Gadget": names}
    assert await search(console, viewer, "kube-system/my") == {
        kind: [(2, "kube-system/my-web")] for kind in ("Gadget", "ConfigMap")
    }
    assert await search(console, viewer, "web", most=1) == dict.fromkeys(("Gadget", "ConfigMap"), names[:1])
    for nothing in ("", "  ", "configmap", "web nowhere"):
        assert await search(console, viewer, nothing) == {}


async def test_reads_no_kind_that_the_viewer_may_not_list(cluster: Cluster, console: Console) -> None:
    before = {cache.kind.path for cache in console.open_caches}
    stranger = Viewer("stranger", cluster.client_as("stranger"), namespaces=console.all_namespaces)
    assert await search(console, stranger, "web") == {}
    after = {cache.kind.path for cache in console.open_caches}
    assert after - before <= {"core/namespaces", "apiextensions.k8s.io/customresourcedefinitions"}


def test_bounds_the_searched_kinds() -> None:
    resource = Untyped.kind_of("example.com/v1", "Foo", plural="foos")
    many = [Kind("example.com", "v1", f"Foo{at}", f"foos{at}", "foo", True, resource) for at in range(100)]
    events = Kind("", "v1", "Event", "events", "event", True, resource)
    pods = Kind("", "v1", "Pod", "pods", "pod", True, resource)
    found, omitted = searched_kinds([events, *many, pods])
    assert (len(found), omitted) == (MAX_SEARCHED_KINDS, 41)
    assert found[0] == pods
    assert events not in found
