"""`undeploy` and `uninstall`: delete deployed objects from a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from kubewright.api import Object, apiextensions, core
from kubewright.client import Client, NotFound
from kubewright.crd import describe_blockers, objects_with_finalizers
from kubewright.deployment._deploy import ReportStep
from kubewright.deployment._ownership import created_by, is_ours, namespace_is_ours, object_title
from kubewright.durations import Duration, check_duration, format_duration
from kubewright.manifests import Project, objects

__all__ = ["StillThere", "undeploy", "uninstall"]

Definition = apiextensions.CustomResourceDefinition


class StillThere(Exception):
    """Deleted objects still exist. The message says what blocks their deletion."""


async def uninstall(
    client: Client, definitions: Sequence[Definition], report: ReportStep, *, timeout: Duration = 60.0
) -> None:
    """Deletes definitions and all their objects, and waits until they are gone.

    Objects with finalizers wait for their operator. If it does not finalize them in time, `StillThere` names them.
    """
    seconds = check_duration("timeout", timeout)
    going = [definition for definition in definitions if await _request_deletion(client, definition, report)]
    try:
        async with asyncio.timeout(seconds):
            for definition in going:
                await _wait_until_deleted(client, definition)
                report("removed", object_title(definition))
    except TimeoutError:
        held = [text for definition in going for text in await objects_with_finalizers(client, definition)]
        raise StillThere(
            f"the definitions still exist after {format_duration(seconds)}: {describe_blockers(held)}"
        ) from None


async def undeploy(client: Client, project: Project, report: ReportStep, *, timeout: Duration = 60.0) -> None:
    """Deletes everything that `deploy` creates: definitions first, while the operator can finalize, then the rest."""
    everything = objects(project)
    await uninstall(client, [obj for obj in everything if isinstance(obj, Definition)], report, timeout=timeout)
    for obj in reversed(everything):
        if not isinstance(obj, Definition) and await _may_remove(client, obj, project, report):
            await _delete(client, obj, report)


async def _may_remove(client: Client, obj: Object, project: Project, report: ReportStep) -> bool:
    found = await client.find(type(obj), obj.metadata.name, obj.metadata.namespace or None)
    if found is None:
        return True  # `_delete` reports it as absent
    if isinstance(found, core.Namespace):
        ours, why = namespace_is_ours(found, project), "which does not have the labels of this project"
    else:
        ours = is_ours(found, obj, project)
        why = f"which does not belong to this project, but was created {created_by(found)}"
    if not ours:
        report("kept", f"{object_title(obj)}, {why}")
    return ours


async def _delete(client: Client, obj: Object, report: ReportStep) -> None:
    if await _request_deletion(client, obj, report):
        report("removed", object_title(obj))


async def _request_deletion(client: Client, obj: Object, report: ReportStep) -> bool:
    """Requests the deletion. Returns whether the object existed. It may remain until its finalizers have run."""
    try:
        await client.delete(type(obj), obj.metadata.name or "", obj.metadata.namespace)
    except NotFound:
        report("absent", object_title(obj))
        return False
    return True


async def _wait_until_deleted(client: Client, definition: Definition) -> None:
    name = definition.metadata.name or ""
    while True:
        try:
            await client.get(Definition, name)
        except NotFound:
            return
        async for event in client.watch(Definition, fields={"metadata.name": name}, timeout_seconds=5):
            if event.type == "DELETED":
                return
