"""The garbage collector: objects whose owners are gone go too, or let go of them.

As on a real cluster: a dependent goes when none of its owners is left, and otherwise loses the references to those that
are gone. `orphan` takes the references away before the owner goes; `foregroundDeletion` deletes the dependents first,
and holds the owner until those that block it are gone.
"""

from __future__ import annotations

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
        self._owners: dict[_Place, tuple[str, ...]] = {}
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
        owners = tuple(owner.uid for owner in metadata.owner_references or ())
        if self._owners.get(place, ()) != owners:
            self._forget(place)
            if owners:
                self._owners[place] = owners
                for uid in owners:
                    self._dependents[uid].add(place)
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
        """Everything that follows from what was noticed so far."""
        while self.busy:
            for uid in list(self._gone):
                del self._gone[uid]
                self._todo.update(dict.fromkeys(sorted(self._dependents.get(uid, ()))))
            for place in list(self._todo):
                self._todo.pop(place, None)  # it may have gone while another one was looked at
                await self._try(place)

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
        elif waiting:
            policy = "Foreground" if self._dependents.get(uid) else "Background"
            await delete(self._state, type_, entry, DeleteOptions(policy=policy, uid=uid), _USER)
        else:
            await delete(self._state, type_, entry, DeleteOptions(policy="Background", uid=uid), _USER)

    def _is_there(self, reference: JSONObject, namespace: str) -> bool:
        """An owner lives in the object's own namespace, or in none; whoever has another uid is somebody else."""
        place = self._places.get(reference["uid"])
        if place is None or self._found(place) is None:
            return False
        return place.name == reference["name"] and place.namespace in ("", namespace)

    def _waits(self, uid: str) -> bool:
        found = self._found(self._places[uid])
        if found is None:
            return False
        metadata = _header.decode(found[0].raw).metadata
        return metadata.deletion_timestamp is not None and _FOREGROUND in (metadata.finalizers or ())

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
            references = _header.decode(found[0].raw).metadata.owner_references or ()
            blocking |= any(each.uid == uid and each.block_owner_deletion for each in references)
            self._todo[place] = None
        if not blocking:
            await self._release(entry, type_, obj, _FOREGROUND)

    async def _release(self, entry: Entry, type_: ResourceType, obj: JSONObject, finalizer: str) -> None:
        left = [each for each in obj["metadata"]["finalizers"] if each != finalizer]
        metadata = {**obj["metadata"], "finalizers": left}
        if not left:
            del metadata["finalizers"]
        await update(self._state, type_, entry, {**obj, "metadata": metadata}, _USER)
