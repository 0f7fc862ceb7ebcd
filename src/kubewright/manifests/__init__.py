"""The files and objects of a deployment, generated from the program.

Every generator returns `File`s in memory. `write` puts a set of them into a folder, all or none; `compare` reports
how a folder differs from a set. The same program always gives the same bytes.

- `load(targets)` returns the kinds and operators of files and modules, as a `Program`.
- `crd_files(crds)` returns a file for each CustomResourceDefinition, and the kustomization.
- `rbac_files(operators, kinds)` returns the service account, roles and bindings. The rules follow from what an
  operator declares (`roles_of`, `rules_of`). Each kind gets a viewer, an editor and an admin role (`kind_roles_of`).
- `policy_files(kinds)` returns the CEL rules of each kind as a ValidatingAdmissionPolicy (`policies_of`), for clusters
  that keep rules apart from definitions.
- `schema_files(crds)` returns a JSON schema for each version of each kind, for editors.

A `Project` is an operator and the settings of its deployment; `project_of` finds the one of a program.
`objects(project)` returns all its objects, typed, in the order in which they can be applied.
`kustomize_files(project)` and `chart_files(project)` return the same objects as a kustomize tree and as a Helm chart.
Webhooks are declared (`WebhookDeclaration` with `rule_for`, `ConversionDeclaration`), and the API server's
configurations follow from the declarations. `webhook_definitions(project)` returns them for the Operator Lifecycle
Manager. The objects around the Deployment are in `kubewright.manifests.manager`.

Generated objects are named after the operator and carry `labels_of` it. Their namespace is `system_namespace` by
default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.manifests._files import MOST_ANNOTATIONS, applied_size, crd_files, kustomization, rbac_files
    from kubewright.manifests._image import Image
    from kubewright.manifests._json_schemas import SCHEMA_FOLDER, schema_files
    from kubewright.manifests._kustomize import (
        KUSTOMIZE_FOLDERS,
        has_kustomize_tree,
        kustomize_files,
        kustomize_image,
    )
    from kubewright.manifests._objects import objects, webhook_configurations
    from kubewright.manifests._olm_webhooks import webhook_definitions
    from kubewright.manifests._package import project_of
    from kubewright.manifests._policies import Policies, policies_of, policy_files
    from kubewright.manifests._program import Program, load
    from kubewright.manifests._project import Project
    from kubewright.manifests._rules import (
        Roles,
        kind_roles_of,
        labels_of,
        roles_of,
        rules_of,
        service_account_of,
        system_namespace,
    )
    from kubewright.manifests._write import (
        MARK,
        Drift,
        File,
        ForeignFile,
        Written,
        compare,
        is_generated,
        text_file,
        write,
        yaml_file,
    )
    from kubewright.manifests.helm import chart_files
    from kubewright.webhook import ConversionDeclaration, WebhookDeclaration, rule_for

__all__ = [
    "KUSTOMIZE_FOLDERS",
    "MARK",
    "MOST_ANNOTATIONS",
    "SCHEMA_FOLDER",
    "ConversionDeclaration",
    "Drift",
    "File",
    "ForeignFile",
    "Image",
    "Policies",
    "Program",
    "Project",
    "Roles",
    "WebhookDeclaration",
    "Written",
    "applied_size",
    "chart_files",
    "compare",
    "crd_files",
    "has_kustomize_tree",
    "is_generated",
    "kind_roles_of",
    "kustomization",
    "kustomize_files",
    "kustomize_image",
    "labels_of",
    "load",
    "objects",
    "policies_of",
    "policy_files",
    "project_of",
    "rbac_files",
    "roles_of",
    "rule_for",
    "rules_of",
    "schema_files",
    "service_account_of",
    "system_namespace",
    "text_file",
    "webhook_configurations",
    "webhook_definitions",
    "write",
    "yaml_file",
]

# Imported on first use: `kubewright build` needs `Image` only, and must not wait for the rest.
_MODULES = {
    "KUSTOMIZE_FOLDERS": "_kustomize",
    "MARK": "_write",
    "MOST_ANNOTATIONS": "_files",
    "SCHEMA_FOLDER": "_json_schemas",
    "ConversionDeclaration": "kubewright.webhook",
    "Drift": "_write",
    "File": "_write",
    "ForeignFile": "_write",
    "Image": "_image",
    "Policies": "_policies",
    "Program": "_program",
    "Project": "_project",
    "Roles": "_rules",
    "WebhookDeclaration": "kubewright.webhook",
    "Written": "_write",
    "applied_size": "_files",
    "chart_files": "helm",
    "compare": "_write",
    "crd_files": "_files",
    "has_kustomize_tree": "_kustomize",
    "is_generated": "_write",
    "kind_roles_of": "_rules",
    "kustomization": "_files",
    "kustomize_files": "_kustomize",
    "kustomize_image": "_kustomize",
    "labels_of": "_rules",
    "load": "_program",
    "objects": "_objects",
    "policies_of": "_policies",
    "policy_files": "_policies",
    "project_of": "_package",
    "rbac_files": "_files",
    "roles_of": "_rules",
    "rule_for": "kubewright.webhook",
    "rules_of": "_rules",
    "schema_files": "_json_schemas",
    "service_account_of": "_rules",
    "system_namespace": "_rules",
    "text_file": "_write",
    "webhook_configurations": "_objects",
    "webhook_definitions": "_olm_webhooks",
    "write": "_write",
    "yaml_file": "_write",
}

if not TYPE_CHECKING:  # type checkers report names that do not exist
    __getattr__ = lazy_exports(__name__, _MODULES)
