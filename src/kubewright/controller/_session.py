"""`Session`: one reconcile of one object, and all that is written during it. The contexts are two faces of it."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Coroutine, Iterable, MutableMapping, Sequence
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from kubewright.api import Object, ResourceInfo, decode, info_of, remove_condition, set_condition, set_controller
from kubewright.api._conditions import ConditionStatus
from kubewright.cache import ObjectKey, Snapshot
from kubewright.client import JsonPatch, NotFound, Propagation, Status, Trace
from kubewright.controller._environment import Environment
from kubewright.controller._status import put_status, status_changes, status_of
from kubewright.observe import Reconcile

if TYPE_CHECKING:
    from kubewright.api.core.v1 import ObjectReference
    from kubewright.events import EventType

__all__ = ["ObjectLogger", "Session"]

R = TypeVar("R", bound=Object)
O = TypeVar("O", bound=Object)  # noqa: E741
T = TypeVar("T")

logger = logging.getLogger("kubewright.controller")


class ObjectLogger(logging.LoggerAdapter[logging.Logger]):
    """A logger whose lines begin with the object. Its records carry `controller`, `kind`, `object` and `trace`."""

    def __init__(self, controller: str, kind: str, key: ObjectKey, trace: Trace | None = None) -> None:
        super().__init__(logger.getChild(controller), {"controller": controller, "kind": kind, "object": str(key)})
        self._trace = trace
        self._prefix = f"{kind} {key}: ".replace("%", "%%")

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Add the object to the line and to the record."""
        traced = {"trace": str(self._trace)} if self._trace is not None else {}
        kwargs["extra"] = {**(self.extra or {}), **traced, **(kwargs.get("extra") or {})}
        return f"{self._prefix}{msg}", kwargs


class Session(msgspec.Struct, Generic[R], eq=False):
    """The state of one reconcile. Everything that writes goes through here, and is seen by the caches at once."""

    environment: Environment
    kind: type[R]
    info: ResourceInfo
    key: ObjectKey
    object: R | None
    trace: Reconcile
    trigger: str
    changed: bool = False
    conditions: dict[str, tuple[bool | ConditionStatus, str, str] | None] = msgspec.field(default_factory=dict)
    """Those that are to be written, by type; None is one to be removed."""
    _raw: bytes | None = None
    _stopped: BaseException | None = None
    _pending: Future[Any] | None = None
    _log: ObjectLogger | None = None

    def __repr__(self) -> str:
        # Never the content, which may be that of a Secret: some tracebacks show variables.
        return f"<Session of {self.info.kind} {self.key}>"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("kind", self.info.kind), ("key", self.key)]

    @property
    def attempt(self) -> int:
        """1 at first; grows while the reconcile of this key fails."""
        return self.trace.attempt

    @property
    def log(self) -> ObjectLogger:
        """The logger of this object."""
        if self._log is None:
            self._log = ObjectLogger(self.trace.controller, self.info.kind, self.key, self.trace)
        return self._log

    def stop(self, reason: BaseException) -> None:
        """Let every further call raise this: the reconcile is over, although a thread may not know it yet."""
        self._stopped = reason
        if self._pending is not None:
            self._pending.cancel()

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something in the operator's event loop, from a thread, and wait for it."""
        if self._stopped is not None:
            work.close()
            raise self._stopped
        self._pending = future = asyncio.run_coroutine_threadsafe(work, self.environment.loop)
        try:
            return future.result()
        except CancelledError:
            self.check()
            raise
        finally:
            self._pending = None

    def check(self) -> None:
        """Raise what the session was stopped with."""
        if self._stopped is not None:
            raise self._stopped

    # The object itself

    @property
    def raw(self) -> bytes:
        """The object as this reconcile last read or wrote it. Raises NotFound when it is absent."""
        if self._raw is None:
            origin = self.object.metadata.origin if self.object is not None else None
            self._raw = origin.raw if origin is not None else self._cached().raw
        return self._raw

    def primary(self) -> R:
        """The object as last read or written, private to the caller."""
        return decode(self.kind, self.raw)

    def saw(self, obj: Object) -> None:
        """This is the object as the server has it now; later writes compare with it."""
        assert obj.metadata.origin is not None
        self._raw = obj.metadata.origin.raw

    def reference(self) -> ObjectReference:
        """The object as events name it."""
        from kubewright.api.core.v1 import ObjectReference

        snapshot = self.environment.caches.informer(self.kind).lister.snapshot(self.key)
        uid = self.object.metadata.uid if self.object is not None else snapshot.uid if snapshot is not None else None
        return ObjectReference(
            api_version=self.info.api_version,
            kind=self.info.kind,
            name=self.key.name,
            namespace=self.key.namespace or None,
            uid=uid,
        )

    def _cached(self) -> Snapshot[R]:
        snapshot = self.environment.caches.informer(self.kind).lister.snapshot(self.key)
        if snapshot is None:
            raise NotFound(Status(code=404, reason="NotFound", message=f"{self.info.kind} {self.key} is not there"))
        return snapshot

    # Reading and telling

    def read(self, kind: type[O], name: str, namespace: str | None) -> O | None:
        """See `Context.get`."""
        found = self.environment.caches.informer(kind).lister
        return found.get(name, self._namespace(info_of(kind), namespace))

    def owned(self, kind: type[O]) -> list[O]:
        """See `Context.owned`."""
        uid = self.object.metadata.uid if self.object is not None else self._cached().uid
        return self.environment.caches.informer(kind).lister.by_owner(uid)

    def record(self, reason: str, message: str, type_: EventType, action: str) -> None:
        """See `Context.record`."""
        self.environment.recorder.record(self.reference(), reason, message, type_, action=action)

    # Writing

    async def apply(self, obj: O, *, adopt: bool, owned: bool, release: Sequence[str]) -> O:
        """See `Context.apply`."""
        self.check()
        owner = (self.object or self.primary()) if owned else None
        placed = self._placed(obj)
        if advice := self.environment.declared.advice(self.trace.controller, type(obj)):
            self.log.warning("%s", advice)
        before = self.environment.caches.get(type(obj), ObjectKey.of(placed))
        applied = await self.environment.applier.apply(owner, placed, adopt=adopt, release=release)
        if applied.written:
            self.changed = True
            self._tell_change(applied.object, before.raw if before is not None else None)
            self._saw_if_primary(applied.object)
        return applied.object

    async def prune(self, kinds: Iterable[type[Object]], keep: Iterable[Object]) -> int:
        """See `Context.prune`."""
        self.check()
        kept = [self._placed(obj) for obj in keep]
        pruned = await self.environment.applier.prune(self.object or self.primary(), kinds, kept)
        self.changed = self.changed or bool(pruned)
        return len(pruned)

    async def create(self, obj: O, *, owned: bool) -> O:
        """See `Context.create`."""
        self.check()
        obj = self._placed(obj)
        if owned:
            set_controller(obj, owner=self.object or self.primary())
        made = await self.environment.client.create(obj)
        self._noted(made)
        return made

    async def update(self, obj: O) -> O:
        """See `Context.update`."""
        self.check()
        origin = obj.metadata.origin
        updated = await self.environment.client.update(obj)
        if updated is not obj:
            self._noted(updated, origin.raw if origin is not None else None)
        return updated

    async def delete(
        self,
        target: Object | type[Object],
        name: str | None,
        namespace: str | None,
        propagation: Propagation | None,
    ) -> bool:
        """See `Context.delete`."""
        self.check()
        kind = target if isinstance(target, type) else type(target)
        if isinstance(target, type):
            if not name:
                raise TypeError(f"delete({kind.__name__}) needs a name as well, or the object itself")
            uid = None
        else:
            name, namespace, uid = target.metadata.name, target.metadata.namespace, target.metadata.uid or None
        key = ObjectKey(self._namespace(info_of(kind), namespace), name)
        try:
            kept = await self.environment.client.delete(
                kind, key.name, key.namespace or None, propagation=propagation, uid=uid
            )
        except NotFound:
            return False
        self.changed = True
        if kept is not None:
            self._noted(kept)
            return True
        if uid is None and (snapshot := self.environment.caches.get(kind, key)) is not None:
            uid = snapshot.uid
        if uid is not None:
            self.environment.caches.removed(kind, key, uid)
        return True

    async def patch_status(self, status: Any) -> R:
        """See `Context.patch_status`."""
        self.check()
        return await self._write_status(self._with_conditions(status))

    def set_condition(self, type_: str, status: bool | ConditionStatus, reason: str, message: str) -> bool:
        """See `Context.set_condition`."""
        self.check()
        earlier = type_ in self.conditions
        self.conditions.pop(type_, None)
        if self._set(self._status_with_conditions(), type_, status, reason, message):
            self.conditions[type_] = (status, reason, message)
            self.changed = True
            return True
        return earlier

    def remove_condition(self, type_: str) -> bool:
        """See `Context.remove_condition`."""
        self.check()
        if not remove_condition(self._status_with_conditions(), type_):
            return False
        self.conditions[type_] = None
        self.changed = True
        return True

    def _status_with_conditions(self) -> Any:
        """A copy of the status as it will be, which has conditions."""
        target = self._with_conditions(status_of(self.primary()))
        if not hasattr(target, "conditions"):
            raise TypeError(
                f"the status of {self.info.kind} has no conditions: give its model `conditions: list[Condition]`"
            )
        return target

    async def flush(self) -> None:
        """Write the conditions that no `patch_status` has written yet."""
        self.check()
        if self.conditions:
            await self._write_status(self._with_conditions(status_of(self.primary())))

    def _with_conditions(self, status: Any) -> Any:
        """A copy of the status with the conditions that it does not say anything about, and those set meanwhile."""
        if not hasattr(status, "conditions"):
            return status
        status = copy.copy(status)  # which may also be a pydantic model
        there = status_of(self.primary())
        kept = status.conditions or (there.conditions if there is not None else None)
        if kept is not None:
            status.conditions = [copy.copy(condition) for condition in kept]
        for type_, wanted in self.conditions.items():
            if wanted is None:
                remove_condition(status, type_)
            else:
                self._set(status, type_, *wanted)
        return status

    def _set(self, target: Any, type_: str, status: bool | ConditionStatus, reason: str, message: str) -> bool:
        generation = self.primary().metadata.generation or None
        now = self.environment.clock.now()
        return set_condition(target, type_, status, reason, message, now=now, observed_generation=generation)

    async def _write_status(self, status: Any) -> R:
        wanted = self.primary()
        known = status_of(wanted)
        put_status(wanted, status)
        operations = status_changes(self.kind, self.raw, known, status_of(wanted))
        told = dict(self.conditions)
        if not operations:
            self._forget_conditions(told)
            return wanted
        subresource = "status" if "status" in self.info.subresources else None
        before = self.raw
        written = await self.environment.client.patch(
            self.kind, self.key.name, JsonPatch(operations), self.key.namespace or None, subresource=subresource
        )
        self._forget_conditions(told)
        self._noted(written, before)
        return written

    def _forget_conditions(self, told: dict[str, Any]) -> None:
        """These are written; not those that were set meanwhile."""
        for type_, wanted in told.items():
            if self.conditions.get(type_, ...) is wanted:
                del self.conditions[type_]

    # Inside

    def _noted(self, written: Object, before: bytes | None = None) -> None:
        self.changed = True
        self.environment.caches.written(written)
        self._tell_change(written, before)
        self._saw_if_primary(written)

    def _tell_change(self, written: Object, before: bytes | None) -> None:
        """Let the history know what to compare, if somebody asks what was changed."""
        if (origin := written.metadata.origin) is not None:
            self.trace.changed(info_of(written), ObjectKey.of(written), before, origin.raw)

    def _saw_if_primary(self, written: Object) -> None:
        if type(written) is self.kind and ObjectKey.of(written) == self.key:
            self.saw(written)

    def _namespace(self, info: ResourceInfo, namespace: str | None) -> str:
        return (namespace or self.key.namespace) if info.namespaced else ""

    def _placed(self, obj: O) -> O:
        """A copy of the object, in the namespace of the one that is being reconciled unless it has its own."""
        meta = obj.metadata
        placed = msgspec.structs.replace(
            meta,
            namespace=self._namespace(info_of(obj), meta.namespace),
            owner_references=list(meta.owner_references),
        )
        placed.remember(meta.origin)
        return msgspec.structs.replace(obj, metadata=placed)
