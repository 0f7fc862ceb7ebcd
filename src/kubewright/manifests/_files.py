"""The files of definitions and roles, in the layout of kubebuilder's `config/`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from kubewright.api import Object, apiextensions, info_of, rbac, to_dict
from kubewright.manifests._rules import kind_roles_of, roles_of, service_account_of
from kubewright.manifests._write import File, yaml_file
from kubewright.operator import Operator

__all__ = ["MOST_ANNOTATIONS", "applied_size", "crd_files", "kustomization", "people_roles", "rbac_files"]

MOST_ANNOTATIONS = 262_144
"""The limit of the annotations of an object, in bytes."""

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def crd_files(crds: Iterable[apiextensions.CustomResourceDefinition], *, converted: Collection[str] = ()) -> list[File]:
    """Returns `crd/bases/<group>_<plural>.yaml` for each definition, and `crd/kustomization.yaml`; nothing for none.

    `converted` names definitions whose objects a program converts. Its address is not known here, so these files do not
    contain the conversion: applying them keeps an existing one.
    """
    files = [
        yaml_file(f"crd/bases/{crd.spec.group}_{crd.spec.names.plural}.yaml", _silent_of_conversion(crd, converted))
        for crd in crds
    ]
    return [*files, *kustomization("crd", files)]


def _silent_of_conversion(
    crd: apiextensions.CustomResourceDefinition, converted: Collection[str]
) -> apiextensions.CustomResourceDefinition:
    said = crd.spec.conversion
    if said is None or said.webhook is not None or crd.metadata.name not in converted:
        return crd
    return replace(crd, spec=replace(crd.spec, conversion=None))


def rbac_files(
    operators: Sequence[Operator], kinds: Iterable[type[Object]] = (), *, namespace: str | None = None
) -> list[File]:
    """Returns `rbac/`: account, roles and bindings for each operator; viewer, editor and admin roles for each kind.

    The files of several operators are in folders named after them.
    """
    files: list[File] = []
    for operator in operators:
        folder = "rbac" if len(operators) == 1 else f"rbac/{operator.name}"
        made = roles_of(operator, namespace=namespace)
        files.append(yaml_file(f"{folder}/service_account.yaml", service_account_of(operator, namespace=namespace)))
        if made.roles:
            files.append(yaml_file(f"{folder}/role.yaml", *made.roles))
            files.append(yaml_file(f"{folder}/role_binding.yaml", *made.bindings))
    files += _kind_files(kinds)
    return [*files, *kustomization("rbac", files)]


def _kind_files(kinds: Iterable[type[Object]]) -> Iterator[File]:
    for name, role in people_roles(kinds):
        yield yaml_file(f"rbac/{name}_role.yaml", role)


def people_roles(kinds: Iterable[type[Object]]) -> Iterator[tuple[str, rbac.ClusterRole]]:
    """Returns viewer, editor and admin of each kind, each with a name for its file."""
    # One for all versions, because RBAC has no versions. The version with the most subresources is used.
    newest: dict[str, type[Object]] = {}
    for kind in kinds:
        name = f"{info_of(kind).group}_{info_of(kind).plural}"
        if name not in newest or len(info_of(kind).subresources) > len(info_of(newest[name]).subresources):
            newest[name] = kind
    for name, kind in sorted(newest.items()):
        for role in kind_roles_of(kind):
            yield f"{name}_{role.metadata.name.rpartition('-')[2]}", role


def kustomization(folder: str, files: Sequence[File]) -> list[File]:
    """Returns the kustomization of files below a folder; nothing for none."""
    if not files:
        return []
    content = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": sorted(file.path.removeprefix(f"{folder}/") for file in files),
    }
    return [yaml_file(f"{folder}/kustomization.yaml", content)]


def applied_size(crd: apiextensions.CustomResourceDefinition) -> int:
    """Returns the bytes of annotations that the definition has after a client-side `kubectl apply`."""
    content = to_dict(crd)
    content.pop("status", None)
    own = sum(len(name.encode()) + len(value.encode()) for name, value in crd.metadata.annotations.items())
    return own + len(_LAST_APPLIED) + len(msgspec.json.encode(content)) + 1  # kubectl adds a line break
