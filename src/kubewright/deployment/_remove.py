"""`undeploy` and `uninstall`: what was put into a cluster, out of it again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from kubewright.api import Object, Untyped, apiextensions, core
from kubewright.client import Client, NotFound
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
    gone = [definition for definition in definitions if await _delete(client, definition, say)]
    try:
        async with asyncio.timeout(timeout):
            for definition in gone:
                await _absent(client, definition)
    except TimeoutError:
        held = [text for definition in gone for text in await _held(client, definition)]
        raise StillThere(_why(held, timeout)) from None


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


async def _delete(client: Client, obj: Object, say: Say) -> bool:
    """Whether there was something to delete."""
    try:
        await client.delete(type(obj), obj.metadata.name or "", obj.metadata.namespace)
    except NotFound:
        say("absent", title(obj))
        return False
    say("removed", title(obj))
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


async def _held(client: Client, definition: Definition) -> list[str]:
    """The objects of a kind that wait for their finalizers."""
    spec = definition.spec
    version = next(one.name for one in spec.versions if one.storage)
    kind = Untyped.kind_of(
        f"{spec.group}/{version}", spec.names.kind, plural=spec.names.plural, namespaced=spec.scope == "Namespaced"
    )
    try:
        found = await client.list(kind)
    except NotFound:
        return []
    return [
        f"{spec.names.kind} {obj.metadata.namespace or ''}/{obj.metadata.name} has the finalizers"
        f" {', '.join(obj.metadata.finalizers or [])}"
        for obj in found
        if obj.metadata.finalizers
    ]


def _why(held: Sequence[str], timeout: float) -> str:
    shown = "; ".join(held[:5]) + (f"; and {len(held) - 5} more" if len(held) > 5 else "")
    reason = f"{shown}. Is the operator that removes them running?" if held else "and no object tells why"
    return f"the definitions are not gone after {timeout:g} s: {reason}"
