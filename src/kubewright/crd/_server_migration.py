"""Migrates storage with the server's StorageVersionMigration, where that API is served and its controller works."""

from __future__ import annotations

from typing import Any, Final

from kubewright.api import ObjectMeta, ResourceInfo, Untyped
from kubewright.client import Client, NotFound
from kubewright.clock import TimeLimitExceeded, within
from kubewright.durations import format_duration

__all__ = ["ServerMigrationFailed", "migrate_on_server"]

_GROUP: Final = "storagemigration.k8s.io"
_KIND: Final = "StorageVersionMigration"
_STARTED_WITHIN: Final = 15.0


class ServerMigrationFailed(Exception):
    """The server's migration failed, or did not end in time."""


async def migrate_on_server(client: Client, info: ResourceInfo, timeout: float) -> bool:
    """Lets the server migrate a resource, and waits until it has. Returns False if it cannot.

    Continues a migration of the same resource that has not ended. Raises `ServerMigrationFailed` if the migration
    fails, or does not end in time.
    """
    try:
        found = await client.discovery.find(_GROUP, _KIND)
    except NotFound:
        return False
    kind = await client.kind(found.api_version, _KIND)
    running = [one for one in await client.list(kind) if _resource(one) == (info.group, info.plural) and not _end(one)]
    migration = running[0] if running else await _create(client, kind, info)
    name = migration.metadata.name
    try:
        await within(client.clock, _STARTED_WITHIN, client.wait_for(kind, name, lambda one: bool(_conditions(one))))
    except TimeLimitExceeded:  # no controller works on it
        await _remove(client, kind, name)
        return False
    try:
        ended = await within(client.clock, timeout, client.wait_for(kind, name, lambda one: _end(one) is not None))
    except TimeLimitExceeded:
        waited = format_duration(timeout)
        raise ServerMigrationFailed(f"the migration {name} has not ended after {waited}; repeat it to wait") from None
    end = _end(ended)
    if end is not None and end["type"] == "Failed":
        raise ServerMigrationFailed(f"the migration {name} failed: {end.get('message') or end.get('reason')}")
    await _remove(client, kind, name)
    return True


async def _create(client: Client, kind: type[Untyped], info: ResourceInfo) -> Untyped:
    made = kind(metadata=ObjectMeta(generate_name=f"{info.plural}-"))
    made["spec"] = {"resource": {"group": info.group, "resource": info.plural}}
    return await client.create(made)


async def _remove(client: Client, kind: type[Untyped], name: str) -> None:
    try:
        await client.delete(kind, name)
    except NotFound:
        return


def _resource(migration: Untyped) -> tuple[str, str]:
    resource = (migration.get("spec") or {}).get("resource") or {}
    return resource.get("group", ""), resource.get("resource", "")


def _conditions(migration: Untyped) -> list[dict[str, Any]]:
    return [one for one in (migration.get("status") or {}).get("conditions") or () if one.get("status") == "True"]


def _end(migration: Untyped) -> dict[str, Any] | None:
    """Returns the condition with which a migration ended; None if it has not."""
    return next((one for one in _conditions(migration) if one["type"] in ("Succeeded", "Failed")), None)
