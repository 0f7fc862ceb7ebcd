"""`Applier`: carries out the decisions of `_decision`, and prunes objects that are no longer wanted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import Any, Generic, NoReturn, TypeVar

import msgspec

from kubewright.api import Object, controller_of, decode, encode, info_of
from kubewright.cache import ObjectKey, Snapshot, SnapshotDecoder, creator_of
from kubewright.client import AlreadyExists, Client, Conflict, Forbidden, Invalid, JsonPatch, NotFound
from kubewright.clock import Clock, SystemClock
from kubewright.controller.apply._cache_mismatches import CacheMismatches
from kubewright.controller.apply._cache_view import CacheView
from kubewright.controller.apply._competitors import find_competitors
from kubewright.controller.apply._decision import (
    CREATE,
    SKIP,
    Known,
    Pause,
    Wanted,
    Write,
    check_ownership,
    decide,
    has_written,
    is_first_apply,
)
from kubewright.controller.apply._errors import BeingDeleted, Competitors, ImmutableFields, NotOwned, Outdated
from kubewright.controller.apply._immutable import (
    ImmutablePolicy,
    check_immutable,
    immutable_fields,
    with_kept_fields,
)
from kubewright.controller.apply._prune import delete_leftover, leftovers
from kubewright.controller.apply._records import ApplyRecord
from kubewright.controller.apply._request import ApplyRequest
from kubewright.controller.apply._write_conflicts import KindKey, WriteConflicts
from kubewright.controller.fields import created_as_applied, released
from kubewright.lru import LRUMemory

__all__ = ["Applied", "Applier"]

R = TypeVar("R", bound=Object)


class Applied(msgspec.Struct, Generic[R], frozen=True):
    """The object after it was applied, and whether that changed anything on the server."""

    object: R
    written: bool
    created: bool = False
    kept: tuple[str, ...] = ()
    """Immutable fields that would have changed and were kept. Only the call that detected them lists them."""
    recreated: tuple[str, ...] = ()
    """Immutable fields because of which the object was deleted and created again."""


class Applier:
    """Applies objects for their owners, and prunes those that are no longer wanted.

    After each apply it keeps three small fingerprints: of the request, of the server's answer at the requested paths,
    and of the fields that the server lists as applied by our manager. While all three match the cached object, another
    apply would change nothing and is not sent. So the applier does not need to know how the server writes a quantity or
    which defaults it sets. A changed value, or a field that another manager took over, is detected.

    The memory is bounded: `remember` objects, the least recently used are dropped. For a dropped object, and after a
    restart, one apply is sent, which the server recognizes as no change.

    For use in one event loop.
    """

    def __init__(
        self,
        client: Client,
        cache: CacheView,
        *,
        field_manager: str | None = None,
        remember: int = 100_000,
        clock: Clock | None = None,
    ) -> None:
        self._client = client
        self._cache = cache
        self._manager = field_manager or client.field_manager
        self._records: LRUMemory[KindKey, ApplyRecord] = LRUMemory(remember)
        clock = clock or SystemClock()
        self._conflicts = WriteConflicts(clock)
        self._mismatches = CacheMismatches(clock)

    async def apply(
        self,
        owner: Object | None,
        obj: R,
        *,
        adopt: bool = False,
        release: Sequence[str] = (),
        optimistic_lock: bool = False,
        immutable: ImmutablePolicy = "fail",
        writer: str = "",
    ) -> Applied[R]:
        """Makes sure that the object has these fields, controlled by `owner` if there is one.

        Pass a new object with just the fields that you want to set. It is not changed. Without a namespace, it goes to
        its owner's. `written` is false if the server had everything already. A field that was applied before and is
        absent now is removed, unless `release` lists it: then it keeps its value and has no owner any more. `writer`
        names the reconciled object: two of them that apply different content are a write conflict, too.

        With `optimistic_lock`, an existing object is written only at the resourceVersion that this call has read. Any
        newer state raises `Outdated`, and nothing is overwritten.

        `immutable` decides what happens if the server rejects the change of an immutable field. "recreate" deletes the
        object, by its uid, only if this owner controls it, and only if the server would accept the new one.

        Raises:
            ImmutableFields: immutable fields would change, and `immutable` is "fail".
            NotOwned: the object exists and is not ours; with `adopt`, only if another object controls it.
            BeingDeleted: the object exists and is being deleted.
            Outdated: the object changed during the call, or is not the one in the cache; reconcile again.
            WriteConflict: another client overwrites the applied fields repeatedly; writes are paused.
            ValueError: the object has no name, or was read from the server.
            TypeError: `release` lists a field that the kind does not have.
            OwnerError: the owner cannot own it, for instance because it is in another namespace.
            ApiError: any other answer of the server.
        """
        check_immutable(immutable)
        request = ApplyRequest.prepare(owner, obj, self._client.namespace)
        target: KindKey = (type(obj), request.key)
        wanted = Wanted(request, owner, adopt, request.absent(release), optimistic_lock, writer, immutable)
        snapshot, live = await self._look(target)
        existed = False
        while True:
            known = Known(
                snapshot,
                live,
                existed,
                self._records.get(target),
                self._conflicts.paused(target, writer, request.digest),
            )
            try:
                action = decide(wanted, known)
                if isinstance(action, Write):
                    return await self._write(wanted, known, action)
                if isinstance(action, Pause):
                    return await self._pause(wanted, known, action)
            except (BeingDeleted, NotOwned):
                if not live:
                    self._mismatches.suspect(target)
                raise
            except Outdated:
                if not live or snapshot is None:
                    self._mismatch(target)
                raise
            if action == SKIP:
                return self._skip(known)
            if action == CREATE:
                self._records.discard(target)
                try:
                    return await self._create(wanted)
                except AlreadyExists:  # the cache is behind, or another client was faster
                    self._mismatch(target)
                    if optimistic_lock:
                        message = f"{request.object} exists, and is newer than the cache; reconcile again"
                        raise Outdated(message) from None
            existed, live, snapshot = True, True, await self._read(target)

    async def prune(
        self, owner: Object, kinds: Iterable[type[Object]], keep: Iterable[Object]
    ) -> list[tuple[type[Object], ObjectKey]]:
        """Deletes objects of these kinds that we applied for this owner and that are not in `keep`. Returns their keys.

        `keep` takes the objects as they were passed to `apply`, or as it returned them. Only objects that the owner
        controls and that our field manager has applied are deleted: objects that another program made for the same
        owner stay, and so do released ones. The caches must cover the kinds.
        """
        pruned = []
        for snapshot in leftovers(self._cache, owner, kinds, keep, self._client.namespace):
            if await delete_leftover(self._client, self._cache, owner, snapshot, self._read):
                self._records.discard((snapshot.kind, snapshot.key))
                pruned.append((snapshot.kind, snapshot.key))
        return pruned

    def leftovers(self, owner: Object, kinds: Iterable[type[Object]], keep: Iterable[Object]) -> list[Snapshot[Object]]:
        """Returns the objects that `prune` would delete, according to the cache."""
        return leftovers(self._cache, owner, kinds, keep, self._client.namespace)

    # Looking

    async def _look(self, target: KindKey) -> tuple[Snapshot[Any] | None, bool]:
        """Returns the object, and whether it was read from the server."""
        kind, key = target
        if not self._cache.covers(kind, key.namespace):
            return await self._read(target), True
        cached = self._cache.get(kind, key)
        if cached is not None and cached.partial:
            return await self._read(target), True
        if target not in self._mismatches:
            return cached, False
        live = await self._read(target)
        self._mismatches.compare(target, cached, live)
        return live, True

    async def _read(self, target: tuple[type[R], ObjectKey]) -> Snapshot[R] | None:
        kind, key = target
        try:
            live = await self._client.get(kind, key.name, key.namespace or None)
        except NotFound:
            return None
        return self._snapshot(live)

    def _snapshot(self, obj: R) -> Snapshot[R]:
        return SnapshotDecoder(type(obj), field_manager=self._manager, keep_managed_fields=True).snapshot(_raw_of(obj))

    def _mismatch(self, target: KindKey) -> None:
        kind, key = target
        if self._cache.covers(kind, key.namespace):
            self._mismatches.found(target, self._cache.get(kind, key))

    # Acting

    def _skip(self, known: Known[R]) -> Applied[R]:
        snapshot, record = known.snapshot, known.record
        assert snapshot is not None
        assert record is not None
        record.resource_version = snapshot.resource_version  # spares the next comparison of content
        return Applied(snapshot.object(), written=False)

    async def _create(self, wanted: Wanted[R]) -> Applied[R]:
        answer = await self._client.create(wanted.request.object, field_manager=creator_of(self._manager))
        self._remember(wanted, answer)
        return Applied(answer, written=True, created=True)

    async def _pause(self, wanted: Wanted[R], known: Known[R], action: Pause) -> NoReturn:
        assert known.snapshot is not None
        existing = known.snapshot.object()
        competitors = action.conflict.competitors or await self._competitors(wanted, existing, live=known.live)
        raise self._conflicts.error(action.conflict, existing, competitors)

    async def _write(self, wanted: Wanted[R], known: Known[R], action: Write) -> Applied[R]:
        request, snapshot = wanted.request, known.snapshot
        assert snapshot is not None
        existing = snapshot.object()
        if action.settle_fields:
            existing = await self._settle_fields(existing, wanted.release, claim_created=is_first_apply(snapshot))
        version = existing.metadata.resource_version if action.guarded else ""
        sent = request.at(uid=snapshot.uid, resource_version=version)
        try:
            answer = await self._client.apply(sent, field_manager=self._manager, force=True)
        except Conflict as error:
            raise Outdated(f"{request.object} has changed since it was read; reconcile again", existing) from error
        except Invalid as error:
            await self._explain_invalid(error, wanted, snapshot)
            if not (fields := immutable_fields(error, request.content, snapshot.raw)):
                raise
        else:
            return self._written(wanted, snapshot, answer, restores=action.restores)
        return await self._without_change(wanted, snapshot, sent, fields)

    def _written(self, wanted: Wanted[R], snapshot: Snapshot[R], answer: R, *, restores: bool) -> Applied[R]:
        request = wanted.request
        record = self._remember(wanted, answer)
        if answer.metadata.deletion_timestamp is not None:
            raise BeingDeleted(answer)
        written = has_written(request, snapshot, _raw_of(answer), record)
        if restores and written:
            self._conflicts.restored((type(answer), request.key), wanted.writer, request.digest)
        return Applied(answer, written=written)

    async def _explain_invalid(self, error: Invalid, wanted: Wanted[R], snapshot: Snapshot[R]) -> None:
        """Raises `Outdated` or `NotOwned` if that is the cause of the error."""
        request, fields = wanted.request, {cause.field for cause in error.causes}
        if "metadata.uid" in fields:
            message = f"{request.object} was deleted and recreated since it was read; reconcile again"
            raise Outdated(message, snapshot.object()) from error
        if wanted.owner is not None and "metadata.ownerReferences" in fields:
            live = await self._read((type(request.object), request.key))
            existing = live.object() if live is not None else None
            if existing is not None and controller_of(existing) is not None:
                try:
                    check_ownership(existing, wanted.owner, adopt=True, applied_before=True)
                except NotOwned as refusal:
                    raise refusal from error

    # Immutable fields

    async def _without_change(
        self, wanted: Wanted[R], snapshot: Snapshot[R], sent: R, fields: tuple[str, ...]
    ) -> Applied[R]:
        """Follows the caller's `immutable` policy for fields that cannot be changed."""
        existing = snapshot.object()
        if wanted.immutable == "fail":
            raise ImmutableFields(existing, fields)
        if wanted.immutable == "recreate":
            return await self._recreate(wanted, snapshot, fields)
        stored = msgspec.json.decode(snapshot.raw)
        kept = decode(type(existing), encode(with_kept_fields(wanted.request.content, stored, fields)))
        kept.metadata = sent.metadata
        try:
            answer = await self._client.apply(kept, field_manager=self._manager, force=True)
        except Conflict as error:
            raise Outdated(f"{existing} has changed since it was read; reconcile again", existing) from error
        except Invalid as error:
            if not immutable_fields(error, wanted.request.content, snapshot.raw):
                raise
            # An immutable field is no longer requested, and cannot be removed either: the object stays as it is.
            self._records.put((type(existing), wanted.request.key), self._record(wanted, snapshot))
            return Applied(existing, written=False, kept=fields)
        applied = self._written(wanted, snapshot, answer, restores=False)
        return msgspec.structs.replace(applied, kept=fields)

    async def _recreate(self, wanted: Wanted[R], snapshot: Snapshot[R], fields: tuple[str, ...]) -> Applied[R]:
        request, existing = wanted.request, snapshot.object()
        try:
            check_ownership(existing, wanted.owner, adopt=False, applied_before=snapshot.applied is not None)
        except NotOwned:
            raise ImmutableFields(existing, fields, adopted=True) from None
        # The server validates before it checks that the name is free: nothing is deleted for an invalid object.
        with contextlib.suppress(AlreadyExists, Forbidden):
            await self._client.create(request.object, dry_run=True)
        version = str(snapshot.resource_version) if wanted.optimistic_lock else None
        try:
            left = await self._client.delete(
                snapshot.kind,
                snapshot.name,
                snapshot.namespace or None,
                propagation="Background",
                uid=snapshot.uid,
                resource_version=version,
            )
            if left is not None:
                self._cache.written(left)
                raise BeingDeleted(left)
            self._cache.removed(snapshot.kind, snapshot.key, snapshot.uid)
            created = await self._create(wanted)
        except (AlreadyExists, Conflict, NotFound) as error:
            raise Outdated(f"{existing} changed while it was recreated; reconcile again", existing) from error
        return msgspec.structs.replace(created, recreated=fields)

    async def _settle_fields(self, existing: R, release: Sequence[str], *, claim_created: bool) -> R:
        """Changes the managed fields, so that the following apply removes exactly the fields that are no longer wanted.

        Before the first apply, our entry for created and updated fields is converted into one for applied fields.
        Released fields are removed from our entry, or the apply would remove them from the object.
        """
        content = msgspec.json.decode(_raw_of(existing), type=dict[str, Any])
        before = entries = content["metadata"].get("managedFields") or []
        if claim_created:
            entries = created_as_applied(entries, self._manager, info_of(existing).api_version) or entries
        entries = released(entries, self._manager, release)
        if entries == before:
            return existing
        meta = existing.metadata
        patch = JsonPatch(
            [
                {"op": "replace", "path": "/metadata/resourceVersion", "value": meta.resource_version},
                {"op": "replace", "path": "/metadata/managedFields", "value": entries},
            ]
        )
        try:
            return await self._client.patch(type(existing), meta.name, patch, meta.namespace or None)
        except (Conflict, NotFound) as error:
            raise Outdated(f"{existing} has changed since it was read; reconcile again", existing) from error

    async def _competitors(self, wanted: Wanted[R], existing: R, *, live: bool) -> Competitors:
        """Returns the clients that overwrite the object. Caches do not keep managed fields, so the server is asked."""
        request = wanted.request
        target = (type(existing), request.key)
        record = self._records.get(target)
        if record is not None and (writer := record.competing_writer(wanted.writer, request.digest)):
            return Competitors(managers=(self._manager,), fields=request.differing(_raw_of(existing)), writer=writer)
        snapshot = None if live else await self._read(target)
        seen = existing if snapshot is None else snapshot.object()
        return find_competitors(seen, request.content, self._manager)

    def _remember(self, wanted: Wanted[R], answer: R) -> ApplyRecord:
        self._cache.written(answer)
        snapshot = self._snapshot(answer)
        target: KindKey = (type(answer), wanted.request.key)
        record = self._record(wanted, snapshot)
        self._records.put(target, record)
        if target in self._mismatches:
            self._mismatches.compare(target, self._cache.get(*target), snapshot)
        return record

    def _record(self, wanted: Wanted[R], snapshot: Snapshot[R]) -> ApplyRecord:
        request, before = wanted.request, self._records.get((snapshot.kind, wanted.request.key))
        return ApplyRecord(
            requested=request.digest,
            stored=request.stored_in(snapshot.raw),
            applied=snapshot.applied,
            resource_version=snapshot.resource_version,
            writer=wanted.writer,
            others=None if before is None else before.others_after(wanted.writer),
        )


def _raw_of(obj: Object) -> bytes:
    assert obj.metadata.origin is not None
    return obj.metadata.origin.raw
