"""Every kind accepts and rejects the field selectors that the real server does."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from kubewright.client import Request, Transport, load_config
from kubewright.client._http import HttpTransport
from kubewright.clock import SystemClock
from kubewright.cluster import Cluster
from kubewright.cluster.machinery._resources import ResourceType
from kubewright.cluster.registry._builtin_resources import builtin_types
from kubewright.cluster.registry.strategies._behavior import SELECTABLE
from kubewright.testing import ControlPlane

LISTED = [type_ for type_ in builtin_types() if "list" in type_.verbs]
# every field that any kind supports, and some that no kind does
FIELDS = sorted(
    {field for fields in SELECTABLE.values() for field in fields}
    | {"metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels.a", "name", "spec.replicas"}
    | {"spec.leaseName", "spec.podName", "spec.username", "status", "status.conditions", 'a"b'}
)


@pytest_asyncio.fixture
async def real(control_plane: ControlPlane) -> AsyncIterator[Transport]:
    transport = HttpTransport(load_config(kubeconfig=control_plane.kubeconfig), SystemClock())
    yield transport
    await transport.close()


async def answer(transport: Transport, type_: ResourceType, field: str) -> tuple[int, str]:
    prefix = f"/apis/{type_.api_version}" if type_.group else "/api/v1"
    request = Request(
        method="GET",
        path=f"{prefix}/{type_.plural}",
        query=[("fieldSelector", f"{field}=kubewright-none"), ("limit", "1")],
        headers={"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"},
    )
    response = await transport.send(request)
    body = json.loads(await response.read())
    return response.status, body.get("message", "")


@pytest.mark.promise(
    "The embedded cluster", "Each kind supports the field selectors of the real server, and rejects all others."
)
@pytest.mark.parametrize("type_", LISTED, ids=lambda type_: f"{type_.qualified} {type_.version}")
async def test_both_servers_support_the_same_fields(type_: ResourceType, real: Transport) -> None:
    async with Cluster(controllers=False) as cluster:
        embedded = {field: await answer(cluster.transport(), type_, field) for field in FIELDS}
    assert embedded == {field: await answer(real, type_, field) for field in FIELDS}
