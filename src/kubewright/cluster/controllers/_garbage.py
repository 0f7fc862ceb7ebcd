"""The garbage collector: objects whose owners are gone go too, or let go of them.

As on a real cluster: a dependent goes when none of its owners is left, and otherwise loses the references to those that
are gone. `orphan` takes the references away before the owner goes; `foregroundDeletion` deletes the dependents first,
and holds the owner until those that block it are gone. A cycle of owners that block each other is broken where the
collector finds it: the references of one object become non-blocking.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Final, NamedTuple

import msgspec

from kubewright.cluster._deletes import DeleteOptions
from kubewright.cluster._failures import Failure
from kubewright.cluster._kinds import JSONObject, ResourceType
from kubewright.cluster._state import State
from kubewright.cluster._storage import Entry, Event, RevisionConflict
from kubewright.cluster._views import decoded
from kubewright.cluster.controllers._writing import controller_user, delete, type_of, update

__all__ = ["GarbageCollector"]

_OBJECTS_PER_TURN: Final = 16  # then the event loop serves requests
_ORPHAN: Final = "orphan"
_FOREGROUND: Final = "foregroundDeletion"
_USER: Final = controller_user("generic-garbage-collector")


class _Place(NamedTuple):
    storage: str
    namespace: str
    name: str


class _Owner(msgspec.Struct, gc=False, rename="camel"):
    uid: str = ""
    api_version: str = ""
    kind: str = ""
    name: str = ""
    block_owner_deletion: bool = False


class _Metadata(msgspec.Struct, gc=False, rename="camel"):
    uid: str = ""
    owner_references: list[_Owner] | None = None
    finalizers: list[str] | None = None
    deletion_timestamp: str | None = None


class _Header(msgspec.Struct, gc=False):
    metadata: _Metadata


_header: Final = msgspec.json.Decoder(_Header)


class GarbageCollector:
    """Knows who owns whom. `notice` takes each write, `work` does what follows from those noticed."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._places: dict[str, _Place] = {}
        self._dependents: dict[str, set[_Place]] = defaultdict(set)
        self._owners: dict[_Place, dict[str, bool]] = {}  # uid → whether its deletion is blocked
        self._todo: dict[_Place, None] = {}
        self._gone: dict[str, None] = {}
        self.later: dict[_Place, None] = {}
        for storage, entry in state.storage.dump():
            self._learn(_Place(storage, entry.namespace, entry.name), _header.decode(entry.raw).metadata)

    def notice(self, event: Event) -> None:
        """A write: who it is about, and whom it owns or is owned by."""
        place = _Place(event.storage, event.entry.namespace, event.entry.name)
        metadata = _header.decode(event.entry.raw).metadata
        if event.kind != "DELETED":
            self._learn(place, metadata)
            return
        self._forget(place)
        if self._places.get(metadata.uid) == place:
            del self._places[metadata.uid]
        if metadata.uid in self._dependents:
            self._gone[metadata.uid] = None
        for owner in metadata.owner_references or ():  # one that waits for its dependents may be free now
            if (waiting := self._places.get(owner.uid)) is not None:
                self._todo[waiting] = None

    def _learn(self, place: _Place, metadata: _Metadata) -> None:
        self._places[metadata.uid] = place
        owners = {owner.uid: owner.block_owner_deletion for owner in metadata.owner_references or ()}
        before = self._owners.get(place, {})
        if before != owners:
            self._forget(place)
            if owners:
                self._owners[place] = owners
                for uid in owners:
                    self._dependents[uid].add(place)
            for uid, blocked in before.items():  # an owner that waits for its dependents may be free now
                if blocked and not owners.get(uid) and (waiting := self._places.get(uid)) is not None:
                    self._todo[waiting] = None
        deleting = metadata.deletion_timestamp is not None
        if owners or (deleting and metadata.finalizers):
            self._todo[place] = None

    def _forget(self, place: _Place) -> None:
        for uid in self._owners.pop(place, ()):
            dependents = self._dependents.get(uid)
            if dependents is not None:
                dependents.discard(place)
                if not dependents:
                    del self._dependents[uid]

    # Work

    @property
    def busy(self) -> bool:
        """Whether something is left to do."""
        return bool(self._todo or self._gone)

    async def work(self) -> None:
        """Does everything that follows from what was noticed so far, and lets the event loop run in between."""
        looked_at = 0
        while self.busy:
            for uid in list(self._gone):
                del self._gone[uid]
                self._todo.update(dict.fromkeys(sorted(self._dependents.get(uid, ()))))
            for place in list(self._todo):
                self._todo.pop(place, None)  # it may have gone while another one was looked at
                await self._try(place)
                looked_at += 1
                if looked_at % _OBJECTS_PER_TURN == 0:
                    await asyncio.sleep(0)

    async def _try(self, place: _Place) -> None:
        """Look at an object; again when it changed meanwhile, and later when admission refused what is to be done."""
        try:
            await self._look_at(place)
        except RevisionConflict:
            self._todo[place] = None
        except Failure:
            self.later[place] = None

    def again(self) -> None:
        """Look once more at what admission has refused."""
        self._todo |= self.later
        self.later.clear()

    async def _look_at(self, place: _Place) -> None:
        found = self._found(place)
        if found is None:
            return
        entry, type_ = found
        obj = decoded(type_, entry)
        metadata = obj["metadata"]
        if metadata.get("deletionTimestamp"):
            finalizers = metadata.get("finalizers") or []
            if _ORPHAN in finalizers:
                await self._orphan(entry, type_, obj)
            elif _FOREGROUND in finalizers:
                await self._wait_for_dependents(entry, type_, obj)
            return
        if metadata.get("ownerReferences"):
            await self._check_owners(entry, type_, obj)

    def _found(self, place: _Place) -> tuple[Entry, ResourceType] | None:
        entry = self._state.storage.get(place.storage, place.namespace, place.name)
        type_ = type_of(self._state, place.storage, entry)
        return None if entry is None or type_ is None else (entry, type_)

    async def _check_owners(self, entry: Entry, type_: ResourceType, obj: JSONObject) -> None:
        """Delete an object without owners, or drop the references to those that are gone."""
        references = obj["metadata"]["ownerReferences"]
        solid = [each for each in references if self._is_there(each, entry.namespace)]
        waiting = [each for each in solid if self._waits(each["uid"])]
        if len(solid) == len(references) and not waiting:
            return
        uid = obj["metadata"]["uid"]
        if [each for each in solid if each not in waiting]:
            metadata = {**obj["metadata"], "ownerReferences": [each for each in solid if each not in waiting]}
            await update(self._state, type_, entry, {**obj, "metadata": metadata}, _USER)
        elif waiting and self._dependents.get(uid):
            if any(self._is_deleting_dependents(place) for place in self._dependents[uid]):
                entry = await self._unblock_owners(entry, type_, obj)
            await delete(self._state, type_, entry, DeleteOptions(policy="Foreground", uid=uid), _USER)
        else:
            await delete(self._state, type_, entry, DeleteOptions(policy="Background", uid=uid), _USER)

    def _is_there(self, reference: JSONObject, namespace: str) -> bool:
        """An owner lives in the object's own namespace, or in none; whoever has another uid is somebody else."""
        place = self._places.get(reference["uid"])
        if place is None or self._found(place) is None:
            return False
        return place.name == reference["name"] and place.namespace in ("", namespace)

    def _waits(self, uid: str) -> bool:
        return self._is_deleting_dependents(self._places[uid])

    def _is_deleting_dependents(self, place: _Place) -> bool:
        found = self._found(place)
        if found is None:
            return False
        metadata = _header.decode(found[0].raw).metadata
        return metadata.deletion_timestamp is not None and _FOREGROUND in (metadata.finalizers or ())

    async def _unblock_owners(self, entry: Entry, type_: ResourceType, obj: JSONObject) -> Entry:
        """Makes an object's references non-blocking: an owner and a dependent of it wait for each other."""
        references = [{**each, "blockOwnerDeletion": False} for each in obj["metadata"]["ownerReferences"]]
        metadata = {**obj["metadata"], "ownerReferences": references}
        return await update(self._state, type_, entry, {**obj, "metadata": metadata}, _USER)

    async def _orphan(self, entry: Entry, type_: ResourceType, obj: JSONObject) -> None:
        uid = obj["metadata"]["uid"]
        for place in sorted(self._dependents.get(uid, ())):
            found = self._found(place)
            if found is not None:
                child = decoded(found[1], found[0])
                kept = [each for each in child["metadata"].get("ownerReferences") or () if each["uid"] != uid]
                metadata = {**child["metadata"], "ownerReferences": kept}
                if not kept:
                    del metadata["ownerReferences"]
                await update(self._state, found[1], found[0], {**child, "metadata": metadata}, _USER)
        await self._release(entry, type_, obj, _ORPHAN)

    async def _wait_for_dependents(self, entry: Entry, type_: ResourceType, obj: JSONObject) -> None:
        uid = obj["metadata"]["uid"]
        blocking = False
        for place in sorted(self._dependents.get(uid, ())):
            found = self._found(place)
            if found is None:
                continue
            metadata = _header.decode(found[0].raw).metadata
            blocking |= any(each.uid == uid and each.block_owner_deletion for each in metadata.owner_references or ())
            if metadata.deletion_timestamp is None:  # one that is being deleted reports its end by itself
                self._todo[place] = None
        if not blocking:
            await self._release(entry, type_, obj, _FOREGROUND)

    async def _release(self, entry: Entry, type_: ResourceType, obj: JSONObject, finalizer: str) -> None:
        left = [each for each in obj["metadata"]["finalizers"] if each != finalizer]
        metadata = {**obj["metadata"], "finalizers": left}
        if not left:
            del metadata["finalizers"]
        await update(self._state, type_, entry, {**obj, "metadata": metadata}, _USER)
