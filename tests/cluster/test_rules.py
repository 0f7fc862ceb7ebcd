"""Objects that cannot be are refused. That the words are the real server's is shown by the differential scenarios."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.cluster import Cluster
from tests.cluster.conftest import Raw

PODS = "/api/v1/namespaces/default/pods"


def pod(**container: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "i"} | container]}}


@pytest.mark.promise(
    "The embedded cluster",
    "Objects of built-in kinds that cannot be are refused at their fields, in the real server's words.",
)
@pytest.mark.parametrize(
    ("container", "field"),
    [
        ({"image": ""}, "spec.containers[0].image"),
        ({"name": "A"}, "spec.containers[0].name"),
        ({"ports": [{"containerPort": 0}]}, "spec.containers[0].ports[0].containerPort"),
        ({"env": [{"name": "a", "value": "b", "valueFrom": {}}]}, "spec.containers[0].env[0].valueFrom"),
        ({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}, "spec.containers[0].volumeMounts[0].name"),
        ({"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}, "spec.containers[0].resources.requests"),
    ],
)
async def test_a_container_that_cannot_run_is_refused_at_its_field(
    raw: Raw, container: dict[str, Any], field: str
) -> None:
    answer = await raw("POST", PODS, pod(**container))
    assert answer.status == 422
    assert [cause["field"] for cause in answer.body["details"]["causes"]] == [field]


async def test_a_pod_takes_another_image_and_nothing_else(raw: Raw) -> None:
    assert (await raw("POST", PODS, pod())).status == 201
    merge = {"type": "application/merge-patch+json"}
    image = {"spec": {"containers": [{"name": "a", "image": "j"}]}}
    assert (await raw("PATCH", f"{PODS}/a", image, **merge)).status == 200
    refused = await raw("PATCH", f"{PODS}/a", {"spec": {"hostNetwork": True}}, **merge)
    assert refused.status == 422
    assert "pod updates may not change fields other than" in refused.body["message"]


async def test_a_pod_at_a_gate_may_still_be_told_where_to_go(raw: Raw) -> None:
    body = pod()
    body["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    assert (await raw("POST", PODS, body)).status == 201
    merge = {"type": "application/merge-patch+json"}
    assert (await raw("PATCH", f"{PODS}/a", {"spec": {"nodeSelector": {"a": "b"}}}, **merge)).status == 200
    more = {"spec": {"schedulingGates": [{"name": "example.com/wait"}, {"name": "example.com/more"}]}}
    assert (await raw("PATCH", f"{PODS}/a", more, **merge)).status == 422
    assert (await raw("PATCH", f"{PODS}/a", {"spec": {"schedulingGates": None}}, **merge)).status == 200


async def test_warnings_reach_only_those_who_can_heed_them(embedded: Cluster, raw: Raw) -> None:
    path = "/api/v1/namespaces/default/endpoints"
    assert (await raw("GET", path)).warnings
    assert not (await Raw(embedded.transport(warnings=False))("GET", path)).warnings
