"""The values of a chart: one typed model, from which `values.yaml`, its comments and its schema are made.

Helm rejects a misspelled value, because the schema allows no others.
"""

from __future__ import annotations

import base64
import textwrap
from collections.abc import Iterator
from typing import Annotated, Any, TypeAlias, get_type_hints

import msgspec
from msgspec import Meta

from kubewright.api import to_dict, to_yaml
from kubewright.manifests._image import Image
from kubewright.manifests._project import Certificates, MetricsCertificates, Project, PullPolicy
from kubewright.manifests.manager._deployment import hardened

__all__ = ["Values", "WebhookValues", "values_of", "values_schema", "values_text"]

_WIDTH = 118
_Dicts: TypeAlias = list[dict[str, Any]]


class _Section(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A mapping that allows no other members."""


class ImageValues(_Section, kw_only=True):
    """The image of the manager."""

    repository: Annotated[str, Meta(min_length=1)]
    tag: Annotated[str, Meta(description="Default: the chart's appVersion.")] = ""
    digest: Annotated[str, Meta(description="Such as sha256:...; pulls exactly this image.")] = ""
    pull_policy: Annotated[
        PullPolicy, Meta(description="IfNotPresent also works for images that were loaded into a node.")
    ]


class ServiceAccountValues(_Section, kw_only=True):
    """The service account of the manager."""

    annotations: Annotated[
        dict[str, str], Meta(description="Annotations, such as for the workload identity of a cloud.")
    ] = {}


class DefinitionValues(_Section, kw_only=True):
    """The CustomResourceDefinitions."""

    install: Annotated[bool, Meta(description="Install and upgrade them with the release.")] = True
    keep: Annotated[
        bool,
        Meta(description="Keep them when the release is uninstalled. Deleting a definition deletes all its objects."),
    ] = True


class NamespaceValues(_Section, kw_only=True):
    """The namespace of the release."""

    create: Annotated[
        bool,
        Meta(description="For `helm template`; `helm install --create-namespace` creates it by itself."),
    ] = False


class ServiceMonitorValues(_Section, kw_only=True):
    """The ServiceMonitor."""

    enabled: bool


class MetricsValues(_Section, kw_only=True):
    """The endpoint for Prometheus."""

    enabled: bool
    secure: Annotated[
        bool,
        Meta(
            description="HTTPS, for clients that the API server authorizes: bind their accounts to the ClusterRole"
            " <full name>-metrics-reader. Needs a ClusterRole for the manager. Otherwise plain HTTP, for every client."
        ),
    ]
    certificates: Annotated[
        MetricsCertificates,
        Meta(description="self-signed: encrypted, but not verified; cert-manager; files: from an existing Secret."),
    ]
    secret_name: Annotated[
        str,
        Meta(description="The Secret with tls.crt, tls.key and ca.crt. Default: <full name>-metrics-certificate."),
    ] = ""
    service_monitor: Annotated[
        ServiceMonitorValues, Meta(description="Requires the Prometheus operator in the cluster.")
    ]


class NetworkPolicyValues(_Section, kw_only=True):
    """The network policy."""

    enabled: bool
    egress: Annotated[
        list[dict[str, Any]], Meta(description="Rules for further outgoing traffic, besides DNS and the API server.")
    ] = []


class WebhookValues(_Section, kw_only=True):
    """Webhooks."""

    enabled: bool = True
    certificates: Annotated[
        Certificates,
        Meta(description="self-managed: by the operator; cert-manager; files: from an existing Secret."),
    ]
    secret_name: Annotated[
        str, Meta(description="The Secret with the certificate. Default: <full name>-webhook-certificate.")
    ] = ""
    ca_bundle: Annotated[
        str, Meta(description="With files: the certificates that the API server trusts, PEM in base64.")
    ] = ""


class Values(_Section, kw_only=True):
    """All values."""

    image: ImageValues
    image_pull_secrets: Annotated[list[dict[str, str]], Meta(description="Such as [{name: my-registry}].")] = []
    priority_class_name: Annotated[str, Meta(description="The PriorityClass of the pods.")] = ""
    replicas: Annotated[int, Meta(ge=1, description="One of them leads, the others are on standby.")]
    fullname_override: Annotated[str, Meta(description="The prefix of all object names.")] = ""
    resources: Annotated[dict[str, Any], Meta(description="The requests and limits of the manager.")] = {}
    extra_args: Annotated[list[str], Meta(description="Options of `kubewright run`, such as --log-level=debug.")] = []
    extra_env: Annotated[_Dicts, Meta(description="More environment variables, as in a container.")] = []
    extra_env_from: Annotated[
        _Dicts, Meta(description="ConfigMaps and Secrets whose keys become environment variables.")
    ] = []
    extra_volumes: Annotated[_Dicts, Meta(description="More volumes, as in a pod.")] = []
    extra_volume_mounts: Annotated[_Dicts, Meta(description="Where the manager mounts them, as in a container.")] = []
    extra_containers: Annotated[_Dicts, Meta(description="More containers of the pod, beside the manager.")] = []
    init_containers: Annotated[_Dicts, Meta(description="Containers that run before the manager.")] = []
    node_selector: Annotated[dict[str, str], Meta(description="Labels that a node must have.")] = {}
    tolerations: Annotated[_Dicts, Meta(description="Tolerated taints of nodes.")] = []
    affinity: Annotated[dict[str, Any], Meta(description="Node and pod affinity, as in a pod.")] = {}
    service_account: ServiceAccountValues
    crds: Annotated[DefinitionValues, Meta(description="CustomResourceDefinitions.")]
    namespace: NamespaceValues
    metrics: MetricsValues
    network_policy: Annotated[
        NetworkPolicyValues,
        Meta(description="If enabled, only namespaces with the label metrics=enabled may read the metrics."),
    ]
    # Passed down by a parent chart.
    global_: dict[str, Any] = msgspec.field(name="global", default_factory=dict)


class ValuesWithWebhooks(Values, kw_only=True):
    """The values of an operator with webhooks."""

    webhook: Annotated[
        WebhookValues, Meta(description="Without them, the API server accepts objects that they would reject.")
    ]


def values_of(project: Project) -> Values:
    """Returns the values of a project."""
    image = Image.parse(project.image)
    common: dict[str, Any] = {
        "image": ImageValues(
            repository=image.repository,
            tag="" if image.tag == project.version and not image.digest else image.tag,
            digest=image.digest,
            pull_policy=project.pull_policy,
        ),
        "replicas": project.replicas,
        "resources": to_dict(project.resources),
        **_pod_values(project),
        "service_account": ServiceAccountValues(),
        "crds": DefinitionValues(),
        "namespace": NamespaceValues(),
        "metrics": _metrics_values(project),
        "network_policy": NetworkPolicyValues(enabled=project.network_policy, egress=to_dict(list(project.egress))),
    }
    if not project.serves_webhooks:
        return Values(**common)
    custom = project.certificate_secret != f"{project.name}-webhook-certificate"
    webhook = WebhookValues(
        certificates=project.certificates,
        secret_name=project.certificate_secret if custom else "",
        ca_bundle=base64.b64encode(project.ca_bundle or b"").decode(),
    )
    return ValuesWithWebhooks(**common, webhook=webhook)


def _pod_values(project: Project) -> dict[str, Any]:
    return {
        "image_pull_secrets": to_dict(project.references()),
        "priority_class_name": project.priority_class,
        "extra_args": list(project.args),
        "extra_env": to_dict(project.variables()),
        "extra_env_from": to_dict(list(project.env_from)),
        "extra_volumes": to_dict(list(project.volumes)),
        "extra_volume_mounts": to_dict(list(project.mounts)),
        "extra_containers": to_dict([hardened(one) for one in project.containers]),
        "init_containers": to_dict([hardened(one) for one in project.init_containers]),
        "node_selector": dict(project.node_selector),
        "tolerations": to_dict(list(project.tolerations)),
        "affinity": to_dict(project.affinity) if project.affinity else {},
    }


def _metrics_values(project: Project) -> MetricsValues:
    custom = project.metrics_secret != f"{project.name}-metrics-certificate"
    return MetricsValues(
        enabled=project.metrics,
        secure=bool(project.metrics_secure),
        certificates=project.metrics_certificates,
        secret_name=project.metrics_secret if custom else "",
        service_monitor=ServiceMonitorValues(enabled=project.service_monitor),
    )


def values_schema(project: Project) -> dict[str, Any]:
    """Returns the JSON schema of the values."""
    schema = msgspec.json.schema(type(values_of(project)))
    if not project.leader_election:
        top = schema["$defs"][schema["$ref"].rpartition("/")[2]]
        top["properties"]["replicas"] |= {
            "maximum": 1,
            "description": "One, because this operator runs without leader election.",
        }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def values_text(project: Project) -> str:
    """Returns `values.yaml`, with a description above each value."""
    return "".join(f"{line}\n" for line in _lines(values_of(project), ""))


def _lines(section: msgspec.Struct, indent: str) -> Iterator[str]:
    hints = get_type_hints(type(section), include_extras=True)
    for field in msgspec.structs.fields(section):
        value = getattr(section, field.name)
        if field.name == "global_":
            continue
        yield from textwrap.wrap(
            _description(hints[field.name]), _WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# "
        )
        if isinstance(value, msgspec.Struct):
            yield f"{indent}{field.encode_name}:"
            yield from _lines(value, f"{indent}  ")
        else:
            yield from textwrap.indent(to_yaml({field.encode_name: value}), indent).splitlines()


def _description(hint: Any) -> str:
    """Returns the description of the annotation, or else of the section."""
    for meta in getattr(hint, "__metadata__", ()):
        if isinstance(meta, Meta) and meta.description:
            return meta.description
    return hint.__doc__ or "" if isinstance(hint, type) and issubclass(hint, _Section) else ""
