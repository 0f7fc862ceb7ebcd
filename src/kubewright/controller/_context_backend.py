"""`ContextBackend`: the state of one reconcile, and everything that it writes. Both contexts delegate to it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from kubewright.api import (
    ConditionStatus,
    Object,
    ResourceInfo,
    decode,
    info_of,
    set_controller,
)
from kubewright.cache import ObjectKey, Snapshot
from kubewright.client import NotFound, Propagation, Status
from kubewright.client.wire import info_of_object, object_name
from kubewright.controller._enqueuing import Enqueuer
from kubewright.controller._environment import Environment
from kubewright.controller._object_logger import ObjectLogger
from kubewright.controller._write_loops import Written, written_part
from kubewright.controller.apply import WriteConflict
from kubewright.controller.status import (
    FieldConflict,
    PendingConditions,
    StatusWriter,
    WriteKind,
    refuse_changed_status,
)
from kubewright.observe import Reconcile

if TYPE_CHECKING:
    from kubewright.api.core.v1 import ObjectReference
    from kubewright.events import EventType

__all__ = ["ContextBackend"]

R = TypeVar("R", bound=Object)
O = TypeVar("O", bound=Object)  # noqa: E741
T = TypeVar("T")


class ContextBackend(msgspec.Struct, Generic[R], eq=False):
    """The state of one reconcile. Everything that writes goes through here, and is seen by the caches at once."""

    environment: Environment
    kind: type[R]
    info: ResourceInfo
    key: ObjectKey
    object: R | None
    trace: Reconcile
    trigger: str
    changed: bool = False
    conditions: PendingConditions = msgspec.field(default_factory=dict)
    """Those that are to be written, by type; None is one to be removed."""
    ended: bool = False
    """Whether the reconciler has returned or raised: what it left to be written is being written, or was."""
    status_conflicts: tuple[FieldConflict, ...] = ()
    """The status fields that the last write took over from other field managers."""
    enqueuer: Enqueuer | None = None
    """Is notified of each write, because the event about it may not need a reconcile."""
    paused_until: float | None = None
    """When the first of the objects may be put back that another program undoes each time, by the monotonic clock."""
    _created: list[Object] = msgspec.field(default_factory=list)
    """Objects that were created since the last other write."""
    _raw: bytes | None = None
    _stopped: BaseException | None = None
    _pending: Future[Any] | None = None
    _log: ObjectLogger | None = None

    def __repr__(self) -> str:
        # Never the content, which may be that of a Secret: some tracebacks show variables.
        return f"<ContextBackend of {self.info.kind} {self.key}>"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("kind", self.info.kind), ("key", self.key)]

    @property
    def controller(self) -> str:
        """The name of the controller that reconciles the object."""
        return self.trace.controller

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
        self._pending = future = asyncio.run_coroutine_threadsafe(self._served(work), self.environment.loop)
        try:
            return future.result()
        except CancelledError:
            self.check()
            raise
        finally:
            self._pending = None

    async def _served(self, work: Coroutine[Any, Any, T]) -> T:
        """Await what a thread waits for. Meanwhile the thread does not hold the clock, which the work may need."""
        with self.environment.clock.serving(self):
            return await work

    def check(self) -> None:
        """Raise what the backend was stopped with."""
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
        namespace = self._namespace(info_of(kind), namespace)
        return self.environment.caches.informer(kind).lister.get(name, namespace)

    def owned(self, kind: type[O]) -> list[O]:
        """See `Context.owned`."""
        uid = self.object.metadata.uid if self.object is not None else self._cached().uid
        return self.environment.caches.informer(kind).lister.by_owner(uid)

    def record(self, reason: str, message: str, type_: EventType, action: str) -> None:
        """See `Context.record`."""
        self.environment.recorder.record(self.reference(), reason, message, type_, action=action)

    # Writing

    async def apply(
        self, obj: O, *, adopt: bool, owned: bool, release: Sequence[str], optimistic_lock: bool = False
    ) -> O:
        """See `Context.apply`."""
        self.check()
        owner = (self.object or self.primary()) if owned else None
        placed = self._placed(obj)
        if advice := self.environment.undeclared_writes.check(self.trace.controller, placed):
            self.log.warning("%s", advice)
        before = self.environment.caches.get(type(obj), ObjectKey.of(placed))
        try:
            applied = await self.environment.applier.apply(
                owner,
                placed,
                adopt=adopt,
                release=release,
                optimistic_lock=optimistic_lock,
                writer=f"{self.info.kind} {self.key}",
            )
        except WriteConflict as error:
            return self._left_as_it_is(error, type(obj))
        if applied.written:
            self.changed = True
            raw = before.raw if before is not None else None
            self._tell_change(applied.object, raw)
            self._saw_if_primary(applied.object)
            self._note_write(applied.object, raw, "create" if applied.created else "update")
        return applied.object

    def _left_as_it_is(self, error: WriteConflict, kind: type[O]) -> O:
        """Tell it, and remember when to try again. The reconcile goes on: its other objects are not contested."""
        until = self.environment.clock.monotonic() + error.retry_after
        self.paused_until = until if self.paused_until is None else min(until, self.paused_until)
        self.log.log(logging.WARNING if error.should_report else logging.DEBUG, "%s", error)
        if error.should_report:
            with contextlib.suppress(Exception):  # an event never fails anything
                self.record("Contested", str(error), "Warning", "Apply")
        assert isinstance(error.existing, kind)
        return error.existing

    async def prune(self, kinds: Iterable[type[Object]], keep: Iterable[Object]) -> int:
        """See `Context.prune`."""
        self.check()
        if isinstance(kinds, type):
            raise TypeError(f"prune takes the kinds in a list: prune([{kinds.__name__}], keep=...)")
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
        self.noted(made, how="create")
        return made

    async def update(self, obj: O) -> O:
        """See `Context.update`."""
        self.check()
        if isinstance(obj, Object):
            refuse_changed_status(obj)
        updated = await self.environment.client.update(obj)
        if updated is not obj:
            origin = obj.metadata.origin
            self.noted(updated, origin.raw if origin is not None else None)
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
            name, namespace, uid = object_name(target), target.metadata.namespace, target.metadata.uid or None
        key = ObjectKey(self._namespace(info_of(kind), namespace), name)
        try:
            kept = await self.environment.client.delete(
                kind, key.name, key.namespace or None, propagation=propagation, uid=uid
            )
        except NotFound:
            return False
        self.changed = True
        if kept is not None:
            self.noted(kept)
            return True
        if uid is None and (snapshot := self.environment.caches.get(kind, key)) is not None:
            uid = snapshot.uid
        if uid is not None:
            self.environment.caches.removed(kind, key, uid)
        return True

    async def set_status(self, status: Any) -> None:
        """See `Context.set_status`."""
        self.check()
        await StatusWriter(self).set(status)

    async def patch_status(self, fields: Mapping[str, Any] | None, named: dict[str, Any]) -> None:
        """See `Context.patch_status`."""
        self.check()
        await StatusWriter(self).patch(fields, named)

    async def replace_status(self, status: Any) -> None:
        """See `replace_status`."""
        self.check()
        await StatusWriter(self).replace(status)

    def set_condition(self, type_: str, status: bool | ConditionStatus, reason: str, message: str) -> bool:
        """See `Context.set_condition`."""
        self._check_not_ended(type_)
        return StatusWriter(self).set_condition(type_, status, reason, message)

    def remove_condition(self, type_: str) -> bool:
        """See `Context.remove_condition`."""
        self._check_not_ended(type_)
        return StatusWriter(self).remove_condition(type_)

    def _check_not_ended(self, type_: str) -> None:
        """Conditions are written when the reconcile ends: one that is set later would be lost."""
        self.check()
        if self.ended:
            raise RuntimeError(
                f"condition {type_!r} of {self.info.kind} {self.key} was set after its reconcile ended, so it would"
                " never be written. Await the task that sets it before the reconciler returns"
            )

    async def flush(self) -> None:
        """Write the conditions that no write of the status has taken along."""
        self.check()
        await StatusWriter(self).flush()

    # Inside

    def noted(self, written: Object, before: bytes | None = None, *, how: WriteKind = "update") -> None:
        """This was just written: let the caches, the history and later writes of this backend see it."""
        self.changed = True
        self.environment.caches.written(written)
        self._tell_change(written, before)
        self._saw_if_primary(written)
        self._note_write(written, before, how)

    def _note_write(self, written: Object, before: bytes | None, how: WriteKind) -> None:
        """Let the controller know which events are echoes, and what this reconcile writes again and again."""
        if self.enqueuer is None or written.metadata.origin is None:
            return
        for created in self._created:  # the reconciler went on after it: it does not wait to be woken by it
            self.enqueuer.own_writes.note(created, self.key)
        self._created.clear()
        if how == "create":
            self._created.append(written)
        elif how == "status":
            self.enqueuer.own_writes.note(written, self.key)
            self.environment.statuses.note(written)
        managers = tuple(one.manager for one in self.status_conflicts) if how == "status" else ()
        part = written_part(written, before, status=how in ("status", "replaced status"))
        self.enqueuer.wrote(self.key, part, Written(before, written.metadata.origin.raw, managers))

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
        """A copy of the object, in the namespace of the one that is being reconciled unless it has its own.

        Raises ValueError where its kind and its namespace do not fit: the server's answer would not say what to do.
        """
        info, meta = info_of_object(obj), obj.metadata
        namespace = self._namespace(info, meta.namespace)
        if meta.namespace and not info.namespaced:
            raise ValueError(f"{obj} cannot be in a namespace: {info} is cluster-scoped. Leave metadata.namespace out")
        if info.namespaced and not namespace:
            raise ValueError(
                f"{obj} needs a namespace: {self.info.kind} {self.key} has none to share. Set metadata.namespace"
            )
        placed = msgspec.structs.replace(meta, namespace=namespace, owner_references=list(meta.owner_references))
        placed.remember(meta.origin)
        return msgspec.structs.replace(obj, metadata=placed)
