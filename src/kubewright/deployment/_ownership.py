"""Whose an object in a cluster is: the project's, or that of somebody who had the name first.

`deploy` applies with force, since what it has made is its own. For the same reason it must not touch anything else:
before it writes, it looks whether its names are free.
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
    "in_cluster",
    "is_ours",
    "namespace_is_ours",
    "object_title",
    "whose",
]

FIELD_MANAGER: Final = "kubewright-deploy"


class NameTaken(Exception):
    """Objects of somebody else have names that the project needs; the text says which, and whose they are."""


async def check_names(client: Client, project: Project, wanted: Sequence[Object]) -> None:
    """Raise `NameTaken` when objects have the names that are not of this project.

    The namespace may be somebody else's. Definitions belong to whoever has the group: `InstallError` is raised for one
    whose stored objects would be broken.
    """
    taken = []
    for obj in wanted:
        if isinstance(obj, core.Namespace) or (found := await in_cluster(client, obj)) is None:
            continue
        if isinstance(obj, apiextensions.CustomResourceDefinition):
            assert isinstance(found, apiextensions.CustomResourceDefinition)
            check_change(found, obj)
        elif not is_ours(found, obj, project):
            taken.append(f"{object_title(obj)} is taken {whose(found)}")
    if taken:
        raise NameTaken(
            f"{'; '.join(taken)}: remove what is there, or give the operator another name. Nothing was changed"
        )


async def in_cluster(client: Client, obj: Object) -> Object | None:
    """The object of that name, if there is one and we may look."""
    with contextlib.suppress(Forbidden):
        return await client.find(type(obj), obj.metadata.name, obj.metadata.namespace or None)
    return None


def is_ours(found: Object, wanted: Object, project: Project) -> bool:
    """Whether the object that is there is the one that is wanted: by its labels, or since `deploy` has written it.

    It need only have the labels of the project. The roles for people have none of these: they belong to the kind.
    """
    of_project = wanted.metadata.labels.items() & project.labels.items()
    return _has(found, dict(of_project) or wanted.metadata.labels) or FIELD_MANAGER in _managers(found)


def namespace_is_ours(namespace: core.Namespace, project: Project) -> bool:
    """Whether `deploy` has made a namespace, so that it may be removed with the rest."""
    return _has(namespace, project.labels)


def whose(obj: Object) -> str:
    """Who has made an object, as far as it says: `by kubectl-create (managed by Helm)`."""
    told = f"by {' and '.join(_managers(obj)) or 'somebody who does not say so'}"
    by = obj.metadata.labels.get("app.kubernetes.io/managed-by")
    name = obj.metadata.labels.get("app.kubernetes.io/name")
    labelled = [*([f"managed by {by}"] if by else ()), *([f"a part of {name}"] if name else ())]
    return f"{told} ({', '.join(labelled)})" if labelled else told


def object_title(obj: Object) -> str:
    """An object as people name it: `Deployment guestbook-system/guestbook`."""
    metadata = obj.metadata
    where = f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name
    return f"{info_of(type(obj)).kind} {where}"


def _has(obj: Object, labels: Mapping[str, str]) -> bool:
    return all(obj.metadata.labels.get(name) == value for name, value in labels.items())


def _managers(obj: Object) -> list[str]:
    """Who has written it, the status left out, which controllers write."""
    entries = [entry for entry in obj.metadata.managed_fields if entry.manager and not entry.subresource]
    return list(dict.fromkeys(entry.manager or "" for entry in entries))
