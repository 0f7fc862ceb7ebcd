"""Every kind accepts and rejects the field selectors that the real server does."""

from __future__ import annotations

import pytest

from kubewright.client import Transport
from kubewright.cluster import Cluster
from kubewright.cluster.machinery import ResourceType
from kubewright.cluster.registry import builtin_types
from kubewright.cluster.registry.strategies._behavior import SELECTABLE  # private: every field that any kind selects by
from tests.cluster.differential.pairs import answer

LISTED = [type_ for type_ in builtin_types() if "list" in type_.verbs]
# every field that any kind supports, and some that no kind does
FIELDS = sorted(
    {field for fields in SELECTABLE.values() for field in fields}
    | {"metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels.a", "name", "spec.replicas"}
    | {"spec.leaseName", "spec.podName", "spec.username", "status", "status.conditions", 'a"b'}
)


@pytest.mark.promise(
    "The embedded cluster", "Each kind supports the field selectors of the real server, and rejects all others."
)
@pytest.mark.parametrize("type_", LISTED, ids=lambda type_: f"{type_.qualified} {type_.version}")
async def test_both_servers_support_the_same_fields(type_: ResourceType, real: Transport) -> None:
    path = f"/apis/{type_.api_version}/{type_.plural}" if type_.group else f"/api/v1/{type_.plural}"
    found = []
    async with Cluster(controllers=False) as cluster:
        for transport in (cluster.transport(), real):
            targets = {field: f"{path}?limit=1&fieldSelector={field}=none" for field in FIELDS}
            found.append({field: await answer(transport, "GET", target) for field, target in targets.items()})
    assert found[0] == found[1]
