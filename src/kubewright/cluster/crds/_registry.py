"""`Definitions`: serves the kinds of the stored definitions.

The real server's controllers work after the write; here they run with it: names are accepted, the kind is served, and
the definition becomes Established. Deleting a definition deletes its objects first. Until the last one is gone, no new
object of its kind can be created.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kubewright.api.cel import load
from kubewright.cluster._state import State
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.crds._custom import CustomStrategy
from kubewright.cluster.crds._definitions import CLEANUP, DefinitionStrategy
from kubewright.cluster.crds._versions import VersionTypes
from kubewright.cluster.machinery._authors import writing_as
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import forbidden, not_found
from kubewright.cluster.machinery._json import UnreadableJSON, decode_json
from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.cluster.machinery._responses import ApiResponse
from kubewright.cluster.output._format import output_format
from kubewright.cluster.registry._api_services import sync_api_services
from kubewright.cluster.registry._delete import (
    DeleteOptions,
    admit_deletion,
    check_preconditions,
    delete_object,
    deletion_attributes,
    read_options,
)
from kubewright.cluster.registry._field_managers import manager_of
from kubewright.cluster.registry._store import commit
from kubewright.cluster.storage._storage import Entry, Event

if TYPE_CHECKING:
    from kubewright.cluster.openapi import CustomKind

__all__ = ["Definitions"]

_MANAGER: Final = "kube-apiserver"
_RULES: Final = b"x-kubernetes-validations"
_DELETIONS_PER_TURN: Final = 16
_WRITES: Final = ("create", "update", "patch", "delete", "deletecollection")


class Definitions:
    """The definitions of one server."""

    def __init__(self, state: State, write: Callable[[Call], Awaitable[ApiResponse]]) -> None:
        found = state.types.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        assert found is not None
        found.make_strategy = partial(DefinitionStrategy, found.api_version, found.kind, found.qualified)
        self.resource = found.qualified
        self._state = state
        self._type = found
        self._write = write
        self._served: dict[str, tuple[int, list[ResourceType]]] = {}
        self._kinds: dict[str, list[CustomKind]] = {}
        """The kinds of each definition for OpenAPI documents, made on first use."""
        self._terminating: dict[str, str] = {}
        self._undeleted: dict[str, deque[Entry]] = {}
        """Objects of deleted definitions whose deletion was not requested yet, by definition."""
        self._again: asyncio.Handle | None = None

    def start(self) -> None:
        """Serves the definitions that the storage contains already."""
        self._state.custom_kinds = self.kinds
        self.settle()

    async def override(self, state: State, call: Call) -> ApiResponse | None:
        """Serves writes of definitions, and rejects creates of a kind that is being deleted."""
        if call.type is self._type and call.verb in _WRITES:
            if _RULES in (call.request.body or b""):
                await load()
            try:
                return await (self._delete(call) if call.verb == "delete" else self._write(call))
            finally:
                self.settle()
        if call.verb == "create" and call.type.storage in self._terminating:
            text = "create not allowed while custom resource definition is terminating"
            raise forbidden(call.type, _name_in(call), text)
        return None

    def kinds(self) -> list[CustomKind]:
        """Returns the custom kinds for OpenAPI documents. A kind stays the same object until its definition changes."""
        for name, (_, types) in self._served.items():
            if name not in self._kinds:
                self._kinds[name] = [_custom_kind(type_) for type_ in types]
        return [kind for name in self._served for kind in self._kinds[name]]

    def restored(self) -> None:
        """Starts again from the stored definitions after all objects were restored."""
        self._terminating.clear()
        self._undeleted.clear()
        self.settle()

    # Synchronization

    @writing_as()
    def settle(self) -> None:
        """Synchronizes the served kinds with the stored definitions."""
        there = {entry.name: entry for entry in self._state.storage.entries(self._type.storage)}
        for name in [name for name in self._served if name not in there]:
            self._forget(name)
        for name, entry in there.items():
            if name in self._served and self._served[name][0] == entry.revision:
                continue
            self._settle_one(name, entry)
        sync_api_services(self._state)

    def _settle_one(self, name: str, entry: Entry) -> None:
        definition = decoded(self._type, entry)
        entry = self._accepted(definition, entry)
        definition = decoded(self._type, entry)
        if definition["metadata"].get("deletionTimestamp"):
            if self._empty(name, definition):
                entry = self._state.storage.get(self._type.storage, "", name) or entry
                self._released(name, entry)
                return
            entry = self._state.storage.get(self._type.storage, "", name) or entry
        self._serve(name, definition, entry.revision)

    def _accepted(self, definition: JSONObject, entry: Entry) -> Entry:
        """Accepts the names of a definition unless another one uses them."""
        status = definition.get("status") or {}
        wanted, taken = definition["spec"]["names"], self._taken(definition)
        names = {**wanted}
        conflicts = [field for field in ("plural", "singular", "kind", "listKind") if wanted.get(field) in taken]
        conflicts += [short for short in wanted.get("shortNames") or () if short in taken]
        if conflicts:
            reason, message = _conflict(wanted, conflicts)
            conditions = _with(status.get("conditions"), "NamesAccepted", "False", reason, message, self._state.now())
            if not any(each["type"] == "Established" for each in conditions):
                text = "not all names are accepted"
                conditions = _with(conditions, "Established", "False", "NotAccepted", text, self._state.now())
            changed = {**status, "conditions": conditions}
        else:
            now = self._state.now()
            conditions = _with(
                status.get("conditions"), "NamesAccepted", "True", "NoConflicts", "no conflicts found", now
            )
            text = "the initial names have been accepted"
            if not any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
                conditions = _with(conditions, "Established", "True", "InitialNamesAccepted", text, now)
            changed = {**status, "acceptedNames": names, "conditions": conditions}
        return self._status_written(definition, entry, changed)

    def _taken(self, definition: JSONObject) -> set[str]:
        """Returns the names in a group that other kinds use."""
        group, plural = definition["spec"]["group"], definition["spec"]["names"]["plural"]
        others = [type_ for type_ in self._state.types if type_.group == group and type_.plural != plural]
        return {
            name
            for type_ in others
            for name in (type_.plural, type_.singular, type_.kind, type_.list_kind, *type_.short_names)
        }

    def _status_written(self, definition: JSONObject, entry: Entry, status: JSONObject) -> Entry:
        if definition.get("status") == status:
            return entry
        state = self._state
        changed = {**definition, "status": status}
        changed = manager_of(state, self._type, "status").update(definition, changed, _MANAGER, state.now())
        return commit(state, self._type, {**changed, "metadata": {**changed["metadata"]}}, entry)

    # Serving

    def _serve(self, name: str, definition: JSONObject, revision: int) -> None:
        self._kinds.pop(name, None)
        conditions = definition["status"].get("conditions") or ()
        if not any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
            self._served[name] = (revision, [])
            return
        make = VersionTypes(self._state, definition)
        types = [make.type_of(version) for version in definition["spec"]["versions"] if version.get("served")]
        kept = {(type_.group, type_.version, type_.plural) for type_ in types}
        for old in self._served.get(name, (0, []))[1]:
            self._state.managers = {key: made for key, made in self._state.managers.items() if key[0] is not old}
            if (old.group, old.version, old.plural) not in kept:
                self._state.types.remove(old.group, old.version, old.plural)
                self._state.end_watches(old.storage)
        for type_ in types:
            self._state.types.add(type_)
        self._served[name] = (revision, types)

    def _forget(self, name: str) -> None:
        self._undeleted.pop(name, None)
        self._kinds.pop(name, None)
        for type_ in self._served.pop(name)[1]:
            self._state.types.remove(type_.group, type_.version, type_.plural)
            self._terminating.pop(type_.storage, None)
            self._state.end_watches(type_.storage)

    # Deletion

    async def _delete(self, call: Call) -> ApiResponse:
        """Marks a definition for deletion, like the real server. It is kept until its objects are gone."""
        state, options = self._state, read_options(self._state, call)
        entry = state.storage.get(self._type.storage, "", call.name)
        if entry is None:
            raise not_found(self._type, call.name)
        definition = decoded(self._type, entry)
        check_preconditions(self._type, definition, options)
        metadata, status, now = definition["metadata"], definition["status"], state.now()
        if options.dry_run or metadata.get("deletionTimestamp"):
            return await self._write(call)
        await admit_deletion(state, deletion_attributes(call, call.name), decoded(self._type, entry), options)
        if state.storage.get(self._type.storage, "", call.name) is not entry:
            return await self._delete(call)  # it changed during admission
        finalizers = metadata.get("finalizers") or []
        metadata["deletionTimestamp"] = now
        metadata["finalizers"] = finalizers if CLEANUP in finalizers else [*finalizers, CLEANUP]
        text = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"
        conditions = _with(status.get("conditions"), "Terminating", "True", "InstanceDeletionPending", text, now)
        definition["status"] = {**status, "conditions": conditions}
        written = commit(state, self._type, definition, entry)
        return ApiResponse(output_format(call).encode_entry(state, written), warnings=call.warnings)

    def _empty(self, name: str, definition: JSONObject) -> bool:
        """Deletes the objects of a definition. Returns whether none is left."""
        types = self._served.get(name, (0, []))[1]
        if not types or CLEANUP not in (definition["metadata"].get("finalizers") or ()):
            return CLEANUP in (definition["metadata"].get("finalizers") or ())
        # Deletion needs no conversion.
        type_, storage = replace(types[0], conversion=None, stored_version=""), self._state.storage
        self._terminating[type_.storage] = name
        if name not in self._undeleted:
            self._undeleted[name] = deque(storage.entries(type_.storage))
        undeleted = self._undeleted[name]
        for _ in range(min(len(undeleted), _DELETIONS_PER_TURN)):
            key = undeleted.popleft()
            if (entry := storage.get(type_.storage, key.namespace, key.name)) is not None:
                _done(delete_object(self._state, type_, entry, DeleteOptions(), None))
        if undeleted:
            self._look_again_soon()
        elif not storage.count(type_.storage):
            return True
        storage.subscribe(type_.storage, self)
        if (held := storage.get(self._type.storage, "", name)) is not None:
            now, text = self._state.now(), "CustomResource deletion is in progress"
            current = decoded(self._type, held)
            conditions = _with(
                current["status"].get("conditions"), "Terminating", "True", "InstanceDeletionInProgress", text, now
            )
            self._status_written(current, held, {**current["status"], "conditions": conditions})
        return False

    def _released(self, name: str, entry: Entry) -> None:
        """Removes the cleanup finalizer after the last object is gone."""
        definition = decoded(self._type, entry)
        left = [each for each in definition["metadata"].get("finalizers") or () if each != CLEANUP]
        definition["metadata"]["finalizers"] = left
        if left:
            self._serve(name, definition, commit(self._state, self._type, definition, entry).revision)
            return
        del definition["metadata"]["finalizers"]
        for type_ in self._served.get(name, (0, []))[1]:
            self._state.storage.unsubscribe(type_.storage, self)
        self._state.storage.delete(self._type.storage, definition, entry)
        if name in self._served:
            self._forget(name)

    def offer(self, event: Event) -> None:
        """Schedules another check of a terminating kind after one of its objects was deleted."""
        if event.kind == "DELETED":
            self._look_again_soon()

    def _look_again_soon(self) -> None:
        if self._again is None:
            self._again = asyncio.get_running_loop().call_soon(self._look_again)

    @writing_as()
    def _look_again(self) -> None:
        self._again = None
        for name in list(self._terminating.values()):
            entry = self._state.storage.get(self._type.storage, "", name)
            if entry is not None:
                self._settle_one(name, entry)
        sync_api_services(self._state)


def _custom_kind(type_: ResourceType) -> CustomKind:
    from kubewright.cluster.openapi import CustomKind

    strategy = type_.strategy
    assert isinstance(strategy, CustomStrategy)
    return CustomKind(
        group=type_.group,
        version=type_.version,
        kind=type_.kind,
        list_kind=type_.list_kind,
        plural=type_.plural,
        namespaced=type_.namespaced,
        subresources=tuple(type_.subresources),
        selectable=strategy.selectable_paths,
        schema=strategy.openapi or None,
    )


def _done(deletion: Coroutine[Any, Any, object]) -> None:
    """Runs a deletion without admission to its end. Such a deletion never suspends."""
    try:
        deletion.send(None)
    except StopIteration:
        return
    raise AssertionError("a deletion without admission was suspended")


def _name_in(call: Call) -> str:
    try:
        body: Any = decode_json(call.request.body or b"{}")
    except UnreadableJSON:
        return ""
    name: str = (body.get("metadata") or {}).get("name", "") if isinstance(body, dict) else ""
    return name


def _conflict(wanted: JSONObject, conflicts: list[str]) -> tuple[str, str]:
    field = conflicts[0]
    reasons = {
        "plural": "PluralConflict",
        "singular": "SingularConflict",
        "kind": "KindConflict",
        "listKind": "ListKindConflict",
    }
    name = wanted.get(field, field)
    return reasons.get(field, "ShortNamesConflict"), f'"{name}" is already in use'


def _with(conditions: Any, type_: str, status: str, reason: str, message: str, now: str) -> list[JSONObject]:
    """Returns the conditions with this one; its transition time changes only with its status."""
    made = {"type": type_, "status": status, "lastTransitionTime": now, "reason": reason, "message": message}
    result = []
    for condition in conditions or ():
        if condition["type"] != type_:
            result.append(condition)
            continue
        if condition["status"] == status:
            made["lastTransitionTime"] = condition.get("lastTransitionTime", now)
        result.append(made)
    return result if any(each["type"] == type_ for each in result) else [*result, made]
