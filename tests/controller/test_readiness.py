"""Readiness of built-in kinds and custom resources: pure rules over the spec and the status."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.api import Object, Untyped, from_dict
from kubewright.controller import readiness_of
from kubewright.controller.readiness import ReadyState


def made(kind: str, spec: Any = None, status: Any = None, **metadata: Any) -> Object:
    group, _, name = kind.rpartition("/")
    api_version = {"": "v1", "apiextensions.k8s.io": "apiextensions.k8s.io/v1"}.get(group, f"{group}/v1")
    content = {"apiVersion": api_version, "kind": name, "metadata": {"name": "one", "generation": 2, **metadata}}
    return from_dict(Untyped, content | {"spec": spec or {}, "status": status or {}})


def true(type_: str, reason: str = "", status: str = "True") -> dict[str, str]:
    return {"type": type_, "status": status, "reason": reason, "message": f"{reason} message"}


DONE = {"observedGeneration": 2}
ROLLED_OUT = [true("Progressing", "NewReplicaSetAvailable"), true("Available")]
REPLICAS = {"replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3}
SETS = {"replicas": 3, "readyReplicas": 3, "currentReplicas": 3, "updatedReplicas": 3}
NODES = dict.fromkeys(("currentNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady"), 2)
CRASHING = {"name": "main", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}


@pytest.mark.promise("What a reconciler works with", "Readiness of all workload kinds follows the rules of kstatus.")
@pytest.mark.parametrize(
    ("kind", "spec", "status", "state", "message"),
    [
        ("apps/Deployment", {}, {}, "InProgress", "is not observed by its controller yet"),
        ("apps/Deployment", {}, {"observedGeneration": 1}, "InProgress", "generation 2 is not observed yet"),
        ("apps/Deployment", {"replicas": 3}, {**DONE, "replicas": 1}, "InProgress", "replicas: 1/3"),
        ("apps/Deployment", {"replicas": 3}, {**DONE, **REPLICAS, "updatedReplicas": 1}, "InProgress", "updated: 1/3"),
        ("apps/Deployment", {"replicas": 1}, {**DONE, **REPLICAS}, "InProgress", "pending termination: 2"),
        (
            "apps/Deployment",
            {"replicas": 3},
            {**DONE, **REPLICAS, "availableReplicas": 1},
            "InProgress",
            "available: 1/3",
        ),
        (
            "apps/Deployment",
            {"replicas": 3, "progressDeadlineSeconds": 600},
            {**DONE, **REPLICAS, "conditions": [true("Available")]},
            "InProgress",
            "the new ReplicaSet is not available",
        ),
        ("apps/Deployment", {"replicas": 3}, {**DONE, **REPLICAS}, "InProgress", "is not available"),
        ("apps/Deployment", {"replicas": 3}, {**DONE, **REPLICAS, "conditions": ROLLED_OUT}, "Current", ""),
        (
            "apps/Deployment",
            {"replicas": 3},
            {**DONE, "conditions": [true("Progressing", "ProgressDeadlineExceeded", "False")]},
            "Failed",
            "progress deadline exceeded",
        ),
        ("apps/StatefulSet", {"updateStrategy": {"type": "OnDelete"}}, {}, "Current", ""),
        ("apps/StatefulSet", {"replicas": 0}, {}, "InProgress", "is not observed by its controller yet"),
        ("apps/StatefulSet", {"replicas": 3}, {**DONE, **SETS, "readyReplicas": 2}, "InProgress", "ready: 2/3"),
        ("apps/StatefulSet", {"replicas": 3}, {**DONE, **SETS, "currentReplicas": 2}, "InProgress", "current: 2/3"),
        (
            "apps/StatefulSet",
            {"replicas": 3, "updateStrategy": {"rollingUpdate": {"partition": 1}}},
            {**DONE, **SETS, "updatedReplicas": 1},
            "InProgress",
            "updated: 1/2",
        ),
        (
            "apps/StatefulSet",
            {"replicas": 3},
            {**DONE, **SETS, "currentRevision": "a", "updateRevision": "b"},
            "InProgress",
            "the updated revision is not current yet",
        ),
        ("apps/StatefulSet", {"replicas": 3}, {**DONE, **SETS}, "Current", ""),
        ("apps/DaemonSet", {}, {}, "InProgress", "is not observed by its controller yet"),
        ("apps/DaemonSet", {}, DONE, "InProgress", "the number of nodes is not known yet"),
        ("apps/DaemonSet", {}, {**DONE, **NODES, "desiredNumberScheduled": 3}, "InProgress", "current: 2/3"),
        ("apps/DaemonSet", {}, {**DONE, **NODES, "desiredNumberScheduled": 2}, "Current", ""),
        ("apps/ReplicaSet", {}, {"conditions": [true("ReplicaFailure")]}, "InProgress", "its pods cannot be created"),
        (
            "apps/ReplicaSet",
            {"replicas": 3},
            {**DONE, **REPLICAS, "fullyLabeledReplicas": 3},
            "Current",
            "",
        ),
        ("batch/Job", {}, {}, "InProgress", "is not started"),
        ("batch/Job", {"completions": 2}, {"startTime": "x", "succeeded": 1}, "InProgress", "succeeded: 1/2"),
        ("batch/Job", {}, {"conditions": [true("Complete")]}, "Current", ""),
        ("batch/Job", {}, {"conditions": [true("Failed", "BackoffLimit")]}, "Failed", "BackoffLimit message"),
        ("Pod", {}, {}, "InProgress", "is not observed yet"),
        ("Pod", {}, {"phase": "Pending"}, "InProgress", "is pending"),
        ("Pod", {}, {"phase": "Running"}, "InProgress", "is running but not ready"),
        (
            "Pod",
            {},
            {"phase": "Running", "containerStatuses": [CRASHING]},
            "Failed",
            "containers in a crash loop: main",
        ),
        ("Pod", {}, {"phase": "Running", "conditions": [true("Ready")]}, "Current", ""),
        ("Pod", {}, {"phase": "Succeeded"}, "Current", ""),
        ("Pod", {}, {"phase": "Failed"}, "Failed", "has failed"),
        ("PersistentVolumeClaim", {}, {"phase": "Pending"}, "InProgress", "is not bound, phase: Pending"),
        ("PersistentVolumeClaim", {}, {"phase": "Bound"}, "Current", ""),
        ("Service", {"type": "LoadBalancer"}, {}, "InProgress", "has no cluster IP"),
        ("Service", {"type": "ClusterIP"}, {}, "Current", ""),
        ("ConfigMap", {}, {}, "Current", ""),
        ("apiextensions.k8s.io/CustomResourceDefinition", {}, {}, "InProgress", "is being installed"),
        (
            "apiextensions.k8s.io/CustomResourceDefinition",
            {},
            {"conditions": [true("NamesAccepted", "Taken", "False")]},
            "Failed",
            "Taken message",
        ),
        (
            "apiextensions.k8s.io/CustomResourceDefinition",
            {},
            {"conditions": [true("Established")]},
            "Current",
            "",
        ),
        ("example.com/Foo", {}, {}, "Current", ""),
        ("example.com/Foo", {}, {"conditions": [true("Ready", "Waiting", "False")]}, "InProgress", "Waiting message"),
        ("example.com/Foo", {}, {"conditions": [true("Ready")]}, "Current", ""),
        ("example.com/Foo", {}, {"conditions": [true("Stalled", "Broken")]}, "Failed", "Broken message"),
        ("example.com/Foo", {}, {"conditions": [true("Reconciling", "Busy")]}, "InProgress", "Busy message"),
        ("example.com/Foo", {}, {"conditions": "odd", "observedGeneration": 2}, "Current", ""),
    ],
)
def test_state_of_an_object(kind: str, spec: Any, status: Any, state: ReadyState, message: str) -> None:
    found = readiness_of(made(kind, spec, status))
    assert (found.state, found.message) == (state, message)
    assert found.ready == (state == "Current")


def test_an_object_in_deletion_is_not_ready() -> None:
    assert readiness_of(made("ConfigMap", deletionTimestamp="2030-01-01T00:00:00Z")).state == "Terminating"
