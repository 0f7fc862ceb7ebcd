"""Metrics: the endpoint, its Service, its roles, and the ServiceMonitor for the Prometheus operator.

The endpoint is HTTPS. The operator lets the API server review the token of each client, which requires a ClusterRole
(`-metrics-auth`). Another one (`-metrics-reader`) is for clients: bind it to the account of Prometheus.

The ServiceMonitor verifies the certificate if it comes from a Secret with a `ca.crt`. A self-signed certificate cannot
be verified: the traffic is encrypted, but Prometheus does not know who receives its token.
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
    """The location of a certificate; the field that is used here."""

    secret: SecretKey


class TLSConfig(Model):
    """How the certificate is verified."""

    ca: SecretOrConfigMap | None = None
    server_name: str | None = None
    insecure_skip_verify: bool | None = None


class Endpoint(Model):
    """A port to scrape; the fields that are used here."""

    port: str
    path: str
    scheme: str | None = None
    bearer_token_file: str | None = None
    tls_config: TLSConfig | None = None


class ServiceMonitorSpec(Model):
    """The Services to scrape; the fields that are used here."""

    selector: meta.LabelSelector
    endpoints: list[Endpoint]


@resource("monitoring.coreos.com/v1")
class ServiceMonitor(Resource[ServiceMonitorSpec, None]):
    """A ServiceMonitor of the Prometheus operator."""


def metrics_addition(project: Project) -> Addition:
    """Lets the manager serve metrics."""
    return Addition(
        args=[f"--metrics-bind={project.bind_address}:{METRICS_PORT}"],
        ports=[core.ContainerPort(name=_PORT, container_port=METRICS_PORT, protocol="TCP")],
    )


def metrics_security_addition(project: Project) -> Addition:
    """Lets the manager serve them over HTTPS to authorized clients, or over plain HTTP to all. Always explicit."""
    return Addition(args=["--metrics-secure" if project.metrics_secure else "--no-metrics-secure"])


def metrics_certificate_addition(project: Project) -> Addition:
    """Lets the manager use the certificate in the Secret."""
    return Addition(
        args=[f"--metrics-cert-path={_FOLDER}"],
        mounts=[core.VolumeMount(name=_VOLUME, mount_path=_FOLDER, read_only=True)],
        volumes=[core.Volume(name=_VOLUME, secret=core.SecretVolumeSource(secret_name=project.metrics_secret))],
    )


def metrics_additions(project: Project) -> list[Addition]:
    """Returns everything that metrics add to the manager."""
    made = [metrics_addition(project), metrics_security_addition(project)]
    if project.metrics_certificates != "self-signed":
        made.append(metrics_certificate_addition(project))
    return made


def metrics_access(project: Project) -> list[Object]:
    """Returns the roles of secure metrics: one for the manager to review tokens, one for clients to read them."""
    auth, reader = f"{project.prefix}-metrics-auth", f"{project.prefix}-metrics-reader"
    account = rbac.Subject(kind="ServiceAccount", name=project.prefix, namespace=project.namespace)
    read = rbac.PolicyRule(non_resource_urls=["/metrics", *sorted(project.operator.pages)], verbs=["get"])
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
    """Returns the name of the metrics Service."""
    return f"{project.prefix}-metrics"


def metrics_service(project: Project) -> core.Service:
    """Returns the headless Service of the metrics, through which each replica is found."""
    return core.Service(
        metadata=_meta(project, metrics_service_name(project)),
        spec=core.ServiceSpec(
            cluster_ip="None",
            ports=[core.ServicePort(name=_PORT, port=METRICS_PORT, target_port=_PORT, protocol="TCP")],
            selector=project.selector,
        ),
    )


def service_monitor(project: Project) -> ServiceMonitor:
    """Returns the ServiceMonitor of the metrics Service."""
    return ServiceMonitor(
        metadata=_meta(project, metrics_service_name(project)),
        spec=ServiceMonitorSpec(
            selector=meta.LabelSelector(match_labels=_selector(project)),
            endpoints=[metrics_endpoint(project)],
        ),
    )


def metrics_endpoint(project: Project) -> Endpoint:
    """Returns how Prometheus reads the metrics: with the token of its account and the CA of the Secret."""
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
