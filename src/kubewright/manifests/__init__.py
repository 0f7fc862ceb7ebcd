"""The files of a deployment, from the program: definitions, roles, and what runs the operator.

Every part makes `File`s (`yaml_file("crd/bases/...", document)`), in memory; `write` puts a set of them into a folder,
all or none, and `compare` says how a folder differs from it. The same program always gives the same bytes.

- `crd_files(crds)`: a file for each CustomResourceDefinition (of `kubewright.crd.crds_of`), and the kustomization;
- `rbac_files(operator)`: service account, roles and bindings, with the rules that follow from what the operator
  declares (`roles_of`, `rules_of`), and viewer, editor and admin of each kind of its own (`kind_roles_of`);
- `load(targets)`: the kinds and operators of files and modules.

The names of everything generated for an operator are its own name, the namespace is `system_namespace` unless given,
the labels are `labels_of`.
"""

from __future__ import annotations

from kubewright.manifests._files import MOST_ANNOTATIONS, applied_size, crd_files, kustomization, rbac_files
from kubewright.manifests._program import Program, load
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

__all__ = [
    "MARK",
    "MOST_ANNOTATIONS",
    "Drift",
    "File",
    "ForeignFile",
    "Program",
    "Roles",
    "Written",
    "applied_size",
    "compare",
    "crd_files",
    "kind_roles_of",
    "kustomization",
    "labels_of",
    "load",
    "rbac_files",
    "roles_of",
    "rules_of",
    "service_account_of",
    "system_namespace",
    "text_file",
    "write",
    "yaml_file",
]
