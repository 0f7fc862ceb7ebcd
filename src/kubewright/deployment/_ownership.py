"""The owner of an object in a cluster: the project, or another client.

`deploy` applies with force, because its objects are its own. It therefore checks first that no other owner has an
object of the same name.
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
    "in_cluster",
    "is_ours",
    "namespace_is_ours",
    "object_title",
]

FIELD_MANAGER: Final = "kubewright-deploy"


class NameTaken(Exception):
    """Objects with names that the project needs belong to another owner. The message lists them with their owners."""


async def check_names(client: Client, project: Project, wanted: Sequence[Object]) -> None:
    """Raises `NameTaken` if objects with these names exist that are not the project's.

    The namespace may have another owner. Definitions belong to the group: `InstallError` is raised for a change that
    would break stored objects.
    """
    taken = []
    for obj in wanted:
        if isinstance(obj, core.Namespace) or (found := await in_cluster(client, obj)) is None:
            continue
        if isinstance(obj, apiextensions.CustomResourceDefinition):
            assert isinstance(found, apiextensions.CustomResourceDefinition)
            check_change(found, obj)
        elif not is_ours(found, obj, project):
            taken.append(f"{object_title(obj)} was created {created_by(found)}")
    if taken:
        raise NameTaken(f"{'; '.join(taken)}: delete it, or give the operator another name. Nothing was changed")


async def in_cluster(client: Client, obj: Object) -> Object | None:
    """Returns the object of that name; None if it does not exist or cannot be read."""
    with contextlib.suppress(Forbidden):
        return await client.find(type(obj), obj.metadata.name, obj.metadata.namespace or None)
    return None


def is_ours(found: Object, wanted: Object, project: Project) -> bool:
    """Whether an existing object is the project's: it has the project's labels, or `deploy` has written it.

    The roles for users have labels of the kind instead of the project.
    """
    of_project = wanted.metadata.labels.items() & project.labels.items()
    return _has(found, dict(of_project) or wanted.metadata.labels) or FIELD_MANAGER in _managers(found)


def namespace_is_ours(namespace: core.Namespace, project: Project) -> bool:
    """Whether `deploy` created a namespace, so that it may be deleted with the rest."""
    return _has(namespace, project.labels)


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


def _has(obj: Object, labels: Mapping[str, str]) -> bool:
    return all(obj.metadata.labels.get(name) == value for name, value in labels.items())


def _managers(obj: Object) -> list[str]:
    """Returns the field managers, except those of the status, which controllers write."""
    entries = [entry for entry in obj.metadata.managed_fields if entry.manager and not entry.subresource]
    return list(dict.fromkeys(entry.manager or "" for entry in entries))
