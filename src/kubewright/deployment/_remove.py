"""`undeploy` and `uninstall`: what was put into a cluster, out of it again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from kubewright.api import Object, apiextensions, core
from kubewright.client import Client, NotFound
from kubewright.crd._deletion import held_up, waits_for
from kubewright.deployment._deploy import Say, namespace_is_ours, title
from kubewright.manifests import Project, objects

__all__ = ["StillThere", "undeploy", "uninstall"]

Definition = apiextensions.CustomResourceDefinition


class StillThere(Exception):
    """Objects that were deleted have not gone; the text says what holds them up."""


async def uninstall(client: Client, definitions: Sequence[Definition], say: Say, *, timeout: float = 60.0) -> None:
    """Remove definitions and all objects of theirs, and wait until they are gone.

    Objects with finalizers wait for the operator that has set them; when it does not come, `StillThere` names them.
    """
    going = [definition for definition in definitions if await _begin_to_delete(client, definition, say)]
    try:
        async with asyncio.timeout(timeout):
            for definition in going:
                await _absent(client, definition)
                say("removed", title(definition))
    except TimeoutError:
        held = [text for definition in going for text in await held_up(client, definition)]
        raise StillThere(f"the definitions are not gone after {timeout:g} s: {waits_for(held)}") from None


async def undeploy(client: Client, project: Project, say: Say, *, timeout: float = 60.0) -> None:
    """Remove all that `deploy` makes: the definitions while the operator can still clean up, and then the rest."""
    everything = objects(project)
    await uninstall(client, [obj for obj in everything if isinstance(obj, Definition)], say, timeout=timeout)
    for obj in reversed(everything):
        if isinstance(obj, Definition):
            continue
        if isinstance(obj, core.Namespace) and not await _may_remove(client, obj, project, say):
            continue
        await _delete(client, obj, say)


async def _may_remove(client: Client, namespace: core.Namespace, project: Project, say: Say) -> bool:
    try:
        found = await client.get(core.Namespace, namespace.metadata.name or "")
    except NotFound:
        return True  # and is told as the others are
    if namespace_is_ours(found, project):
        return True
    say("kept", f"{title(namespace)}, which has not the labels of this project")
    return False


async def _delete(client: Client, obj: Object, say: Say) -> None:
    if await _begin_to_delete(client, obj, say):
        say("removed", title(obj))


async def _begin_to_delete(client: Client, obj: Object, say: Say) -> bool:
    """Whether there was something to delete. It may stay for a while."""
    try:
        await client.delete(type(obj), obj.metadata.name or "", obj.metadata.namespace)
    except NotFound:
        say("absent", title(obj))
        return False
    return True


async def _absent(client: Client, definition: Definition) -> None:
    name = definition.metadata.name or ""
    while True:
        try:
            await client.get(Definition, name)
        except NotFound:
            return
        async for event in client.watch(Definition, fields={"metadata.name": name}, timeout_seconds=5):
            if event.type == "DELETED":
                return
