"""Objects that the server itself creates, also without controllers."""

from __future__ import annotations

import pytest

from kubewright.cluster import Cluster
from tests.cluster.conftest import Raw

SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
RANGES = "/apis/networking.k8s.io/v1/servicecidrs"


@pytest.mark.promise(
    "The embedded cluster",
    "The Service `default/kubernetes` has Endpoints and an EndpointSlice, also without controllers.",
)
@pytest.mark.parametrize(("host", "address"), [("127.0.0.1", "192.0.2.1"), ("localhost", "192.0.2.1")])
async def test_kubernetes_service_has_endpoints(embedded: Cluster, raw: Raw, host: str, address: str) -> None:
    assert (await raw("GET", f"{SLICES}/kubernetes")).body["ports"][0]["port"] == 6443
    url = await embedded.serve(host=host)
    port = int(url.rpartition(":")[2])
    slice_ = (await raw("GET", f"{SLICES}/kubernetes")).body
    endpoints = (await raw("GET", "/api/v1/namespaces/default/endpoints/kubernetes")).body
    service = (await raw("GET", "/api/v1/namespaces/default/services/kubernetes")).body
    assert slice_["metadata"]["labels"] == {"kubernetes.io/service-name": "kubernetes"}
    assert slice_["endpoints"] == [{"addresses": [address], "conditions": {"ready": True}}]
    assert endpoints["metadata"]["labels"] == {"endpointslice.kubernetes.io/skip-mirror": "true"}
    assert endpoints["subsets"][0]["addresses"] == [{"ip": address}]
    assert [slice_["ports"][0]["port"], endpoints["subsets"][0]["ports"][0]["port"]] == [port, port]
    assert service["spec"]["ports"][0]["targetPort"] == port


async def test_refuses_ranges_that_would_have_no_effect(raw: Raw) -> None:
    made = await raw("POST", RANGES, {"metadata": {"name": "more"}, "spec": {"cidrs": ["192.0.2.0/24"]}})
    assert (made.status, made.body["message"]) == (
        501,
        "the embedded cluster does not support further ServiceCIDRs: cluster IPs are allocated from 10.96.0.0/16",
    )
    patch = {"spec": {"cidrs": ["10.96.0.0/16", "2001:db8::/64"]}}
    changed = await raw("PATCH", f"{RANGES}/kubernetes", patch, type="application/merge-patch+json")
    assert changed.status == 501


async def test_bound_claim_keeps_its_limits(raw: Raw) -> None:
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await raw("POST", claims, {"metadata": {"name": "a"}, "spec": spec})
    media = "application/merge-patch+json"
    await raw("PATCH", f"{claims}/a/status", {"status": {"phase": "Bound"}}, type=media)
    changed = await raw("PATCH", f"{claims}/a", {"spec": {"resources": {"limits": {"storage": "9Gi"}}}}, type=media)
    assert changed.status == 422
    assert "spec is immutable after creation" in changed.body["message"]
