"""What the benchmarks fill the server with: a kind of their own with objects of about 2 KB, and lifelike pods."""

from __future__ import annotations

from typing import Any

__all__ = ["GROUP", "PLURAL", "VERSION", "WRITTEN", "crd", "foo", "foo_name", "pod", "pod_status"]

GROUP, VERSION, PLURAL = "bench.example.com", "v1", "foos"
WRITTEN = f"{GROUP}/written"
"""The annotation with the time of the last change, in seconds since the epoch. The Go program has the same name."""


def foo_name(number: int) -> str:
    """The name of one Foo."""
    return f"foo-{number:06d}"


def foo(number: int, namespace: str) -> dict[str, Any]:
    """One custom resource. As the server sends it, with its managedFields, it has about 2 KB."""
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Foo",
        "metadata": {
            "name": foo_name(number),
            "namespace": namespace,
            "labels": {"app": "bench", "shard": str(number % 16)},
        },
        "spec": {
            "deploymentName": f"deployment-{number}",
            "replicas": 1 + number % 10,
            "config": {f"key-{i}": f"the value of key {i} in object {number}" for i in range(12)},
            "items": [
                {"name": f"item-{i}", "value": number * i, "tags": ["alpha", "beta", f"tag-{i}"]} for i in range(8)
            ],
        },
    }


def crd() -> dict[str, Any]:
    """The definition of the kind Foo."""
    text, integer = {"type": "string"}, {"type": "integer", "format": "int64"}
    item = {"name": text, "value": integer, "tags": {"type": "array", "items": text}}
    spec = {
        "deploymentName": text,
        "replicas": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 10},
        "config": {"type": "object", "additionalProperties": text},
        "items": {"type": "array", "items": {"type": "object", "properties": item}},
    }
    properties = {
        "spec": {"type": "object", "required": ["deploymentName"], "properties": spec},
        "status": {"type": "object", "properties": {"availableReplicas": {"type": "integer", "format": "int32"}}},
    }
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": "Foo", "listKind": "FooList", "plural": PLURAL, "singular": "foo"},
            "versions": [version],
        },
    }


def pod(number: int, namespace: str) -> dict[str, Any]:
    """One pod as a Deployment would make it: a server and a sidecar, probes, resources, volumes."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"pod-{number:06d}",
            "namespace": namespace,
            "labels": {"app": f"web-{number % 50}", "pod-template-hash": f"{number % 50:08x}"},
            "annotations": {"example.com/config-checksum": f"{number:064x}"},
        },
        "spec": {
            "nodeName": f"node-{number % 100}",
            "containers": [
                _container("server", f"registry.example.com/web:{number % 7}", 8080),
                _container("proxy", "registry.example.com/proxy:2", 9090),
            ],
            "volumes": [
                {"name": "config", "configMap": {"name": f"web-{number % 50}"}},
                {"name": "scratch", "emptyDir": {}},
            ],
        },
    }


def pod_status(number: int) -> dict[str, Any]:
    """The status of the pod of that number, running and ready."""
    since = "2030-01-02T03:04:05Z"
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    running = {"ready": True, "started": True, "restartCount": 0, "state": {"running": {"startedAt": since}}}
    return {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "hostIP": f"192.168.0.{number % 100}",
        "startTime": since,
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": since}
            for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ],
        "containerStatuses": [
            {"name": name, "image": image, "imageID": f"{image}@sha256:{number:064x}", **running}
            for name, image in (("server", "registry.example.com/web"), ("proxy", "registry.example.com/proxy"))
        ],
    }


def _container(name: str, image: str, port: int) -> dict[str, Any]:
    probe = {"httpGet": {"path": "/healthz", "port": port}, "periodSeconds": 5}
    return {
        "name": name,
        "image": image,
        "args": ["--listen", f":{port}", "--config", "/etc/config/main.yaml"],
        "env": [{"name": f"SETTING_{i}", "value": f"value {i}"} for i in range(4)],
        "ports": [{"name": f"http-{port}", "containerPort": port}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "livenessProbe": probe,
        "readinessProbe": probe,
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/config", "readOnly": True},
            {"name": "scratch", "mountPath": "/tmp"},
        ],
    }
