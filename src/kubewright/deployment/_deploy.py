"""`deploy`: every object of a project, applied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kubewright.api import Object, apiextensions, core, info_of, is_condition_true
from kubewright.client import Client
from kubewright.manifests import Project, objects

__all__ = ["FIELD_MANAGER", "Say", "deploy", "namespace_is_ours", "title"]

FIELD_MANAGER: Final = "kubewright-deploy"

Say = Callable[[str, str], None]
"""Told of each step: what was done (`applied`, `removed`, `kept`), and to which object."""


async def deploy(client: Client, project: Project, say: Say) -> None:
    """Apply every object of a project. Definitions are served before anything else needs them."""
    applying = client.writing_as(FIELD_MANAGER)
    for obj in objects(project):
        await applying.apply(obj, force=True)
        say("applied", title(obj))
        if isinstance(obj, apiextensions.CustomResourceDefinition):
            await client.wait_for(apiextensions.CustomResourceDefinition, obj.metadata.name or "", _is_served)


def _is_served(definition: apiextensions.CustomResourceDefinition) -> bool:
    return is_condition_true(definition.status, "Established")


def namespace_is_ours(namespace: core.Namespace, project: Project) -> bool:
    """Whether `deploy` has made a namespace, so that it may be removed with the rest."""
    labels = namespace.metadata.labels or {}
    return all(labels.get(name) == value for name, value in project.labels.items())


def title(obj: Object) -> str:
    """An object as people name it: `Deployment guestbook-system/guestbook`."""
    metadata = obj.metadata
    where = f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name
    return f"{info_of(type(obj)).kind} {where}"
