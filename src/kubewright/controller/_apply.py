"""Applying the objects that belong to another one: written when something would change, and never somebody else's.

`Applier.apply` is what `ctx.apply` does. What it promises:

- An object that is not there is created, in a way that fails if it is there after all: a cache that is behind cannot
  make us take over what somebody else made. An object that is there must be ours, or be given to us (`_ownership`).
- The server ends up with every field that is asked for, also 0, "" and empty ones, and without those that were asked
  for earlier and no longer are. Fields that others set stay. (Server-side apply, forced, in one field manager's name.)
- Nothing is sent when nothing would change: see `Applier`.
- Objects that are being deleted are left to go.
- Where the server contradicts the cache, the next look is at the server (`_doubts`).

Why it is done this way, with the measurements, is told in docs/design/apply.md.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from kubewright.api import Object, controller_of, info_of
from kubewright.cache import ObjectKey, Snapshot, SnapshotDecoder, creator_of
from kubewright.client import AlreadyExists, Client, Conflict, Invalid, JsonPatch, NotFound
from kubewright.clock import Clock, SystemClock
from kubewright.controller._contests import Contests, Place, Rivals, rivals_of
from kubewright.controller._desired import Desired, key_for
from kubewright.controller._doubts import Doubts
from kubewright.controller._hints import add_immutable_hint
from kubewright.controller._managed_fields import created_as_applied, released
from kubewright.controller._ownership import BeingDeleted, NotOwned, Outdated, claim
from kubewright.controller._records import Record, same_content

__all__ = ["Applied", "Applier", "CacheView"]

R = TypeVar("R", bound=Object)

_PRUNE_TRIES = 5


class CacheView(Protocol):
    """What `Applier` needs of the caches. `Snapshot.applied` must be about the applier's field manager."""

    def covers(self, kind: type[Object], namespace: str) -> bool:
        """Whether every object of the kind in the namespace is cached, whole; else the server is asked each time."""

    def get(self, kind: type[R], key: ObjectKey) -> Snapshot[R] | None:
        """The object as this program last knew it, its own writes included."""

    def controlled_by(self, kind: type[R], uid: str) -> Iterable[Snapshot[R]]:
        """The objects whose controller has this uid."""

    def written(self, obj: Object) -> None:
        """Take note of the server's answer to a write, managed fields included."""

    def removed(self, kind: type[Object], key: ObjectKey, uid: str) -> None:
        """Take note that the object's deletion was asked for."""


class Applied(msgspec.Struct, Generic[R], frozen=True):
    """The object after it was applied, and whether that changed anything on the server."""

    object: R
    written: bool
    created: bool = False


class Applier:
    """Applies objects for their owners, and prunes what is no longer wanted.

    How it knows that nothing would change: after each apply it keeps three small fingerprints, of what was asked, of
    the server's answer on the asked paths, and of the fields that the server notes as applied by us. While all three
    still fit the cached object, another apply would do nothing. So it does not have to know how the server writes a
    quantity or what it fills in; and a changed value, or a field that somebody else took over, is noticed. The memory
    is bounded (`remember` objects, the least recently applied are forgotten): for a forgotten object, and after a
    start, one apply is sent, which the server recognises as no change.

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
        self._remember = remember
        self._records: OrderedDict[Place, Record] = OrderedDict()
        clock = clock or SystemClock()
        self._contests = Contests(clock)
        self._doubts = Doubts(clock)

    async def apply(
        self,
        owner: Object | None,
        obj: R,
        *,
        adopt: bool = False,
        release: Sequence[str] = (),
        optimistic_lock: bool = False,
        writer: str = "",
    ) -> Applied[R]:
        """Make sure that the object has these fields, controlled by `owner` if there is one.

        Give just the fields that you want to decide on, in an object of your own; it is not changed. Without a
        namespace it goes to its owner's. `written` is false when the server had everything already. A field that is
        absent is removed if it was applied before, unless `release` names it: then its value stays, and is nobody's.
        `writer` names the reconciled object: two of them that apply different content are a write conflict, too.

        With `optimistic_lock`, an existing object is written only at the resourceVersion that this call has read. Every
        newer state, whoever wrote it, raises `Outdated`, and nothing is overwritten.

        Raises:
            NotOwned: there is such an object and it is not ours; with `adopt`, only if another object controls it.
            BeingDeleted: there is such an object and it is going.
            Outdated: the object changed hands while we looked, or is not the one in the cache; reconcile again.
            Contested: another program undoes what is applied, again and again; it is put back later.
            ValueError: the object has no name, or was read from the server.
            TypeError: `release` names what is no field of the kind.
            OwnerError: the owner cannot own it, for instance because it lives in another namespace.
            ApiError: whatever else the server says.
        """
        desired = Desired.of(owner, obj, self._client.namespace)
        kind, key = type(obj), desired.key
        given_up = desired.absent(release)
        snapshot, live = await self._look(kind, key)
        if snapshot is None:
            self._records.pop((kind, key), None)
            try:
                return await self._create(desired, writer)
            except AlreadyExists:
                # There is one: the cache does not know it yet, or somebody was faster.
                self._doubt(kind, key)
                if optimistic_lock:
                    message = f"{desired.object} exists, and is newer than the cache; reconcile again"
                    raise Outdated(message) from None
                live, snapshot = True, await self._read(kind, key)
        elif (
            not live
            and not snapshot.deleting
            and (given_up or _not_applied(snapshot))
            and not self._unchanged(desired, snapshot)
        ):
            # Not applied by us so far: look at it closely, since this is where an object can change hands. Or with
            # fields to be given up: only the server knows whether they are ours.
            live, snapshot = True, await self._read(kind, key)
        if snapshot is None:
            self._doubt(kind, key)
            raise Outdated(f"the server knows no {desired.object}, although it did a moment ago; reconcile again")
        try:
            return await self._apply_existing(
                owner,
                desired,
                snapshot,
                adopt=adopt,
                live=live,
                given_up=given_up,
                writer=writer,
                optimistic_lock=optimistic_lock,
            )
        except Outdated:
            if not live:
                self._doubt(kind, key)
            raise
        except (BeingDeleted, NotOwned):
            if not live:
                self._doubts.suspect((kind, key))
            raise

    async def prune(
        self, owner: Object, kinds: Iterable[type[Object]], keep: Iterable[Object]
    ) -> list[tuple[type[Object], ObjectKey]]:
        """Delete the objects of these kinds that we applied for this owner, except those in `keep`; say which.

        `keep` takes the objects as they were given to `apply`, or as it returned them.
        Only what the owner controls and our field manager has applied is touched: an object that another program made
        for the same owner stays, and so does one that was released meanwhile. The caches must cover the kinds.
        """
        if not owner.metadata.uid:
            raise ValueError(f"{owner} has no uid, so nothing can be its own: read it from the server first")
        kept = {(_group_kind(obj), key_for(owner, obj, self._client.namespace)) for obj in keep}
        pruned = []
        for kind in kinds:
            for snapshot in list(self._cache.controlled_by(kind, owner.metadata.uid)):
                if (_group_kind(kind), snapshot.key) not in kept and await self._prune(owner, snapshot):
                    self._records.pop((kind, snapshot.key), None)
                    pruned.append((kind, snapshot.key))
        return pruned

    async def _look(self, kind: type[R], key: ObjectKey) -> tuple[Snapshot[R] | None, bool]:
        """The object, and whether the server was asked: what is not cached, and what the cache was wrong about."""
        if not self._cache.covers(kind, key.namespace):
            return await self._read(kind, key), True
        cached = self._cache.get(kind, key)
        if (kind, key) not in self._doubts:
            return cached, False
        live = await self._read(kind, key)
        self._doubts.looked((kind, key), cached, live)
        return live, True

    def _doubt(self, kind: type[Object], key: ObjectKey) -> None:
        if self._cache.covers(kind, key.namespace):
            self._doubts.arose((kind, key), self._cache.get(kind, key))

    # One object that is there

    async def _apply_existing(
        self,
        owner: Object | None,
        desired: Desired[R],
        snapshot: Snapshot[R],
        *,
        adopt: bool,
        live: bool,
        given_up: Sequence[str],
        writer: str,
        optimistic_lock: bool,
    ) -> Applied[R]:
        if snapshot.deleting:
            raise BeingDeleted(snapshot.object())
        if self._unchanged(desired, snapshot):
            return Applied(snapshot.object(), written=False)
        existing = snapshot.object()
        right = claim(existing, owner, adopt=adopt, applied_before=snapshot.applied is not None)
        place, undone = (type(existing), desired.key), self._is_undone(desired, snapshot, writer)
        if undone and (contest := self._contests.held(place, writer, desired.digest)) is not None:
            rivals = contest.rivals or await self._rivals(desired, existing, live=live, writer=writer)
            raise self._contests.refusal(contest, existing, rivals)
        if live and (given_up or _not_applied(snapshot)):
            existing = await self._settle_fields(existing, claim_created=_not_applied(snapshot), give_up=given_up)
        # Nobody else may adopt it between our look and our write.
        version = existing.metadata.resource_version if right == "adopt" or optimistic_lock else ""
        sent = desired.at(uid=snapshot.uid, resource_version=version)
        try:
            applied = await self._send(desired, sent, snapshot, writer)
        except Conflict as error:
            raise Outdated(f"{desired.object} has changed since it was looked at; reconcile again", existing) from error
        except Invalid as error:
            fields = {cause.field for cause in error.causes}
            if "metadata.uid" in fields:
                message = f"{desired.object} was deleted and made anew since it was looked at; reconcile again"
                raise Outdated(message, existing) from error
            if owner is not None and "metadata.ownerReferences" in fields:
                await self._refuse_if_controlled_by_another(owner, desired, error)
            add_immutable_hint(error, desired.object, desired.asked, snapshot.raw)
            raise
        if undone and applied.written:
            self._contests.put_back(place, writer, desired.digest)
        return applied

    async def _create(self, desired: Desired[R], writer: str) -> Applied[R]:
        answer = await self._client.create(desired.object, field_manager=creator_of(self._manager))
        self._note(desired, answer, writer)
        return Applied(answer, written=True, created=True)

    async def _send(self, desired: Desired[R], sent: R, before: Snapshot[R], writer: str) -> Applied[R]:
        answer = await self._client.apply(sent, field_manager=self._manager, force=True)
        record = self._note(desired, answer, writer)
        if answer.metadata.deletion_timestamp is not None:
            raise BeingDeleted(answer)
        if record.resource_version == before.resource_version:
            unchanged = True
        elif before.only_created:
            unchanged = same_content(before.raw, _raw_of(answer))
        else:  # a newer revision than the cache's can be the work of others alone
            unchanged = record.applied == before.applied and record.seen == desired.seen_in(before.raw)
        return Applied(answer, written=not unchanged)

    async def _settle_fields(self, existing: R, *, claim_created: bool, give_up: Sequence[str]) -> R:
        """Let the server's notes say which fields are ours, before an apply goes by them.

        Before the first one, our entry for created and updated fields is turned into one for applied fields. And what
        is given up must not be ours any more, or the apply would remove it.
        """
        content = msgspec.json.decode(_raw_of(existing), type=dict[str, Any])
        noted = entries = content["metadata"].get("managedFields") or []
        if claim_created:
            entries = created_as_applied(entries, self._manager, info_of(existing).api_version) or entries
        entries = released(entries, self._manager, give_up)
        if entries == noted:
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
            raise Outdated(f"{existing} has changed since it was looked at; reconcile again", existing) from error

    async def _refuse_if_controlled_by_another(self, owner: Object, desired: Desired[R], error: Invalid) -> None:
        live = await self._read(type(desired.object), desired.key)
        existing = live.object() if live is not None else None
        if existing is not None and controller_of(existing) is not None:
            try:
                claim(existing, owner, adopt=True, applied_before=True)
            except NotOwned as refusal:
                raise refusal from error

    async def _rivals(self, desired: Desired[R], existing: R, *, live: bool, writer: str) -> Rivals:
        """Who undoes what we apply. Caches do not keep what the server notes about that."""
        record = self._records.get((type(existing), desired.key))
        if record is not None and (rival := record.rival_of(writer, desired.digest)):
            return Rivals(managers=(self._manager,), fields=desired.differing(_raw_of(existing)), writer=rival)
        snapshot = None if live else await self._read(type(existing), desired.key)
        seen = existing if snapshot is None else snapshot.object()
        return rivals_of(seen, desired.asked, self._manager)

    # What we know

    def _unchanged(self, desired: Desired[R], snapshot: Snapshot[R]) -> bool:
        place = (type(desired.object), desired.key)
        record = self._records.get(place)
        if record is None or record.asked != desired.digest or record.applied != snapshot.applied:
            return False
        if record.resource_version != snapshot.resource_version:
            if record.seen != desired.seen_in(snapshot.raw):
                return False
            record.resource_version = snapshot.resource_version
        self._records.move_to_end(place)
        return True

    def _is_undone(self, desired: Desired[R], snapshot: Snapshot[R], writer: str) -> bool:
        """Whether this writer applied the very same last, and the object is not that any more.

        Each writer is compared with itself: content that changes is never a put-back, and two writers that alternate
        put back their own content each time.
        """
        record = self._records.get((type(desired.object), desired.key))
        if record is None or record.asked_by(writer) != desired.digest:
            return False
        return record.writer != writer or record.resource_version < snapshot.resource_version

    def _note(self, desired: Desired[R], answer: R, writer: str) -> Record:
        self._cache.written(answer)
        snapshot = self._snapshot(answer)
        place = (type(answer), desired.key)
        before = self._records.get(place)
        record = Record(
            asked=desired.digest,
            seen=desired.seen_in(snapshot.raw),
            applied=snapshot.applied,
            resource_version=snapshot.resource_version,
            writer=writer,
            others=None if before is None else before.followed_by(writer),
        )
        self._records[place] = record
        self._records.move_to_end(place)
        if len(self._records) > self._remember:
            self._records.popitem(last=False)
        if place in self._doubts:
            self._doubts.looked(place, self._cache.get(*place), snapshot)
        return record

    async def _read(self, kind: type[R], key: ObjectKey) -> Snapshot[R] | None:
        try:
            live = await self._client.get(kind, key.name, key.namespace or None)
        except NotFound:
            return None
        return self._snapshot(live)

    def _snapshot(self, obj: R) -> Snapshot[R]:
        return SnapshotDecoder(type(obj), field_manager=self._manager, keep_managed_fields=True).snapshot(_raw_of(obj))

    # One object that is not wanted

    async def _prune(self, owner: Object, snapshot: Snapshot[Object]) -> bool:
        current: Snapshot[Object] | None = snapshot
        for _ in range(_PRUNE_TRIES):
            if current is None or current.deleting or current.applied is None:
                return False
            controller = current.controller
            if controller is None or controller.uid != owner.metadata.uid:
                return False
            try:
                await self._client.delete(
                    current.kind,
                    current.name,
                    current.namespace or None,
                    propagation="Background",
                    uid=current.uid,
                    # The version too: what we know about its owner must still be true when it goes.
                    resource_version=str(current.resource_version),
                )
            except NotFound as error:
                if error.missing == current.name:  # and not only its kind, for a moment
                    self._cache.removed(current.kind, current.key, current.uid)
                return False
            except Conflict:
                current = await self._read(current.kind, current.key)
                continue
            self._cache.removed(current.kind, current.key, current.uid)
            return True
        raise Outdated(f"{snapshot} keeps changing, so it could not be deleted; reconcile again")


def _not_applied(snapshot: Snapshot[Any]) -> bool:
    """Whether an apply would leave beside it what we created the object with."""
    return snapshot.applied is None or snapshot.only_created


def _raw_of(obj: Object) -> bytes:
    assert obj.metadata.origin is not None
    return obj.metadata.origin.raw


def _group_kind(kind: type[Object] | Object) -> tuple[str, str]:
    info = info_of(kind)
    return info.group, info.kind
