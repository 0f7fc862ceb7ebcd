"""`deploy`: every object of a project, applied."""

from __future__ import annotations

from collections.abc import Callable

from kubewright.api import apiextensions, core
from kubewright.client import Client
from kubewright.crd import wait_for_definition
from kubewright.deployment._ownership import (
    FIELD_MANAGER,
    check_names,
    in_cluster,
    namespace_is_ours,
    object_title,
    whose,
)
from kubewright.deployment._serving import check_served
from kubewright.manifests import Project, objects

__all__ = ["ReportStep", "deploy"]

ReportStep = Callable[[str, str], None]
"""Told of each step: what was done (`applied`, `removed`, `kept`), and to which object."""

_SERVED_WITHIN = 30.0


async def deploy(client: Client, project: Project, report: ReportStep) -> None:
    """Apply every object of a project. Definitions are served before anything else needs them.

    Raises `NameTaken`, before anything is written, when an object of somebody else has a name that is needed, and
    `NotServed` when the cluster lacks a kind, such as cert-manager's. A namespace that is there already stays as it is.
    """
    everything = objects(project)
    await check_served(client, everything)
    await check_names(client, project, everything)
    applying = client.writing_as(FIELD_MANAGER)
    for obj in everything:
        if isinstance(obj, core.Namespace) and (kept := await _of_somebody_else(client, obj, project)) is not None:
            report("kept", f"{object_title(obj)}, which was made {whose(kept)}")
            continue
        await applying.apply(obj, force=True)
        report("applied", object_title(obj))
        if isinstance(obj, apiextensions.CustomResourceDefinition):
            await wait_for_definition(client, obj.metadata.name, obj.spec.names.kind, _SERVED_WITHIN)


async def _of_somebody_else(client: Client, namespace: core.Namespace, project: Project) -> core.Namespace | None:
    """The namespace as it is, if there is one that `deploy` has not made."""
    found = await in_cluster(client, namespace)
    if not isinstance(found, core.Namespace) or namespace_is_ours(found, project):
        return None
    return found
