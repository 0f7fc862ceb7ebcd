"""The garbage collector: deletes objects whose owners are gone, or removes their owner references.

As on a real cluster, a dependent is deleted when none of its owners is left; otherwise it loses the references to
missing owners. `orphan` removes the references before the owner is deleted. `foregroundDeletion` deletes the dependents
first and keeps the owner until those that block it are gone. The collector breaks a cycle of owners that block each
other where it finds it: the references of one object become non-blocking.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final, NamedTuple

import msgspec

from kubewright.cluster._state import State
from kubewright.cluster.controllers._writing import controller_user, delete, type_of, update
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.machinery._failures import Failure
from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.cluster.machinery._work_budget import PROCESSED, SCANNED, WorkBudget
from kubewright.cluster.registry._delete import DeleteOptions
from kubewright.cluster.storage._storage import Entry, Event, RevisionConflict

__all__ = ["GarbageCollector"]

_ORPHAN: Final = "orphan"
_FOREGROUND: Final = "foregroundDeletion"
_USER: Final = controller_user("generic-garbage-collector")


class _Key(NamedTuple):
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
    """Tracks owners and dependents. `notice` records each write, `work` processes the recorded ones."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._keys: dict[str, _Key] = {}
        self._dependents: dict[str, set[_Key]] = defaultdict(set)
        self._owners: dict[_Key, dict[str, bool]] = {}  # uid → whether the dependent blocks its deletion
        self._todo: dict[_Key, None] = {}
        self._gone: dict[str, None] = {}
        self.later: dict[_Key, None] = {}
        for storage, entry in state.storage.dump():
            self._learn(_Key(storage, entry.namespace, entry.name), _header.decode(entry.raw).metadata)

    def notice(self, event: Event) -> None:
        """Records a write and its owner references."""
        key = _Key(event.storage, event.entry.namespace, event.entry.name)
        metadata = _header.decode(event.entry.raw).metadata
        if event.kind != "DELETED":
            self._learn(key, metadata)
            return
        self._forget(key)
        if self._keys.get(metadata.uid) == key:
            del self._keys[metadata.uid]
        if metadata.uid in self._dependents:
            self._gone[metadata.uid] = None
        for owner in metadata.owner_references or ():  # an owner that waits for this dependent may continue
            if (waiting := self._keys.get(owner.uid)) is not None:
                self._todo[waiting] = None

    def _learn(self, key: _Key, metadata: _Metadata) -> None:
        self._keys[metadata.uid] = key
        owners = {owner.uid: owner.block_owner_deletion for owner in metadata.owner_references or ()}
        before = self._owners.get(key, {})
        if before != owners:
            self._forget(key)
            if owners:
                self._owners[key] = owners
                for uid in owners:
                    self._dependents[uid].add(key)
            for uid, blocked in before.items():  # an owner that waits for this dependent may continue
                if blocked and not owners.get(uid) and (waiting := self._keys.get(uid)) is not None:
                    self._todo[waiting] = None
        deleting = metadata.deletion_timestamp is not None
        if owners or (deleting and metadata.finalizers):
            self._todo[key] = None

    def _forget(self, key: _Key) -> None:
        for uid in self._owners.pop(key, ()):
            dependents = self._dependents.get(uid)
            if dependents is not None:
                dependents.discard(key)
                if not dependents:
                    del self._dependents[uid]

    @property
    def busy(self) -> bool:
        """Returns whether work is pending."""
        return bool(self._todo or self._gone)

    async def work(self, budget: WorkBudget) -> None:
        """Processes everything recorded so far."""
        while self.busy:
            for uid in list(self._gone):
                del self._gone[uid]
                self._todo.update(dict.fromkeys(sorted(self._dependents.get(uid, ()))))
            for key in list(self._todo):
                self._todo.pop(key, None)  # another object may have removed it
                await self._try(key, budget)
                await budget.spend(PROCESSED)

    async def _try(self, key: _Key, budget: WorkBudget) -> None:
        """Processes an object; again if it changed during admission, and later if admission rejected the write."""
        try:
            await self._process(key, budget)
        except RevisionConflict:
            self._todo[key] = None
        except Failure:
            self.later[key] = None

    def again(self) -> None:
        """Retries the objects whose writes admission rejected."""
        self._todo |= self.later
        self.later.clear()

    async def _process(self, key: _Key, budget: WorkBudget) -> None:
        found = self._found(key)
        if found is None:
            return
        entry, type_ = found
        obj = decoded(type_, entry)
        metadata = obj["metadata"]
        if metadata.get("deletionTimestamp"):
            finalizers = metadata.get("finalizers") or []
            if _ORPHAN in finalizers:
                await self._orphan(entry, type_, obj, budget)
            elif _FOREGROUND in finalizers:
                await self._wait_for_dependents(entry, type_, obj, budget)
            return
        if metadata.get("ownerReferences"):
            await self._check_owners(entry, type_, obj)

    def _found(self, key: _Key) -> tuple[Entry, ResourceType] | None:
        entry = self._state.storage.get(key.storage, key.namespace, key.name)
        type_ = type_of(self._state, key.storage, entry)
        return None if entry is None or type_ is None else (entry, type_)

    async def _check_owners(self, entry: Entry, type_: ResourceType, obj: JSONObject) -> None:
        """Deletes an object without owners, or removes the references to missing owners."""
        references = obj["metadata"]["ownerReferences"]
        existing = [each for each in references if self._exists(each, entry.namespace)]
        waiting = [each for each in existing if self._waits(each["uid"])]
        if len(existing) == len(references) and not waiting:
            return
        uid = obj["metadata"]["uid"]
        if [each for each in existing if each not in waiting]:
            metadata = {**obj["metadata"], "ownerReferences": [each for each in existing if each not in waiting]}
            await update(self._state, type_, entry, {**obj, "metadata": metadata}, _USER)
        elif waiting and self._dependents.get(uid):
            if any(self._is_deleting_dependents(key) for key in self._dependents[uid]):
                entry = await self._unblock_owners(entry, type_, obj)
            await delete(self._state, type_, entry, DeleteOptions(policy="Foreground", uid=uid), _USER)
        else:
            await delete(self._state, type_, entry, DeleteOptions(policy="Background", uid=uid), _USER)

    def _exists(self, reference: JSONObject, namespace: str) -> bool:
        """Returns whether an owner exists with this uid, in the namespace of the object or cluster-scoped."""
        key = self._keys.get(reference["uid"])
        if key is None or self._found(key) is None:
            return False
        return key.name == reference["name"] and key.namespace in ("", namespace)

    def _waits(self, uid: str) -> bool:
        return self._is_deleting_dependents(self._keys[uid])

    def _is_deleting_dependents(self, key: _Key) -> bool:
        found = self._found(key)
        if found is None:
            return False
        metadata = _header.decode(found[0].raw).metadata
        return metadata.deletion_timestamp is not None and _FOREGROUND in (metadata.finalizers or ())

    async def _unblock_owners(self, entry: Entry, type_: ResourceType, obj: JSONObject) -> Entry:
        """Makes an object's references non-blocking: its owner and one of its dependents wait for each other."""
        references = [{**each, "blockOwnerDeletion": False} for each in obj["metadata"]["ownerReferences"]]
        metadata = {**obj["metadata"], "ownerReferences": references}
        return await update(self._state, type_, entry, {**obj, "metadata": metadata}, _USER)

    async def _orphan(self, entry: Entry, type_: ResourceType, obj: JSONObject, budget: WorkBudget) -> None:
        uid = obj["metadata"]["uid"]
        for key in sorted(self._dependents.get(uid, ())):
            found = self._found(key)
            if found is not None:
                child = decoded(found[1], found[0])
                kept = [each for each in child["metadata"].get("ownerReferences") or () if each["uid"] != uid]
                metadata = {**child["metadata"], "ownerReferences": kept}
                if not kept:
                    del metadata["ownerReferences"]
                await update(self._state, found[1], found[0], {**child, "metadata": metadata}, _USER)
                await budget.spend(PROCESSED)
        await self._release(entry, type_, obj, _ORPHAN)

    async def _wait_for_dependents(
        self, entry: Entry, type_: ResourceType, obj: JSONObject, budget: WorkBudget
    ) -> None:
        uid = obj["metadata"]["uid"]
        blocking, remaining = False, []
        scanned = sorted(self._dependents.get(uid, ()))
        for key in scanned:
            found = self._found(key)
            if found is None:
                continue
            metadata = _header.decode(found[0].raw).metadata
            blocking |= any(each.uid == uid and each.block_owner_deletion for each in metadata.owner_references or ())
            if metadata.deletion_timestamp is None:  # an object that is being deleted reports its end itself
                remaining.append(key)
            await budget.spend(SCANNED)
        added = self._dependents.get(uid, set()).difference(scanned)
        if blocking or any(self._owners[key][uid] for key in added):
            self._todo |= dict.fromkeys(remaining)
            return
        for key in remaining:  # before the owner loses the finalizer, because of which they are deleted
            await self._try(key, budget)
            await budget.spend(PROCESSED)
        await self._release(entry, type_, obj, _FOREGROUND)

    async def _release(self, entry: Entry, type_: ResourceType, obj: JSONObject, finalizer: str) -> None:
        left = [each for each in obj["metadata"]["finalizers"] if each != finalizer]
        metadata = {**obj["metadata"], "finalizers": left}
        if not left:
            del metadata["finalizers"]
        await update(self._state, type_, entry, {**obj, "metadata": metadata}, _USER)
