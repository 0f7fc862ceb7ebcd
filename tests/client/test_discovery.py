from __future__ import annotations

import json
from typing import Any

import pytest

from kubewright.api import ObjectMeta
from kubewright.client import Client, NotFound, NotKubernetes
from kubewright.clock import VirtualClock
from kubewright.testing.binaries import kubernetes_version

pytestmark = pytest.mark.clusters


@pytest.mark.promise(
    "Reading with the client",
    "Discovery is kept, and asked again on a miss; older servers are asked group by group.",
)
async def test_kinds_are_found_by_version_or_by_group(client: Client, widget: Any) -> None:
    info = await client.discovery.find("apps/v1", "Deployment")
    assert (info.plural, info.namespaced) == ("deployments", True)
    assert {"scale", "status"} <= info.subresources
    assert (await client.discovery.find("autoscaling", "HorizontalPodAutoscaler")).version == "v2"
    assert (await client.discovery.find("v1", "Node")).namespaced is False
    served = await client.discovery.served("v1", "Pod")
    assert served.short_names == ("po",)
    assert "watch" in served.verbs
    assert (await client.discovery.find("client.example.com/v1", "Widget")).subresources == {"status", "scale"}


async def test_a_kind_that_is_not_served_is_not_found(client: Client) -> None:
    with pytest.raises(NotFound, match=r"the server does not serve Foo of example\.com/v9"):
        await client.kind("example.com/v9", "Foo")


@pytest.mark.promise("Reading with the client", "Untyped objects and raw requests.")
async def test_untyped_objects_through_a_kind_that_was_looked_up(client: Client, namespace: str) -> None:
    kind = await client.kind("v1", "ConfigMap")
    made = kind(metadata=ObjectMeta(name="u", namespace=namespace))
    made["data"] = {"a": "b"}
    await client.create(made)
    assert [obj["data"] for obj in await client.list(kind, namespace)] == [{"a": "b"}]


@pytest.mark.promise(
    "Reading with the client",
    "Discovery is kept, and asked again on a miss; older servers are asked group by group.",
)
async def test_the_servers_version(client: Client) -> None:
    version = await client.server_version()
    major, minor, _ = kubernetes_version().split(".")
    assert str(version).startswith(f"v{major}.{minor}.")
    assert (version.major, version.minor) == (major, minor)


def answer(content: dict[str, Any]) -> tuple[int, bytes]:
    return 200, json.dumps(content).encode()


def group(name: str, kind: str) -> dict[str, Any]:
    resource = {"resource": kind.lower() + "s", "responseKind": {"kind": kind}, "scope": "Namespaced", "verbs": []}
    return {"metadata": {"name": name}, "versions": [{"version": "v1", "resources": [resource]}]}


def aggregated(*groups: dict[str, Any]) -> tuple[int, bytes]:
    return answer({"kind": "APIGroupDiscoveryList", "items": [*groups]})


@pytest.mark.promise(
    "Reading with the client",
    "Discovery is kept, and asked again on a miss; older servers are asked group by group.",
)
async def test_a_miss_asks_the_server_once_more_but_not_in_a_loop(scripted: Any) -> None:
    server, clock = scripted(*[aggregated()] * 4, aggregated(), aggregated(group("a.b", "Foo"))), VirtualClock()
    client = Client(transport=server, clock=clock)
    for _ in range(3):
        with pytest.raises(NotFound):
            await client.discovery.find("a.b/v1", "Foo")
    assert len(server.requests) == 2
    await clock.advance(5)
    with pytest.raises(NotFound):
        await client.discovery.find("a.b/v1", "Foo")
    await clock.advance(5)
    assert (await client.discovery.find("a.b/v1", "Foo")).plural == "foos"
    assert (await client.discovery.find("a.b/v1", "Foo")).plural == "foos"
    assert len(server.requests) == 6


@pytest.mark.promise(
    "Reading with the client",
    "Discovery is kept, and asked again on a miss; older servers are asked group by group.",
)
async def test_servers_without_aggregated_discovery_are_asked_group_by_group(scripted: Any) -> None:
    pods = [
        {"name": "pods", "singularName": "pod", "kind": "Pod", "namespaced": True, "verbs": ["get"]},
        {"name": "pods/status", "kind": "Pod", "namespaced": True, "verbs": ["get"]},
    ]
    versions = [{"groupVersion": "a.b/v1beta1"}, {"groupVersion": "a.b/v1"}]
    foo = {"resources": [{"name": "foos", "kind": "Foo", "namespaced": False, "verbs": ["list"]}]}
    server = scripted(
        answer({"kind": "APIVersions", "versions": ["v1"]}),
        answer({"resources": pods}),
        answer(
            {
                "kind": "APIGroupList",
                "groups": [{"name": "a.b", "versions": versions, "preferredVersion": {"groupVersion": "a.b/v1"}}],
            }
        ),
        answer(foo),
        answer(foo),
    )
    client = Client(transport=server)
    assert (await client.discovery.find("v1", "Pod")).subresources == {"status"}
    assert (await client.discovery.find("a.b", "Foo")).api_version == "a.b/v1"
    assert [request.path for request in server.requests][2:] == ["/apis", "/apis/a.b/v1", "/apis/a.b/v1beta1"]


@pytest.mark.promise("When a request fails", "A server that is not Kubernetes is called so.")
@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}"])
async def test_server_that_is_not_kubernetes_raises_not_kubernetes(scripted: Any, body: bytes) -> None:
    with pytest.raises(NotKubernetes, match="is the address right"):
        await Client(transport=scripted((200, body))).discovery.resources()
    with pytest.raises(NotKubernetes, match="is the address right"):
        await Client(transport=scripted((200, body))).server_version()
