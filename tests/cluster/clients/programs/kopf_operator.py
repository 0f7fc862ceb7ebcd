# mypy: ignore-errors
# Written as its users write: the types of the client are not ours to check.
"""An operator made with kopf: a Toy gets a ConfigMap of its own, a status and events. NAMESPACE says where."""

from __future__ import annotations

import os
from typing import Any

import kopf
import kubernetes

GROUP = f"{os.environ['NAMESPACE']}.test"


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.posting.enabled = True
    settings.persistence.finalizer = f"{GROUP}/kopf"
    settings.watching.server_timeout = 60


@kopf.on.create(GROUP, "v1", "toys")
def create(name: str, namespace: str, spec: kopf.Spec, patch: kopf.Patch, body: kopf.Body, **_: Any) -> dict[str, Any]:
    child = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-box"},
        "data": {"color": spec["color"]},
    }
    kopf.adopt(child)
    kubernetes.client.CoreV1Api().create_namespaced_config_map(namespace, child)
    patch.status["color"] = spec["color"]
    kopf.event(body, type="Normal", reason="Boxed", message=f"{name} is in its box")
    return {"box": f"{name}-box"}


@kopf.on.field(GROUP, "v1", "toys", field="spec.color")
def painted(old: Any, new: Any, name: str, namespace: str, patch: kopf.Patch, **_: Any) -> None:
    if old is not None and new is not None:
        kubernetes.client.CoreV1Api().patch_namespaced_config_map(f"{name}-box", namespace, {"data": {"color": new}})
        patch.status["color"] = new


@kopf.on.delete(GROUP, "v1", "toys")
def delete(name: str, namespace: str, **_: Any) -> None:
    body = {"metadata": {"name": f"{name}-farewell"}, "data": {"gone": name}}
    kubernetes.client.CoreV1Api().create_namespaced_config_map(namespace, body)
