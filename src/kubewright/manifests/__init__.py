"""The files of a deployment, from the program: definitions, roles, and what runs the operator.

Every part makes `File`s (`yaml_file("crd/bases/...", document)`), in memory; `write` puts a set of them into a folder,
all or none, and `compare` says how a folder differs from it. The same program always gives the same bytes.

- `crd_files(crds)`: a file for each CustomResourceDefinition (of `kubewright.crd.crds_of`), and the kustomization;
- `rbac_files(operators, kinds)`: service account, roles and bindings, with the rules that follow from what an operator
  declares (`roles_of`, `rules_of`), and viewer, editor and admin of each kind (`kind_roles_of`);
- `policy_files(kinds)`: the CEL rules of each kind as a ValidatingAdmissionPolicy (`policies_of`), for whoever wants
  them apart from the definition;
- `load(targets)`: the kinds and operators of files and modules.

What is deployed is one model, `Project`: an operator and the settings of its deployment. `objects(project)` is every
object of it, typed, in the order in which they can be applied; `kustomize_files(project)` and `chart_files(project)`
are the same as a kustomize tree and as a Helm chart. Webhooks are declared (`WebhookDeclaration`, with `rule_for`;
`ConversionDeclaration`), and the API server's configurations follow from that; `webhook_definitions(project)` is
the same for the Operator Lifecycle Manager.

The names of everything generated for an operator are its own name, the namespace is `system_namespace` unless given,
the labels are `labels_of`.
"""

from __future__ import annotations

from kubewright.manifests._files import MOST_ANNOTATIONS, applied_size, crd_files, kustomization, rbac_files
from kubewright.manifests._helm import chart_files
from kubewright.manifests._image import Image
from kubewright.manifests._kustomize import kustomize_files
from kubewright.manifests._objects import objects
from kubewright.manifests._olm_webhooks import webhook_definitions
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
    text_file,
    write,
    yaml_file,
)
from kubewright.webhook import ConversionDeclaration, WebhookDeclaration, rule_for

__all__ = [
    "MARK",
    "MOST_ANNOTATIONS",
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
    "kind_roles_of",
    "kustomization",
    "kustomize_files",
    "labels_of",
    "load",
    "objects",
    "policies_of",
    "policy_files",
    "rbac_files",
    "roles_of",
    "rule_for",
    "rules_of",
    "service_account_of",
    "system_namespace",
    "text_file",
    "webhook_definitions",
    "write",
    "yaml_file",
]
