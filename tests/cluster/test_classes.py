"""Classes of priority, storage and Ingress controllers, on both API servers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubewright.client import ApiError, Client
from tests.patience import until

pytestmark = pytest.mark.clusters
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"


async def create(client: Client, path: str, body: dict[str, Any], **query: str) -> dict[str, Any]:
    """Returns the created object, or the status and message of a refusal."""
    try:
        made: dict[str, Any] = json.loads(await client.request("POST", path, body=body, query=query))
    except ApiError as error:
        return {"code": error.status.code, "message": str(error)}
    return made


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "a", "image": "a"}], **spec}}


@pytest.mark.promise("The embedded cluster", "Pods get the priority of their PriorityClass.")
async def test_pods_get_the_priority_of_their_class(client: Client, namespace: str) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    name = f"{namespace}-high"
    policy = {"preemptionPolicy": "Never"}
    await create(client, PRIORITIES, {"metadata": {"name": name}, "value": 1000, **policy})

    async def resolved() -> dict[str, Any] | None:
        """The real server learns of the class a moment later."""
        made = await create(client, pods, pod("a", priorityClassName=name), dryRun="All")
        return made.get("spec")

    spec = await until(resolved)
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "Never")
    for wrong, problem in (
        ({"priorityClassName": "nothing"}, "no PriorityClass with name nothing was found"),
        ({"priorityClassName": name, "priority": 7}, "the integer value of priority (7) must not be provided in pod"),
        (
            {"priorityClassName": name, "preemptionPolicy": "PreemptLowerPriority"},
            "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec",
        ),
    ):
        refused = await create(client, pods, pod("b", **wrong))
        assert refused["code"] == 403
        assert problem in refused["message"]
    critical = await create(client, pods, pod("c", priorityClassName="system-node-critical"))
    assert critical["spec"]["priority"] == 2_000_001_000
    await client.request("DELETE", f"{PRIORITIES}/{name}")


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"metadata": {"name": "system-other"}, "value": 1}, "system-other is not a known system priority class"),
        ({"metadata": {"name": "$ns"}, "value": 2_000_000_000}, "maximum allowed value of a user defined priority is"),
        (
            {"metadata": {"name": "$ns"}, "value": 1, "preemptionPolicy": "x"},
            'preemptionPolicy: Unsupported value: "x"',
        ),
    ],
)
async def test_invalid_priority_classes_are_refused(
    client: Client, namespace: str, body: dict[str, Any], problem: str
) -> None:
    refused = await create(client, PRIORITIES, json.loads(json.dumps(body).replace("$ns", namespace)))
    assert refused["code"] == 422
    assert problem in refused["message"]


@pytest.mark.parametrize(
    ("classes", "mark", "objects", "field", "sample"),
    [
        (
            "/apis/storage.k8s.io/v1/storageclasses",
            "storageclass.kubernetes.io/is-default-class",
            "/api/v1/namespaces/$ns/persistentvolumeclaims",
            "storageClassName",
            {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}},
        ),
        (
            "/apis/networking.k8s.io/v1/ingressclasses",
            "ingressclass.kubernetes.io/is-default-class",
            "/apis/networking.k8s.io/v1/namespaces/$ns/ingresses",
            "ingressClassName",
            {"spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}}},
        ),
    ],
    ids=["storage", "ingress"],
)
async def test_objects_without_a_class_get_the_default_one(
    client: Client, namespace: str, classes: str, mark: str, objects: str, field: str, sample: dict[str, Any]
) -> None:
    spec = {"provisioner": "example.com/a"} if "storage" in classes else {"spec": {"controller": "example.com/a"}}
    await create(client, classes, {"metadata": {"name": namespace, "annotations": {mark: "true"}}, **spec})
    path = objects.replace("$ns", namespace)

    async def defaulted() -> bool:
        made = await create(client, path, {"metadata": {"name": "a"}, **sample}, dryRun="All")
        return bool(made["spec"].get(field) == namespace)

    await until(defaulted)
    named = await create(client, path, {"metadata": {"name": "b"}, "spec": {**sample["spec"], field: "other"}})
    assert named["spec"][field] == "other"
    await client.request("DELETE", f"{classes}/{namespace}")
