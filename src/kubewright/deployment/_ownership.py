"""Determines the owner of an object in a cluster: the project, or another client.

`deploy` applies its objects with force, so it checks first that no other owner has an object with the same name.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Final

from kubewright.api import Object, apiextensions, core, info_of
from kubewright.client import Client, Forbidden
from kubewright.crd import check_change
from kubewright.manifests import Project

__all__ = [
    "FIELD_MANAGER",
    "NameTaken",
    "check_names",
    "created_by",
    "find_existing",
    "is_ours",
    "namespace_is_ours",
    "object_title",
]

FIELD_MANAGER: Final = "kubewright-deploy"


class NameTaken(Exception):
    """Objects with names that the project needs belong to another owner. The message lists them with their owners."""


async def check_names(client: Client, project: Project, wanted: Sequence[Object]) -> None:
    """Raises `NameTaken` if objects with these names exist and do not belong to the project.

    The namespace may have another owner. A definition belongs to its API group, so any project may apply it. Raises
    `InstallError` if the change would break stored objects.
    """
    taken = []
    for obj in wanted:
        if isinstance(obj, core.Namespace) or (found := await find_existing(client, obj)) is None:
            continue
        if isinstance(obj, apiextensions.CustomResourceDefinition):
            assert isinstance(found, apiextensions.CustomResourceDefinition)
            check_change(found, obj)
        elif not is_ours(found, obj, project):
            taken.append(f"{object_title(obj)} was created {created_by(found)}")
    if taken:
        raise NameTaken(f"{'; '.join(taken)}: delete it, or give the operator another name. Nothing was changed")


async def find_existing(client: Client, obj: Object) -> Object | None:
    """Returns the existing object with the same name; None if it does not exist or cannot be read."""
    with contextlib.suppress(Forbidden):
        return await client.find(type(obj), obj.metadata.name, obj.metadata.namespace or None)
    return None


def is_ours(found: Object, wanted: Object, project: Project) -> bool:
    """Whether an existing object belongs to the project: it has the project's labels, or `deploy` wrote it.

    Roles for users have the labels of their kind instead of the project's.
    """
    of_project = wanted.metadata.labels.items() & project.labels.items()
    return _has_labels(found, dict(of_project) or wanted.metadata.labels) or FIELD_MANAGER in _managers(found)


def namespace_is_ours(namespace: core.Namespace, project: Project) -> bool:
    """Whether `deploy` created a namespace, so that `undeploy` may delete it."""
    return _has_labels(namespace, project.labels)


def created_by(obj: Object) -> str:
    """Returns the creator of an object, from its field managers and labels: `by kubectl-create (managed by Helm)`."""
    creator = f"by {' and '.join(_managers(obj)) or 'an unknown client'}"
    by = obj.metadata.labels.get("app.kubernetes.io/managed-by")
    name = obj.metadata.labels.get("app.kubernetes.io/name")
    labels = [*([f"managed by {by}"] if by else ()), *([f"part of {name}"] if name else ())]
    return f"{creator} ({', '.join(labels)})" if labels else creator


def object_title(obj: Object) -> str:
    """Returns the kind and name of an object: `Deployment guestbook-system/guestbook`."""
    metadata = obj.metadata
    where = f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name
    return f"{info_of(type(obj)).kind} {where}"


def _has_labels(obj: Object, labels: Mapping[str, str]) -> bool:
    return all(obj.metadata.labels.get(name) == value for name, value in labels.items())


def _managers(obj: Object) -> list[str]:
    """Returns the field managers, except those of the status: controllers write it."""
    entries = [entry for entry in obj.metadata.managed_fields if entry.manager and not entry.subresource]
    return list(dict.fromkeys(entry.manager or "" for entry in entries))
