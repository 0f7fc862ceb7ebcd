"""The status as server-side apply: each controller declares its own fields, under its own field manager.

Controllers that declare different fields of one status do not touch each other's. A field that a controller no longer
declares is removed, unless another manager declares it too.

`StatusApplier.look` returns the fields that this controller has declared so far. `StatusApplier.write` declares new
ones. The declarations are kept in bounded memory (`StatusDeclarations`). If an object has a status but no remembered
declaration, it is read from the server once, because caches do not keep managed fields. At that point the updates of
earlier releases are taken over, guarded by the resourceVersion, as client-go's csaupgrade does.
"""

from __future__ import annotations

import logging
import re
from hashlib import blake2b
from typing import Any, Final, Generic, TypeAlias, TypeVar

import msgspec

from kubewright.api import Object, ObjectMeta, ResourceInfo, Untyped, decode, info_of
from kubewright.arguments import LONGEST_FIELD_MANAGER, first_bytes
from kubewright.cache import ObjectKey, Snapshot
from kubewright.client import Client, Conflict, Forbidden, JsonPatch
from kubewright.controller._reconcile import NotDeclared
from kubewright.controller.apply import Outdated
from kubewright.controller.fields import content_of, digest, projection, status_fields, status_taken_over
from kubewright.controller.status._declaration import Declaration, FieldConflict
from kubewright.controller.status._fields import Removed
from kubewright.diff import ListKeys
from kubewright.lru import LRUMemory

__all__ = ["StatusApplier", "StatusDeclarations", "status_manager"]

R = TypeVar("R", bound=Object)

_logger = logging.getLogger("kubewright.controller")

_VERSIONS: Final = 10_000
_REPORTED: Final = 10_000  # bounded, because map keys are field names, too
_MANAGER = re.compile(r'conflict with "([^"]*)"')

StatusKey: TypeAlias = tuple[str, type[Object], ObjectKey]


class StatusDeclarations:
    """The declarations of an operator's controllers. Bounded: the least recently used are dropped."""

    def __init__(self, remember: int = 100_000) -> None:
        self.may_take_over = True
        """False after the server has refused a write of managed fields."""
        self._declarations: LRUMemory[StatusKey, bytes] = LRUMemory(remember)
        self._controllers: dict[type[Object], set[str]] = {}
        self._versions: LRUMemory[tuple[type[Object], ObjectKey, str], bool] = LRUMemory(_VERSIONS)
        self._reported: LRUMemory[tuple[str, type[Object], str], bool] = LRUMemory(_REPORTED)
        self._untyped: dict[ResourceInfo, type[Untyped]] = {}

    def add_controller(self, kind: type[Object], name: str) -> bool:
        """Adds a controller that reconciles the kind, and may write its status. Returns whether it is the first."""
        controllers = self._controllers.setdefault(kind, set())
        controllers.add(name)
        return len(controllers) == 1

    def is_shared(self, kind: type[Object]) -> bool:
        """Returns whether several controllers of this operator reconcile the kind."""
        return len(self._controllers.get(kind, ())) > 1

    def is_first(self, controller: str, kind: type[Object], field: str) -> bool:
        """Returns True once for each controller, kind and field."""
        return self._reported.put((controller, kind, field), True) is None

    def note(self, written: Object) -> None:
        """Records the answer to a write of a status by any controller of this operator."""
        self._versions.put((type(written), ObjectKey.of(written), written.metadata.resource_version), True)

    def is_own(self, snapshot: Snapshot[Any]) -> bool:
        """Returns whether the latest change of an object is a status that this operator wrote."""
        return self._versions.get((snapshot.kind, snapshot.key, str(snapshot.resource_version))) is not None

    def get(self, place: StatusKey, uid: str) -> Declaration | None:
        """Returns the declaration for the object with this uid."""
        if (stored := self._declarations.get(place)) is None:
            return None
        found = msgspec.msgpack.decode(stored, type=Declaration)
        return found if found.uid == uid else None

    def put(self, place: StatusKey, declaration: Declaration) -> None:
        """Stores a declaration."""
        self._declarations.put(place, msgspec.msgpack.encode(declaration))

    def forget(self, place: StatusKey) -> None:
        """Drops a declaration that may be outdated."""
        self._declarations.pop(place)

    def untyped(self, info: ResourceInfo) -> type[Untyped]:
        """Returns the class with which a part of an object is sent. A model would add its defaults."""
        if (found := self._untyped.get(info)) is None:
            found = self._untyped[info] = Untyped.kind_of(
                info.api_version,
                info.kind,
                plural=info.plural,
                namespaced=info.namespaced,
                subresources=info.subresources,
            )
        return found


def status_manager(operator: str, controller: str) -> str:
    """Returns the field manager of a controller's status. It is stable across restarts and releases.

    A name that is longer than the server's limit, which counts bytes, is shortened and ends with a digest.
    """
    name = f"{operator}-{controller}-status"
    encoded = name.encode()
    if len(encoded) <= LONGEST_FIELD_MANAGER:
        return name
    mark = blake2b(encoded, digest_size=8).hexdigest()
    return f"{first_bytes(name, LONGEST_FIELD_MANAGER - len(mark) - 1)}-{mark}"


class StatusApplier(Generic[R]):
    """Declares the status of one object, for one controller."""

    def __init__(
        self, client: Client, statuses: StatusDeclarations, kind: type[R], key: ObjectKey, controller: str
    ) -> None:
        self._client = client
        self._statuses = statuses
        self._kind = kind
        self._info = info_of(kind)
        self._key = key
        self._place: StatusKey = (controller, kind, key)
        self.manager = status_manager(client.field_manager, controller)

    async def look(self, raw: bytes, given: Any) -> tuple[Declaration, R | None]:
        """Returns the declaration for the object in `raw`, and the object if its managed fields had to be written.

        `given` has the fields that are about to be declared. Raises `Outdated` if the object has changed since.
        """
        before = _decoded(raw)
        uid = before["metadata"].get("uid", "")
        if (known := self._statuses.get(self._place, uid)) is not None:
            return known, None
        if not before.get("status"):
            return Declaration(uid=uid), None
        live = await self._client.get(self._kind, self._key.name, self._key.namespace or None)
        content = _decoded(_raw_of(live))
        entries = content["metadata"].get("managedFields") or []
        only = given if self._statuses.is_shared(self._kind) else None
        taken = status_taken_over(entries, self.manager, self._client.field_manager, self._info.api_version, only=only)
        written: R | None = None
        if taken is not None:
            if content["metadata"].get("resourceVersion") != before["metadata"].get("resourceVersion"):
                raise Outdated(f"{live} has changed since it was read; reconcile again", live)
            written = await self._note_fields(live, taken)
            entries = taken
        fields = status_fields(entries, self.manager)
        status = content.get("status")
        declared = content_of(status, fields) if fields and isinstance(status, dict) else {}
        return Declaration(
            uid=uid,
            content=declared,
            atomic=_atomic(entries, status),
            taken_over=tuple(declared) if taken is not None else (),
        ), written

    async def _note_fields(self, live: R, entries: list[dict[str, Any]]) -> R | None:
        """Writes the managed fields, which the server accepts only at the object itself.

        Roles of earlier releases do not allow that. In that case `write` removes undeclared fields explicitly.
        """
        if not self._statuses.may_take_over:
            return None
        meta = live.metadata
        patch = JsonPatch([_guard(meta.resource_version), _operation("replace", "/metadata/managedFields", entries)])
        try:
            return await self._client.patch(self._kind, meta.name, patch, meta.namespace or None)
        except (Forbidden, NotDeclared) as error:
            self._statuses.may_take_over = False
            _logger.info(
                "cannot take over the managed fields of earlier releases; fields are removed explicitly instead: %s",
                error,
            )
            return None

    async def write(
        self, raw: bytes, declared: Declaration, wanted: dict[str, Any]
    ) -> tuple[R | None, tuple[FieldConflict, ...]]:
        """Declares `wanted`. Returns the written object, or None if nothing had to be sent; and the conflicts.

        The write is guarded by the resourceVersion in `raw`. Raises `Conflict` if the object has changed since.
        """
        before = _decoded(raw)
        seen = self._seen(before.get("status"), wanted, declared.atomic)
        if wanted == declared.content and (seen == wanted if declared.seen is None else digest(seen) == declared.seen):
            if declared.seen is None:
                self._remember(declared, wanted, seen, declared.atomic)
            return None, ()
        sent = self._statuses.untyped(self._info)(
            metadata=ObjectMeta(
                name=self._key.name,
                namespace=self._key.namespace,
                resource_version=before["metadata"].get("resourceVersion", ""),
            ),
            content={"status": wanted} if wanted else {},  # the server rejects an empty status as null
        )
        try:
            answer, conflicts = await self._send(sent, wanted)
        except BaseException:
            # The server may have stored the write. So the declared fields are unknown, and the next write reads them.
            self._statuses.forget(self._place)
            raise
        if left := self._left_behind(_decoded(answer), declared.content.keys() - wanted.keys()):
            answer = await self._remove(_decoded(answer), left)
        written = decode(self._kind, answer)
        after = _decoded(answer)
        status = after.get("status")
        atomic = _atomic(after["metadata"].get("managedFields") or [], status)
        self._remember(declared, wanted, self._seen(status, wanted, atomic), atomic)
        return written, conflicts

    async def _send(self, sent: Untyped, wanted: dict[str, Any]) -> tuple[bytes, tuple[FieldConflict, ...]]:
        """Applies without force first: the server's 409 lists the fields and managers that force would override."""
        try:
            answer = await self._client.apply(sent, field_manager=self.manager, subresource="status")
        except Conflict as error:
            conflicts = _conflicts(error, wanted)
            if not conflicts:
                raise
        else:
            return _raw_of(answer), ()
        answer = await self._client.apply(sent, field_manager=self.manager, subresource="status", force=True)
        return _raw_of(answer), conflicts

    def _left_behind(self, after: dict[str, Any], dropped: set[str]) -> list[str]:
        """Returns undeclared fields that remain only because an earlier release set them by updates."""
        entries = after["metadata"].get("managedFields") or []
        sets = [(one.get("manager"), (one.get("fieldsV1") or {}).get("f:status") or {}) for one in entries]
        there = dropped & (after.get("status") or {}).keys()
        owners = {name: [manager for manager, fields in sets if f"f:{name}" in fields] for name in there}
        return sorted(name for name, found in owners.items() if found == [self._client.field_manager])

    async def _remove(self, after: dict[str, Any], names: list[str]) -> bytes:
        removals = [_operation("remove", Removed((name,)).pointer) for name in names]
        patch = JsonPatch([_guard(after["metadata"]["resourceVersion"]), *removals])
        name, namespace = self._key.name, self._key.namespace or None
        return _raw_of(await self._client.patch(self._kind, name, patch, namespace, subresource="status"))

    def _seen(self, status: Any, wanted: Any, atomic: frozenset[str]) -> Any:
        """Returns the status at the paths that `wanted` declares."""
        keyed = "conditions" in wanted and "conditions" not in atomic
        if keyed and isinstance(status, dict) and issubclass(self._kind, Untyped):  # no model has the map key
            types = {one.get("type") for one in wanted["conditions"]}
            ours = [one for one in status.get("conditions") or () if one.get("type") in types]
            status = status | {"conditions": ours}
        return projection(status, wanted, ListKeys(self._kind).member("status"))

    def _remember(self, declared: Declaration, content: dict[str, Any], seen: Any, atomic: frozenset[str]) -> None:
        known = Declaration(uid=declared.uid, content=content, seen=digest(seen), atomic=atomic)
        self._statuses.put(self._place, known)


def _guard(resource_version: str) -> dict[str, Any]:
    return _operation("replace", "/metadata/resourceVersion", resource_version)


def _operation(op: str, path: str, value: Any = ...) -> dict[str, Any]:
    return {"op": op, "path": path} | ({} if value is ... else {"value": value})


def _conflicts(error: Conflict, wanted: dict[str, Any]) -> tuple[FieldConflict, ...]:
    lists = {f"status.{name}" for name, value in wanted.items() if isinstance(value, list)}
    found = []
    for cause in error.causes:
        if cause.reason == "FieldManagerConflict":
            named = _MANAGER.search(cause.message)
            field = cause.field.lstrip(".")
            found.append(FieldConflict(field, named.group(1) if named else "", field in lists))
    return tuple(found)


def _atomic(entries: list[dict[str, Any]], status: Any) -> frozenset[str]:
    """Returns the atomic lists of a status: those that a manager owns as a whole."""
    if not isinstance(status, dict):
        return frozenset()
    lists = [name for name, value in status.items() if value and isinstance(value, list)]
    sets = [fields for entry in entries if (fields := (entry.get("fieldsV1") or {}).get("f:status"))]
    return frozenset(name for name in lists if any(fields.get(f"f:{name}") == {} for fields in sets))


def _decoded(raw: bytes) -> dict[str, Any]:
    content: dict[str, Any] = msgspec.json.decode(raw, type=dict[str, Any])
    return content


def _raw_of(obj: Object) -> bytes:
    assert obj.metadata.origin is not None
    return obj.metadata.origin.raw
