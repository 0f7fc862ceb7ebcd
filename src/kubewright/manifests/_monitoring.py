"""Metrics: the endpoint, its Service, and the ServiceMonitor that tells the Prometheus operator about it."""

from __future__ import annotations

from typing import Final

from kubewright.api import Model, ObjectMeta, Resource, core, meta
from kubewright.api._resource import resource
from kubewright.manifests._manager import Addition
from kubewright.manifests._project import Project

__all__ = ["METRICS_PORT", "ServiceMonitor", "metrics_addition", "metrics_service", "service_monitor"]

METRICS_PORT: Final = 8080
_PORT: Final = "metrics"
_COMPONENT: Final = {"app.kubernetes.io/component": "metrics"}


class Endpoint(Model):
    """A port to scrape; the fields that are needed here."""

    port: str
    path: str


class ServiceMonitorSpec(Model):
    """Which Services are scraped, and where; the fields that are needed here."""

    selector: meta.LabelSelector
    endpoints: list[Endpoint]


@resource("monitoring.coreos.com/v1")
class ServiceMonitor(Resource[ServiceMonitorSpec, None]):
    """The Prometheus operator's word for Services that are scraped."""


def metrics_addition(project: Project) -> Addition:
    """The manager serves metrics."""
    return Addition(
        args=[f"--metrics-bind={project.bind_address}:{METRICS_PORT}"],
        ports=[core.ContainerPort(name=_PORT, container_port=METRICS_PORT, protocol="TCP")],
    )


def metrics_service(project: Project) -> core.Service:
    """The Service through which each replica's metrics are found. Without an address: nobody wants just any replica."""
    return core.Service(
        metadata=_meta(project, f"{project.prefix}-metrics"),
        spec=core.ServiceSpec(
            cluster_ip="None",
            ports=[core.ServicePort(name=_PORT, port=METRICS_PORT, target_port=_PORT, protocol="TCP")],
            selector=project.selector,
        ),
    )


def service_monitor(project: Project) -> ServiceMonitor:
    """The ServiceMonitor for that Service."""
    return ServiceMonitor(
        metadata=_meta(project, f"{project.prefix}-metrics"),
        spec=ServiceMonitorSpec(
            selector=meta.LabelSelector(match_labels=_selector(project)),
            endpoints=[Endpoint(port=_PORT, path="/metrics")],
        ),
    )


def _selector(project: Project) -> dict[str, str]:
    return {**project.selector, **_COMPONENT}


def _meta(project: Project, name: str) -> ObjectMeta:
    return ObjectMeta(name=name, namespace=project.namespace, labels={**project.labels, **_selector(project)})
