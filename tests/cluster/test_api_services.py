"""APIServices: the group versions of the server as objects."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

import pytest

from kubewright.client import Client
from kubewright.testing import ControlPlane
from tests.cluster.conftest import Raw
from tests.cluster.openapi.definitions import definition
from tests.patience import PATIENCE

PATH: Final = "/apis/apiregistration.k8s.io/v1/apiservices"
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
VARYING: Final = {"uid", "resourceVersion", "creationTimestamp"}


def version(name: str) -> dict[str, Any]:
    return {"name": name, "served": True, "schema": {"openAPIV3Schema": {"type": "object"}}}


def comparable(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: value for name, value in obj["metadata"].items() if name not in VARYING}
    metadata["managedFields"] = [{**entry, "time": None} for entry in metadata["managedFields"]]
    conditions = [{**each, "lastTransitionTime": None} for each in obj["status"]["conditions"]]
    return {"metadata": metadata, "spec": obj["spec"], "status": {"conditions": conditions}}


def managed(items: list[dict[str, Any]], value: str) -> dict[str, Any]:
    label = "kube-aggregator.kubernetes.io/automanaged"
    return {each["metadata"]["name"]: comparable(each) for each in items if each["metadata"]["labels"][label] == value}


@pytest.mark.promise("The embedded cluster", "Every served group version has an APIService, as on the real server.")
async def test_built_in_group_versions_equal_those_of_the_real_server(raw: Raw, control_plane: ControlPlane) -> None:
    ours = (await raw("GET", PATH)).body["items"]
    assert managed(ours, "onstart") == managed(control_plane.request("GET", PATH)["items"], "onstart")
    assert managed(ours, "true") == {}


@pytest.mark.clusters
async def test_definition_has_an_api_service_for_each_served_version(client: Client, namespace: str) -> None:
    group = f"{namespace}.example.com"

    async def names() -> set[str]:
        items = json.loads(await client.request("GET", PATH))["items"]
        return {name for name in managed(items, "true") if name.endswith(group)}

    async def become(expected: set[str]) -> None:
        async with asyncio.timeout(PATIENCE):
            while await names() != {f"{each}.{group}" for each in expected}:  # noqa: ASYNC110  # another process
                await asyncio.sleep(0.1)  # real: another process

    one = definition("One", version("v2"), version("v1"), group=group)
    await client.request("POST", DEFINITIONS, body=one)
    await become({"v1", "v2"})
    two = definition("Two", version("v1"), group=group)
    await client.request("POST", DEFINITIONS, body=two)
    await client.request("DELETE", f"{DEFINITIONS}/{one['metadata']['name']}")
    await become({"v1"})
    await client.request("DELETE", f"{DEFINITIONS}/{two['metadata']['name']}")
    await become(set())


async def test_refuses_aggregated_api_servers_with_the_reason(raw: Raw) -> None:
    remote = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1beta1.metrics.k8s.io"},
        "spec": {
            "group": "metrics.k8s.io",
            "version": "v1beta1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "service": {"name": "metrics-server", "namespace": "kube-system"},
        },
    }
    refused = await raw("POST", PATH, remote)
    assert refused.status == 501
    assert "does not forward requests to the Service of an APIService" in refused.body["message"]
    assert (await raw("DELETE", f"{PATH}/v1.apps")).status == 501
