"""`migrate_storage`: rewrites stored objects to the storage version of their definition.

After the storage version of a definition changes, objects stay in the version in which they were last written, and
`status.storedVersions` lists both. A version in that list cannot be removed from the definition. The migration writes
each object without a change, then removes the old versions from the list.

Each write is a patch that only names the uid and the resourceVersion that were read. So it changes no field, and fails
with a conflict if another client wrote the object in between. That write has stored the new version: the object is
done. The server does not store an object again that is in the storage version, so repeating the migration is cheap.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import msgspec

from kubewright.api import Object, Untyped, apiextensions, info_of
from kubewright.client import ApiError, Client, Conflict, Expired, MergePatch, NotFound, ServedResource
from kubewright.crd._server_migration import ServerMigrationFailed, migrate_on_server
from kubewright.durations import Duration, check_duration

__all__ = ["MigrationError", "MigrationMethod", "StorageMigration", "migrate_storage"]

CRD = apiextensions.CustomResourceDefinition
MigrationMethod: TypeAlias = Literal["auto", "server", "client"]
"""The writer of the objects: the server's StorageVersionMigration, or this client. `auto`: the server if it can."""

MAX_FAILURES: Final = 100
"""Failures that are kept with their message; others are only counted."""
_METADATA: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
_CONFLICT_ATTEMPTS: Final = 5  # at a write with conflicts


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Item(msgspec.Struct):
    metadata: _Meta


class StorageMigration(msgspec.Struct, kw_only=True):
    """The progress and the result of a migration."""

    resource: str
    """`foos.example.com`."""
    storage_version: str = ""
    """Empty for a built-in kind, whose storage version the server does not publish."""
    stored_versions: tuple[str, ...] = ()
    """`status.storedVersions`, at the end without those that no object has any more."""
    dropped: tuple[str, ...] = ()
    """The versions that were removed from that list, or would be in a dry run."""
    method: Literal["server", "client", "none"] = "none"
    migrated: int = 0
    """Objects that were written. In a dry run: objects that the server would accept."""
    unchanged: int = 0
    """Objects that were stored in the storage version already."""
    skipped: int = 0
    """Objects that another client wrote or deleted in the meantime."""
    failed: int = 0
    failures: list[str] = msgspec.field(default_factory=list)
    remaining: int | None = None
    """Objects on the following pages, if the server says so."""
    dry_run: bool = False

    @property
    def done(self) -> int:
        """Objects that need nothing more."""
        return self.migrated + self.unchanged + self.skipped


class MigrationError(Exception):
    """A migration that is not complete. `status.storedVersions` was not changed; repeat it to continue."""

    def __init__(self, message: str, result: StorageMigration) -> None:
        super().__init__(message, result)
        self.result = result

    def __str__(self) -> str:
        return str(self.args[0])


async def migrate_storage(
    client: Client,
    kind: str | type[Object],
    *,
    dry_run: bool = False,
    page_size: int = 500,
    concurrency: int = 8,
    method: MigrationMethod = "auto",
    timeout: Duration = "1h",
    report: Callable[[StorageMigration], None] | None = None,
) -> StorageMigration:
    """Rewrites all objects of a kind to its storage version, then drops other versions from `status.storedVersions`.

    Safe to run while other clients write, and safe to repeat after it was interrupted. If the definition changes its
    storage version during the migration, `status.storedVersions` is kept.

    Args:
        client: may list and patch the objects, and patch the status of the definition.
        kind: a class, or a name that kubectl accepts: `Foo`, `foos`, `foos.example.com`.
        dry_run: the server validates each write and stores nothing.
        page_size: objects per list request; only their metadata is read.
        concurrency: writes at the same time.
        method: `server` creates a StorageVersionMigration, `client` writes from here. `auto` uses the server if it
            serves that API and its controller works.
        timeout: how long to wait for the server's migration.
        report: called after each page.

    Raises `MigrationError` if objects could not be written; its `result` has the failures. Raises `NotFound` for a kind
    that the server does not serve.
    """
    if page_size < 1 or concurrency < 1:
        raise ValueError(f"page_size and concurrency must be at least 1, not {page_size} and {concurrency}")
    seconds = check_duration("timeout", timeout)
    served = await client.discovery.named(_name_of(kind))
    info = served.info
    definition = await client.find(CRD, f"{info.plural}.{info.group}") if info.group else None
    result = StorageMigration(resource=f"{info.plural}.{info.group}".removesuffix("."), dry_run=dry_run)
    if definition is not None:
        result.storage_version = _storage_version(definition)
        result.stored_versions = tuple(definition.status.stored_versions or ())
        if result.stored_versions == (result.storage_version,):
            return result
    try:
        on_server = not dry_run and method != "client" and await migrate_on_server(client, info, seconds)
    except ServerMigrationFailed as error:
        raise MigrationError(str(error), result) from error
    if on_server:
        result.method = "server"
    elif method == "server" and not dry_run:
        raise MigrationError("the server has no StorageVersionMigration, or no controller works on it", result)
    else:
        result.method = "client"
        await _Rewrite(client, served, result, concurrency).run(page_size, report)
    if result.failed:
        raise MigrationError(
            f"{result.failed} of {result.failed + result.done} objects of {result.resource} cannot be written, so"
            f" status.storedVersions stays {', '.join(result.stored_versions)}. The first: {result.failures[0]}",
            result,
        )
    if definition is not None:
        await _drop_versions(client, definition, result)
    return result


def _name_of(kind: str | type[Object]) -> str:
    if isinstance(kind, str):
        return kind
    info = info_of(kind)
    return f"{info.plural}.{info.group}" if info.group else info.plural


def _storage_version(definition: CRD) -> str:
    return next(version.name for version in definition.spec.versions if version.storage)


class _Rewrite:
    """Writes each object from here."""

    def __init__(self, client: Client, served: ServedResource, result: StorageMigration, concurrency: int) -> None:
        self._client = client
        self._kind = _untyped(served)
        self._verbs = served.verbs
        self._result = result
        self._permits = asyncio.Semaphore(concurrency)

    async def run(self, page_size: int, report: Callable[[StorageMigration], None] | None) -> None:
        if not {"list", "patch"} <= self._verbs:
            raise MigrationError(f"{self._result.resource} cannot be listed and patched", self._result)
        token = ""
        while True:
            try:
                page = await self._client.list_page(self._kind, token=token, size=page_size, accept=_METADATA)
            except Expired as error:
                # The rest of the list, which is newer than its beginning: later objects have the new version anyway.
                token = error.status.metadata.continue_
                continue
            items = [msgspec.json.decode(raw, type=_Item).metadata for raw in page.items or ()]
            async with asyncio.TaskGroup() as group:
                for item in items:
                    group.create_task(self._write(item))
            token, self._result.remaining = page.metadata.continue_, page.metadata.remaining_item_count
            if report is not None:
                report(self._result)
            if not token:
                return

    async def _write(self, item: _Meta) -> None:
        same = {"metadata": {"uid": item.uid, "resourceVersion": item.resource_version}}
        result = self._result
        async with self._permits:
            try:
                written = await self._client.patch(
                    self._kind, item.name, MergePatch(same), item.namespace or None, dry_run=result.dry_run
                )
            except (Conflict, NotFound):
                result.skipped += 1
            except ApiError as error:
                result.failed += 1
                if len(result.failures) < MAX_FAILURES:
                    result.failures.append(str(error))
            else:
                if result.dry_run or written.metadata.resource_version != item.resource_version:
                    result.migrated += 1
                else:
                    result.unchanged += 1


def _untyped(served: ServedResource) -> type[Untyped]:
    info = served.info
    return Untyped.kind_of(info.api_version, info.kind, plural=info.plural, namespaced=info.namespaced)


async def _drop_versions(client: Client, before: CRD, result: StorageMigration) -> None:
    """Removes the versions that were stored at the beginning, unless the storage version has changed since then."""
    for attempt in range(1, _CONFLICT_ATTEMPTS + 1):
        current = await client.get(CRD, before.metadata.name)
        if current.metadata.uid != before.metadata.uid or _storage_version(current) != result.storage_version:
            raise MigrationError(
                f"the definition {result.resource} changed its storage version during the migration; repeat it", result
            )
        stored = list(current.status.stored_versions or ())
        wanted = [version for version in stored if version == result.storage_version or version not in _old(before)]
        result.dropped = tuple(version for version in _old(before) if version not in wanted)
        if result.dry_run:
            return
        result.stored_versions = tuple(stored)
        if wanted == stored:  # the server's migration has dropped them
            return
        guarded: dict[str, Any] = {
            "metadata": {"resourceVersion": current.metadata.resource_version},
            "status": {"storedVersions": wanted},
        }
        try:
            await client.patch(CRD, before.metadata.name, MergePatch(guarded), subresource="status")
        except Conflict:
            if attempt == _CONFLICT_ATTEMPTS:
                raise
            continue
        result.stored_versions = tuple(wanted)
        return


def _old(definition: CRD) -> list[str]:
    return definition.status.stored_versions or []
