"""`deploy`: applies every object of a project."""

from __future__ import annotations

from collections.abc import Callable

from kubewright.api import apiextensions, core
from kubewright.client import Client
from kubewright.crd import wait_for_definition
from kubewright.deployment._ownership import (
    FIELD_MANAGER,
    check_names,
    created_by,
    find_existing,
    namespace_is_ours,
    object_title,
)
from kubewright.deployment._serving import check_served
from kubewright.manifests import Project, objects

__all__ = ["ReportStep", "deploy"]

ReportStep = Callable[[str, str], None]
"""Called for each step with the action (`applied`, `removed`, `kept`) and the object."""

_SERVED_TIMEOUT_SECONDS = 30.0


async def deploy(client: Client, project: Project, report: ReportStep) -> None:
    """Applies every object of a project. Waits until definitions are served before other objects need them.

    Raises `NameTaken`, before anything is written, if an object with a required name belongs to another owner. Raises
    `NotServed` if the cluster lacks a kind, such as cert-manager's. Does not change an existing namespace.
    """
    everything = objects(project)
    await check_served(client, everything)
    await check_names(client, project, everything)
    applying = client.writing_as(FIELD_MANAGER)
    for obj in everything:
        if isinstance(obj, core.Namespace) and (kept := await _foreign_namespace(client, obj, project)) is not None:
            report("kept", f"{object_title(obj)}, which was created {created_by(kept)}")
            continue
        await applying.apply(obj, force=True)
        report("applied", object_title(obj))
        if isinstance(obj, apiextensions.CustomResourceDefinition):
            await wait_for_definition(client, obj.metadata.name, obj.spec.names.kind, _SERVED_TIMEOUT_SECONDS)


async def _foreign_namespace(client: Client, namespace: core.Namespace, project: Project) -> core.Namespace | None:
    """Returns the namespace if it exists and `deploy` did not create it."""
    found = await find_existing(client, namespace)
    if not isinstance(found, core.Namespace) or namespace_is_ours(found, project):
        return None
    return found
