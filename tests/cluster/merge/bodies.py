"""Helpers that build the objects of the tables."""

from __future__ import annotations

from typing import Any

from tests.cluster.merge.definitions import GROUP
from tests.cluster.merge.table import Case, Step

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
V1, V2 = f"{GROUP}/v1", f"{GROUP}/v2"
Spec = dict[str, Any]


def widget(name: str, *steps: Step) -> Case:
    return Case(f"widget-{name}", V1, "Widget", list(steps))


def spec(**values: Any) -> Spec:
    return {"spec": {name.rstrip("_"): value for name, value in values.items()}}


def meta(**values: Any) -> Spec:
    return {"metadata": values}


def config_map(name: str, *steps: Step) -> Case:
    return Case(f"configmap-{name}", "v1", "ConfigMap", list(steps))


def data(**values: Any) -> Spec:
    return {"data": values}


def deployment(name: str, *steps: Step) -> Case:
    return Case(f"deployment-{name}", "apps/v1", "Deployment", list(steps))


def pods(*containers: Spec, **more: Any) -> Spec:
    """Returns a deployment with these containers."""
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": list(containers), **more.pop("pod", {})}}
    return {"spec": {"selector": {"matchLabels": labels}, "template": template, **more}}


NGINX: Spec = {"name": "nginx", "image": "nginx:1"}
SIDECAR: Spec = {"name": "sidecar", "image": "sidecar:1"}
SERVICE_FILLED = (
    "spec.clusterIP",
    "spec.clusterIPs",
    "spec.ipFamilies",
    "spec.ipFamilyPolicy",
)
POD_FILLED = ("spec.tolerations", "spec.priority", "spec.preemptionPolicy", "spec.serviceAccount", "status")


def service(name: str, *steps: Step) -> Case:
    return Case(f"service-{name}", "v1", "Service", list(steps), SERVICE_FILLED)


def ports(*found: Spec, **more: Any) -> Spec:
    return {"spec": {"selector": {"app": "a"}, "ports": list(found), **more}}


def port(number: int, protocol: str = "TCP", **more: Any) -> Spec:
    return {"port": number, "protocol": protocol, "name": f"p{number}{protocol.lower()}", **more}


def item(name: str, **more: Any) -> Spec:
    return {"name": name, **more}
