"""The kustomize tree of a project, in the layout of kubebuilder's `config/`.

`crd`, `rbac` and `manager` are bases: the operator without metrics and webhooks. Every optional part is a component,
which adds objects and patches those of the bases. `default` combines the parts of the project. Names are final in every
file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from kubewright.api import Object, to_dict
from kubewright.crd import crds_of, to_yaml
from kubewright.manifests._files import crd_files, rbac_files
from kubewright.manifests._image import Image
from kubewright.manifests._objects import definitions, policy_of, webhook_configurations
from kubewright.manifests._project import Project, definition_name
from kubewright.manifests._write import File, is_generated, text_file, yaml_file
from kubewright.manifests.manager._access import certificate_access
from kubewright.manifests.manager._certificates import (
    cert_manager_objects,
    certificate_addition,
    injected_from,
    metrics_cert_manager_objects,
)
from kubewright.manifests.manager._deployment import Addition, budget, deployment, namespace
from kubewright.manifests.manager._metrics import metrics_access, metrics_additions, metrics_service, service_monitor
from kubewright.manifests.manager._webhooks import webhook_addition, webhook_service
from kubewright.yaml import load_yaml

__all__ = ["KUSTOMIZE_FOLDERS", "has_kustomize_tree", "kustomize_files", "kustomize_image"]

KUSTOMIZE_FOLDERS: Final = frozenset(
    [
        "certmanager",
        "crd",
        "default",
        "manager",
        "metrics",
        "network-policy",
        "policy",
        "prometheus",
        "rbac",
        "schema",
        "webhook",
    ]
)
"""All folders that may contain files of a kustomize tree, or of definitions, roles, policies and schemas."""

_PLACEHOLDER: Final = "controller"
"""The image in the Deployment, which `images:` replaces: `kustomize edit set image controller=...`."""

_MANAGER_PATCH: Final = "manager_patch.yaml"


def has_kustomize_tree(folder: Path) -> bool:
    """Whether a folder has a generated kustomize tree, not only definitions and roles."""
    return is_generated(folder / "default" / "kustomization.yaml")


def kustomize_image(folder: Path) -> str | None:
    """Returns the image of the kustomize tree in a folder, as it was generated or edited; None if there is none."""
    try:
        content = load_yaml((folder / "manager" / "kustomization.yaml").read_bytes())
        [image] = [one for one in content["images"] if one["name"] == _PLACEHOLDER]
        name = str(image["newName"])
    except (OSError, ValueError, KeyError, TypeError):  # also YAML that cannot be read
        return None
    tag, digest = image.get("newTag"), image.get("digest")
    return name + (f":{tag}" if tag else "") + (f"@{digest}" if digest else "")


def kustomize_files(project: Project) -> list[File]:
    """Returns all files below a folder, usually `config`. `kubectl apply -k config/default` deploys them."""
    bases = [*_crd(project), *_rbac(project), *_manager(project)]
    components = [
        *(_metrics(project) if project.metrics else ()),
        *(_prometheus(project) if project.service_monitor else ()),
        *(_webhook(project) if project.serves_webhooks else ()),
        *(_certmanager(project) if project.serves_webhooks and project.certificates == "cert-manager" else ()),
        *(_network_policy(project) if project.network_policy else ()),
    ]
    default = {"resources": _folders(bases), "components": _folders(components)}
    return [*bases, *components, _kustomization("default", "Kustomization", **default)]


def _crd(project: Project) -> list[File]:
    converted = {definition_name(conversion.kind) for conversion in project.conversions}
    return crd_files(crds_of(*(project.kinds or ()), descriptions=project.descriptions), converted=converted)


def _rbac(project: Project) -> list[File]:
    return rbac_files([project.operator], project.user_kinds, namespace=project.namespace)


def _manager(project: Project) -> list[File]:
    files = [
        yaml_file("manager/namespace.yaml", namespace(project)),
        yaml_file("manager/manager.yaml", deployment(replace(project, image=_PLACEHOLDER))),
    ]
    if project.replicas > 1:
        files.append(yaml_file("manager/pod_disruption_budget.yaml", budget(project)))
    image = Image.parse(project.image)
    replaced = {"name": _PLACEHOLDER, "newName": image.repository, "newTag": image.tag, "digest": image.digest}
    images = [{member: text for member, text in replaced.items() if text}]
    return [*files, _kustomization("manager", "Kustomization", resources=_names(files), images=images)]


def _metrics(project: Project) -> list[File]:
    files = [yaml_file("metrics/service.yaml", metrics_service(project))]
    if project.metrics_secure:
        files.append(yaml_file("metrics/role.yaml", *metrics_access(project)))
    if project.metrics_certificates == "cert-manager":
        files.append(yaml_file("metrics/certificate.yaml", *metrics_cert_manager_objects(project)))
    return _component("metrics", files, _manager_patch(project, "metrics", metrics_additions(project)))


def _prometheus(project: Project) -> list[File]:
    return _component("prometheus", [yaml_file("prometheus/monitor.yaml", service_monitor(project))])


def _network_policy(project: Project) -> list[File]:
    return _component("network-policy", [yaml_file("network-policy/policy.yaml", policy_of(project))])


def _webhook(project: Project) -> list[File]:
    # cert-manager's component adds its annotations.
    plain = replace(project, certificates="self-managed") if _is_injected(project) else project
    files = [yaml_file("webhook/service.yaml", webhook_service(plain))]
    if made := webhook_configurations(plain):
        files.append(yaml_file("webhook/manifests.yaml", *made))
    additions = [webhook_addition(project)]
    if not _is_injected(project):
        additions.append(certificate_addition(project))
    if project.certificates == "self-managed":
        files.append(yaml_file("webhook/certificate_role.yaml", *certificate_access(project)))
    patches = [
        _json_patch(
            f"webhook/conversion_of_{definition.spec.group}_{definition.spec.names.plural}_patch.yaml",
            definition,
            [{"op": "add", "path": "/spec/conversion", "value": to_dict(definition.spec.conversion)}],
        )
        for definition in definitions(plain)
        if definition.spec.conversion and definition.spec.conversion.webhook
    ]
    return _component("webhook", files, *patches, _manager_patch(project, "webhook", additions))


def _certmanager(project: Project) -> list[File]:
    files = [yaml_file("certmanager/certificate.yaml", *cert_manager_objects(project))]
    annotated = [
        *(one for one in definitions(project) if injected_from(project).items() <= one.metadata.annotations.items()),
        *webhook_configurations(project),
    ]
    patches = [
        (
            yaml_file(
                f"certmanager/ca_in_{one.kind.lower()}_{one.metadata.name}_patch.yaml",
                {
                    "apiVersion": one.api_version,
                    "kind": one.kind,
                    "metadata": {"name": one.metadata.name, "annotations": injected_from(project)},
                },
            ),
            one,
        )
        for one in annotated
    ]
    return _component(
        "certmanager", files, *patches, _manager_patch(project, "certmanager", [certificate_addition(project)])
    )


def _is_injected(project: Project) -> bool:
    return project.certificates == "cert-manager"


def _manager_patch(project: Project, folder: str, additions: Iterable[Addition]) -> tuple[File, Object]:
    """Returns the patch that adds a part to the Deployment."""
    operations = [
        {"op": "add", "path": f"/spec/template/spec/{'/'.join(str(step) for step in path)}/-", "value": value}
        for addition in additions
        for path, values in addition.by_place()
        for value in values
    ]
    return _json_patch(f"{folder}/{_MANAGER_PATCH}", deployment(project), operations)


def _json_patch(path: str, target: Object, operations: Sequence[Mapping[str, Any]]) -> tuple[File, Object]:
    # `to_yaml` writes mappings: the list below a member looks like a list of its own.
    _, _, text = to_yaml({"operations": operations}).partition("\n")
    return text_file(path, text), target


def _component(folder: str, files: Sequence[File], *patches: tuple[File, Object]) -> list[File]:
    named = [
        {"path": file.path.partition("/")[2], "target": {"kind": target.kind, "name": target.metadata.name}}
        for file, target in patches
    ]
    content: dict[str, Any] = {"resources": _names(files), **({"patches": named} if named else {})}
    return [*files, *(file for file, _ in patches), _kustomization(folder, "Component", **content)]


def _kustomization(folder: str, kind: str, **content: Any) -> File:
    version = {"Kustomization": "v1beta1", "Component": "v1alpha1"}[kind]
    head = {"apiVersion": f"kustomize.config.k8s.io/{version}", "kind": kind}
    return yaml_file(f"{folder}/kustomization.yaml", head | {name: value for name, value in content.items() if value})


def _names(files: Iterable[File]) -> list[str]:
    return sorted(file.path.partition("/")[2] for file in files)


def _folders(files: Iterable[File]) -> list[str]:
    """Returns the folders of these files relative to `default`, in the order in which components are applied."""
    return list(dict.fromkeys(f"../{file.path.partition('/')[0]}" for file in files))
