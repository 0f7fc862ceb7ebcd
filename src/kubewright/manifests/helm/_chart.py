"""The Helm chart of a project.

The templates are made from the same typed objects as everything else: names and namespaces become placeholders,
settings become values, and optional parts become conditions. With default values, the chart renders the result of
`objects`, except for the namespace, which Helm creates.

Definitions are templates and not in Helm's folder `crds/`: Helm never upgrades that folder, and a definition with a
conversion webhook needs the release's namespace. `crds.keep` keeps them, with all objects, when the release is
uninstalled.
"""

from __future__ import annotations

import copy
import functools
import json
import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any, Final, get_args

from msgspec.structs import replace

from kubewright.api import Object, apiextensions, to_dict
from kubewright.manifests._objects import definitions, webhook_configurations
from kubewright.manifests._pod_settings import PodSettings
from kubewright.manifests._project import Certificates, Project
from kubewright.manifests._write import MARK, File, text_file, yaml_file
from kubewright.manifests.helm._files import helpers, notes
from kubewright.manifests.helm._template import Splice, Structure, Value, When, hole, template
from kubewright.manifests.helm._values import values_schema, values_text
from kubewright.manifests.manager._access import (
    certificate_access,
    operator_access,
    people_access,
    service_account,
)
from kubewright.manifests.manager._certificates import (
    INJECT,
    cert_manager_objects,
    certificate_addition,
    injected_from,
    metrics_cert_manager_objects,
)
from kubewright.manifests.manager._deployment import Addition, budget, deployment, namespace, spread
from kubewright.manifests.manager._metrics import (
    metrics_access,
    metrics_addition,
    metrics_certificate_addition,
    metrics_endpoint,
    metrics_security_addition,
    metrics_service,
    service_monitor,
)
from kubewright.manifests.manager._network_policy import metrics_ingress, network_policy, webhook_ingress
from kubewright.manifests.manager._webhooks import webhook_addition, webhook_service

__all__ = ["chart_files"]

_METRICS: Final = ".Values.metrics.enabled"
_SECURE: Final = f"and {_METRICS} .Values.metrics.secure"
_PLAIN: Final = f"and {_METRICS} (not .Values.metrics.secure)"
_SELF_SIGNED: Final = f'{_SECURE} (eq .Values.metrics.certificates "self-signed")'
_FROM_SECRET: Final = f'{_SECURE} (ne .Values.metrics.certificates "self-signed")'
_WEBHOOK: Final = ".Values.webhook.enabled"
_SEVERAL: Final = "gt (int .Values.replicas) 1"
_EXTRA: Final[Mapping[tuple[str | int, ...], str]] = {
    ("containers", 0, "args"): "extraArgs",
    ("containers", 0, "env"): "extraEnv",
    ("containers", 0, "volumeMounts"): "extraVolumeMounts",
    ("containers",): "extraContainers",
    ("volumes",): "extraVolumes",
}
"""The lists of a pod's spec to which a value adds elements."""
_KEEP: Final = "helm.sh/resource-policy"
_NO_SETTINGS: Final = PodSettings()
"""The values contain the settings of the pod."""
# The newest features of the objects: eviction policies of disruption budgets and match conditions of webhooks.
_KUBERNETES: Final = ">=1.30.0-0"


def chart_files(project: Project) -> list[File]:
    """Returns all files of the chart, below a folder of any name. `helm install` deploys it."""
    holed = _with_holes(project)
    return [
        yaml_file("Chart.yaml", _chart(project)),
        text_file("values.yaml", values_text(project)),
        _schema_file(project),
        text_file("templates/_helpers.tpl", helpers(project), before="{{- /* ", after=" */ -}}"),
        text_file("templates/NOTES.txt", notes(project), before="{{- /* ", after=" */ -}}"),
        *(_file(f"templates/{path}", documents) for path, documents in _templates(holed) if documents),
    ]


def _templates(project: Project) -> Iterator[tuple[str, list[str]]]:
    """Returns the path of each template, and its documents."""
    write = _Writer(project)
    yield "namespace.yaml", write(namespace(project), when=".Values.namespace.create")
    for definition in definitions(_as(project, certificates="self-managed")):
        path = f"crds/{definition.spec.group}_{definition.spec.names.plural}.yaml"
        yield path, write(_definition(project, definition), when=".Values.crds.install")
    yield "service_account.yaml", write(_service_account(project))
    yield "role.yaml", write(*operator_access(project))
    yield "people_roles.yaml", write(*people_access(project))
    yield "manager.yaml", write(_manager(project))
    yield "pod_disruption_budget.yaml", write(budget(project), when=_SEVERAL)
    yield "metrics_service.yaml", write(metrics_service(project), when=_METRICS)
    yield "metrics_role.yaml", write(*metrics_access(project), when=_SECURE)
    issued = f'{_SECURE} (eq .Values.metrics.certificates "cert-manager")'
    yield "metrics_certificate.yaml", write(*metrics_cert_manager_objects(project), when=issued)
    monitored = f"and {_METRICS} .Values.metrics.serviceMonitor.enabled"
    yield "service_monitor.yaml", write(_service_monitor(project), when=monitored)
    yield "network_policy.yaml", write(_network_policy(project), when=".Values.networkPolicy.enabled")
    if project.serves_webhooks:
        yield "webhook_service.yaml", write(webhook_service(project), when=_WEBHOOK)
        yield "webhook_configurations.yaml", write(*_configurations(project), when=_WEBHOOK)
        yield "webhook_certificate_role.yaml", write(*certificate_access(project), when=_with("self-managed"))
        yield "cert_manager.yaml", write(*cert_manager_objects(project), when=_with("cert-manager"))


def _service_account(project: Project) -> dict[str, Any]:
    tree = _tree(service_account(project))
    annotations = ".Values.serviceAccount.annotations"
    tree["metadata"]["annotations"] = When(annotations, Structure(annotations))
    return tree


def _manager(project: Project) -> dict[str, Any]:
    tree = _tree(deployment(project))
    tree["spec"]["replicas"] = Value(".Values.replicas")
    pod = tree["spec"]["template"]["spec"]
    container = pod["containers"][0]
    container["imagePullPolicy"] = Value(".Values.image.pullPolicy | quote")
    container["resources"] = Structure(".Values.resources")
    for member in ("affinity", "imagePullSecrets", "initContainers", "nodeSelector", "tolerations"):
        pod[member] = When(f".Values.{member}", Structure(f".Values.{member}"))
    pod["priorityClassName"] = When(".Values.priorityClassName", Value(".Values.priorityClassName | quote"))
    container["envFrom"] = When(".Values.extraEnvFrom", Structure(".Values.extraEnvFrom"))
    # Before what the parts add, as in the kustomize tree, whose components append to these lists.
    for path, value in _EXTRA.items():
        functools.reduce(operator.getitem, path, pod).append(Splice(f".Values.{value}"))
    pod["topologySpreadConstraints"] = When(_SEVERAL, [to_dict(spread(project))])
    for condition, addition in _additions(project):
        for path, added in addition.by_place():
            there = functools.reduce(operator.getitem, path, pod)
            there.append(When(condition, added))
    return tree


def _additions(project: Project) -> Iterator[tuple[str, Addition]]:
    """Returns what each part adds to the manager, and its condition."""
    yield _METRICS, metrics_addition(project)
    yield _SECURE, metrics_security_addition(_as(project, metrics_secure=True))
    yield _PLAIN, metrics_security_addition(_as(project, metrics_secure=False))
    yield _FROM_SECRET, metrics_certificate_addition(project)
    if project.serves_webhooks:
        yield _WEBHOOK, webhook_addition(project)
        for way in get_args(Certificates):
            yield _with(way), certificate_addition(_as(project, certificates=way))


def _service_monitor(project: Project) -> dict[str, Any]:
    tree = _tree(service_monitor(project))
    tree["spec"]["endpoints"] = [
        When(condition, [to_dict(metrics_endpoint(_as(project, metrics_secure=secure, metrics_certificates=way)))])
        for condition, secure, way in (
            (_SELF_SIGNED, True, "self-signed"),
            (_FROM_SECRET, True, "files"),
            (_PLAIN, False, "self-signed"),
        )
    ]
    return tree


def _network_policy(project: Project) -> dict[str, Any]:
    tree = _tree(network_policy(_as(project, egress=()), []))
    tree["spec"]["egress"].append(Splice(".Values.networkPolicy.egress"))
    ingress = [When(_METRICS, [to_dict(metrics_ingress())])]
    if project.serves_webhooks:
        ingress.append(When(_WEBHOOK, [to_dict(webhook_ingress())]))
    any_of_them = f"or {_METRICS} {_WEBHOOK}" if project.serves_webhooks else _METRICS
    tree["spec"]["ingress"] = When(any_of_them, ingress, otherwise=[])
    return tree


def _definition(project: Project, definition: apiextensions.CustomResourceDefinition) -> dict[str, Any]:
    tree = _tree(definition)
    annotations = tree["metadata"].get("annotations", {})
    conditions = [".Values.crds.keep"]
    added = {_KEEP: When(".Values.crds.keep", "keep")}
    conversion = tree["spec"].get("conversion", {})
    if "webhook" in conversion:
        conditions.append(f"({_with('cert-manager')})")
        added[INJECT] = When(_with("cert-manager"), injected_from(project)[INJECT])
        _trust(conversion["webhook"])
        several = len(definition.spec.versions) > 1
        tree["spec"]["conversion"] = When(_WEBHOOK, conversion, otherwise={"strategy": "None"} if several else None)
    if annotations:
        tree["metadata"]["annotations"] = annotations | added
    else:
        condition = conditions[0] if len(conditions) == 1 else f"or {' '.join(conditions)}"
        tree["metadata"]["annotations"] = When(condition, added)
    return tree


def _configurations(project: Project) -> Iterator[dict[str, Any]]:
    for configuration in webhook_configurations(_as(project, certificates="self-managed")):
        tree = _tree(configuration)
        tree["metadata"]["annotations"] = When(_with("cert-manager"), injected_from(project))
        for webhook in tree["webhooks"]:
            # The first member of an element precedes anything conditional: admissionReviewVersions.
            _trust(webhook)
        yield tree


def _trust(webhook: dict[str, Any]) -> None:
    """Makes the trusted CA a value if certificates come from files."""
    given = f"and (eq .Values.webhook.certificates {json.dumps('files')}) .Values.webhook.caBundle"
    webhook["clientConfig"]["caBundle"] = When(given, Value(".Values.webhook.caBundle | quote"))


def _with(way: Certificates) -> str:
    return f'and {_WEBHOOK} (eq .Values.webhook.certificates "{way}")'


def _chart(project: Project) -> dict[str, Any]:
    kinds = sorted({kind.__resource__.kind for kind in project.kinds or ()})
    of = f" for {', '.join(kinds)}" if kinds else ""
    return {
        "apiVersion": "v2",
        "name": project.name,
        "description": f"The operator {project.name}{of}.",
        "type": "application",
        "version": project.version,
        "appVersion": project.version,
        "kubeVersion": _KUBERNETES,
    }


def _schema_file(project: Project) -> File:
    # JSON has no comments; the mark is a member on the first line.
    text = json.dumps(values_schema(project), indent=2).removeprefix("{\n")
    return File("values.schema.json", f'{{"$comment": {json.dumps(MARK)},\n{text}\n')


def _file(path: str, documents: list[str]) -> File:
    return text_file(path, "---\n".join(documents), before="{{- /* ", after=" */ -}}")


def _tree(obj: Object) -> dict[str, Any]:
    content: dict[str, Any] = to_dict(obj)
    content.pop("status", None)
    return content


def _with_holes(project: Project) -> Project:
    """Returns the project with names that Helm fills in, with all parts disabled, and with no settings of the pod.

    An operator that watches its own namespace watches the release's.
    """
    program = copy.copy(project.operator)
    watched = (hole("namespace") if name == project.namespace else name for name in program.namespaces)
    program.settings = replace(program.settings, namespaces=tuple(watched))
    return _as(
        project,
        operator=program,
        prefix=hole("fullname"),
        namespace=hole("namespace"),
        certificate_secret=hole("secret"),
        metrics_secret=hole("metricssecret"),
        image=hole("image"),
        replicas=1,
        ca_bundle=None,
        **{one.name: getattr(_NO_SETTINGS, one.name) for one in fields(PodSettings)},
    )


def _as(project: Project, **settings: object) -> Project:
    """Returns the project with other settings without validation: placeholders are not valid names."""
    made = copy.copy(project)
    for name, value in settings.items():
        object.__setattr__(made, name, value)
    return made


class _Writer:
    """Writes the documents of a template, with the placeholders of its chart."""

    def __init__(self, project: Project) -> None:
        name = project.name
        self._holes: Mapping[str, str] = {
            "fullname": f'include "{name}.fullname" .',
            "image": f'include "{name}.image" .',
            "secret": f'include "{name}.webhookSecret" .',
            "metricssecret": f'include "{name}.metricsSecret" .',
            "namespace": ".Release.Namespace",
        }

    def __call__(self, *documents: Object | Mapping[str, Any], when: str = "") -> list[str]:
        trees: Iterable[Mapping[str, Any]] = (_tree(one) if isinstance(one, Object) else one for one in documents)
        return [template(tree, self._holes, when=when) for tree in trees]
