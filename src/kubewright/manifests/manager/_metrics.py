"""Metrics: the endpoint, its Service, its roles, and the ServiceMonitor that tells the Prometheus operator about it.

The endpoint is HTTPS. The operator lets the API server review the token of each client, which needs a ClusterRole
(`-metrics-auth`). Another one (`-metrics-reader`) is for clients: bind it to the account of Prometheus.

The ServiceMonitor verifies the certificate when that comes from a Secret with a `ca.crt`. A self-signed one cannot be
verified: the traffic is encrypted, but Prometheus does not know to whom it sends its token.
"""

from __future__ import annotations

from typing import Final

from kubewright.api import Model, Object, ObjectMeta, Resource, core, meta, rbac
from kubewright.api.kinds import resource
from kubewright.manifests._project import Project
from kubewright.manifests._rules import rules_of
from kubewright.manifests.manager._deployment import Addition
from kubewright.operator import for_reviewing

__all__ = [
    "METRICS_PORT",
    "ServiceMonitor",
    "metrics_access",
    "metrics_addition",
    "metrics_additions",
    "metrics_certificate_addition",
    "metrics_endpoint",
    "metrics_security_addition",
    "metrics_service",
    "metrics_service_name",
    "service_monitor",
]

METRICS_PORT: Final = 8080
_FOLDER: Final = "/var/run/kubewright/metrics"
_VOLUME: Final = "metrics-certificate"
_TOKEN: Final = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105  # the path of Prometheus' own
_GROUP: Final = "rbac.authorization.k8s.io"
_PORT: Final = "metrics"
_COMPONENT: Final = {"app.kubernetes.io/component": "metrics"}


class SecretKey(Model):
    """A key of a Secret in the namespace of the ServiceMonitor."""

    name: str
    key: str


class SecretOrConfigMap(Model):
    """Where a certificate is; the field that is needed here."""

    secret: SecretKey


class TLSConfig(Model):
    """How the certificate is verified."""

    ca: SecretOrConfigMap | None = None
    server_name: str | None = None
    insecure_skip_verify: bool | None = None


class Endpoint(Model):
    """A port to scrape; the fields that are needed here."""

    port: str
    path: str
    scheme: str | None = None
    bearer_token_file: str | None = None
    tls_config: TLSConfig | None = None


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


def metrics_security_addition(project: Project) -> Addition:
    """The manager serves them over HTTPS to authorized clients, or over plain HTTP to all. It is always explicit."""
    return Addition(args=["--metrics-secure" if project.metrics_secure else "--no-metrics-secure"])


def metrics_certificate_addition(project: Project) -> Addition:
    """The manager finds its certificate in the Secret."""
    return Addition(
        args=[f"--metrics-cert-path={_FOLDER}"],
        mounts=[core.VolumeMount(name=_VOLUME, mount_path=_FOLDER, read_only=True)],
        volumes=[core.Volume(name=_VOLUME, secret=core.SecretVolumeSource(secret_name=project.metrics_secret))],
    )


def metrics_additions(project: Project) -> list[Addition]:
    """Everything that metrics add to the manager."""
    made = [metrics_addition(project), metrics_security_addition(project)]
    if project.metrics_certificates != "self-signed":
        made.append(metrics_certificate_addition(project))
    return made


def metrics_access(project: Project) -> list[Object]:
    """The roles of secure metrics: what the manager needs to review tokens, and what a client needs to read them."""
    auth, reader = f"{project.prefix}-metrics-auth", f"{project.prefix}-metrics-reader"
    account = rbac.Subject(kind="ServiceAccount", name=project.prefix, namespace=project.namespace)
    read = rbac.PolicyRule(non_resource_urls=["/metrics"], verbs=["get"])
    return [
        rbac.ClusterRole(metadata=ObjectMeta(name=auth, labels=project.labels), rules=rules_of(for_reviewing())),
        rbac.ClusterRoleBinding(
            metadata=ObjectMeta(name=auth, labels=project.labels),
            role_ref=rbac.RoleRef(api_group=_GROUP, kind="ClusterRole", name=auth),
            subjects=[account],
        ),
        rbac.ClusterRole(metadata=ObjectMeta(name=reader, labels=project.labels), rules=[read]),
    ]


def metrics_service_name(project: Project) -> str:
    """What the Service of the metrics is called."""
    return f"{project.prefix}-metrics"


def metrics_service(project: Project) -> core.Service:
    """The Service through which each replica's metrics are found. Without an address: nobody wants just any replica."""
    return core.Service(
        metadata=_meta(project, metrics_service_name(project)),
        spec=core.ServiceSpec(
            cluster_ip="None",
            ports=[core.ServicePort(name=_PORT, port=METRICS_PORT, target_port=_PORT, protocol="TCP")],
            selector=project.selector,
        ),
    )


def service_monitor(project: Project) -> ServiceMonitor:
    """The ServiceMonitor for that Service."""
    return ServiceMonitor(
        metadata=_meta(project, metrics_service_name(project)),
        spec=ServiceMonitorSpec(
            selector=meta.LabelSelector(match_labels=_selector(project)),
            endpoints=[metrics_endpoint(project)],
        ),
    )


def metrics_endpoint(project: Project) -> Endpoint:
    """How Prometheus reads the metrics: with the token of its own account, and with the CA of the Secret."""
    if not project.metrics_secure:
        return Endpoint(port=_PORT, path="/metrics")
    if project.metrics_certificates == "self-signed":
        tls = TLSConfig(insecure_skip_verify=True)
    else:
        tls = TLSConfig(
            ca=SecretOrConfigMap(secret=SecretKey(name=project.metrics_secret, key="ca.crt")),
            server_name=f"{metrics_service_name(project)}.{project.namespace}.svc",
        )
    return Endpoint(port=_PORT, path="/metrics", scheme="https", bearer_token_file=_TOKEN, tls_config=tls)


def _selector(project: Project) -> dict[str, str]:
    return {**project.selector, **_COMPONENT}


def _meta(project: Project, name: str) -> ObjectMeta:
    return ObjectMeta(name=name, namespace=project.namespace, labels={**project.labels, **_selector(project)})
