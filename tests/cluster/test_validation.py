"""Invalid objects are rejected. The differential scenarios compare the messages with the real server's."""

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
    "Invalid objects of built-in kinds are rejected with the field and the message of the real server.",
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
async def test_rejects_invalid_container_with_field(raw: Raw, container: dict[str, Any], field: str) -> None:
    answer = await raw("POST", PODS, pod(**container))
    assert answer.status == 422
    assert [cause["field"] for cause in answer.body["details"]["causes"]] == [field]


async def test_only_the_image_of_a_pod_can_change(raw: Raw) -> None:
    assert (await raw("POST", PODS, pod())).status == 201
    merge = {"type": "application/merge-patch+json"}
    image = {"spec": {"containers": [{"name": "a", "image": "j"}]}}
    assert (await raw("PATCH", f"{PODS}/a", image, **merge)).status == 200
    refused = await raw("PATCH", f"{PODS}/a", {"spec": {"hostNetwork": True}}, **merge)
    assert refused.status == 422
    assert "pod updates may not change fields other than" in refused.body["message"]


async def test_gated_pod_accepts_scheduling_directives(raw: Raw) -> None:
    body = pod()
    body["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]
    assert (await raw("POST", PODS, body)).status == 201
    merge = {"type": "application/merge-patch+json"}
    assert (await raw("PATCH", f"{PODS}/a", {"spec": {"nodeSelector": {"a": "b"}}}, **merge)).status == 200
    more = {"spec": {"schedulingGates": [{"name": "example.com/wait"}, {"name": "example.com/more"}]}}
    assert (await raw("PATCH", f"{PODS}/a", more, **merge)).status == 422
    assert (await raw("PATCH", f"{PODS}/a", {"spec": {"schedulingGates": None}}, **merge)).status == 200


async def test_workload_controllers_receive_no_warnings(embedded: Cluster, raw: Raw) -> None:
    path = "/api/v1/namespaces/default/endpoints"
    assert (await raw("GET", path)).warnings
    assert not (await Raw(embedded.transport(warnings=False))("GET", path)).warnings
