"""`ContextBackend`: the state of one reconcile, and everything that it writes. Both contexts delegate to it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Mapping, Sequence
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
from kubewright.client.wire import object_name
from kubewright.controller._enqueuing import Enqueuer
from kubewright.controller._interruption import Interruptible
from kubewright.controller._object_logger import ObjectLogger
from kubewright.controller._placement import placed
from kubewright.controller._write_loops import Written, written_part
from kubewright.controller.apply import ImmutablePolicy, WriteConflict
from kubewright.controller.children import Child, ChildApplier, ChildKey, ChildRecord, Children
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


class ContextBackend(Interruptible, Generic[R], eq=False):
    """The state of one reconcile. All writes go through it, and the caches see them immediately."""

    kind: type[R]
    info: ResourceInfo
    key: ObjectKey
    object: R | None
    trace: Reconcile
    trigger: str
    changed: bool = False
    conditions: PendingConditions = msgspec.field(default_factory=dict)
    """The conditions to be written, by type; None for one to be removed."""
    ended: bool = False
    """Whether the reconciler has returned or raised. Pending conditions are written then."""
    status_conflicts: tuple[FieldConflict, ...] = ()
    """The status fields that the last write took over from other field managers."""
    enqueuer: Enqueuer | None = None
    """Is notified of each write, because the event about it may not need a reconcile."""
    paused_until: float | None = None
    """The end of the first pause because of a write conflict, by the monotonic clock."""
    prunable: tuple[type[Object], ...] = ()
    """The kinds of children that `apply_all` may delete."""
    children: ChildRecord | None = None
    """The children that this reconcile has applied and pruned; None if there are none."""
    _created: list[Object] = msgspec.field(default_factory=list)
    """Objects that were created since the last write of another kind."""
    _raw: bytes | None = None
    _log: ObjectLogger | None = None

    def __repr__(self) -> str:
        # Never the content, which may be a Secret: some tracebacks show variables.
        return f"<ContextBackend of {self.info.kind} {self.key}>"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("kind", self.info.kind), ("key", self.key)]

    @property
    def controller(self) -> str:
        """The name of the controller that reconciles the object."""
        return self.trace.controller

    @property
    def attempt(self) -> int:
        """1 for the first attempt; grows while the reconcile of this key fails."""
        return self.trace.attempt

    @property
    def log(self) -> ObjectLogger:
        """The logger of this object."""
        if self._log is None:
            self._log = ObjectLogger(self.trace.controller, self.info.kind, self.key, self.trace)
        return self._log

    # The object itself

    @property
    def raw(self) -> bytes:
        """The object as this reconcile last read or wrote it. Raises NotFound if it is absent."""
        if self._raw is None:
            origin = self.object.metadata.origin if self.object is not None else None
            self._raw = origin.raw if origin is not None else self._cached().raw
        return self._raw

    def primary(self) -> R:
        """Returns the object as last read or written, private to the caller."""
        return decode(self.kind, self.raw)

    def record_current(self, obj: Object) -> None:
        """Sets the current state of the object on the server. Later writes are compared with it."""
        assert obj.metadata.origin is not None
        self._raw = obj.metadata.origin.raw

    def reference(self) -> ObjectReference:
        """Returns the reference to the object for events."""
        from kubewright.api.core.v1 import ObjectReference

        snapshot = self.environment.caches.get(self.kind, self.key)
        uid = self.object.metadata.uid if self.object is not None else snapshot.uid if snapshot is not None else None
        return ObjectReference(
            api_version=self.info.api_version,
            kind=self.info.kind,
            name=self.key.name,
            namespace=self.key.namespace or None,
            uid=uid,
        )

    def _cached(self) -> Snapshot[R]:
        snapshot = self.environment.caches.get(self.kind, self.key)
        if snapshot is None:
            raise NotFound(Status(code=404, reason="NotFound", message=f"{self.info.kind} {self.key} is not cached"))
        return snapshot

    # Reading and reporting

    def read(self, kind: type[O], name: str, namespace: str | None) -> O | None:
        """See `Context.get`."""
        return self.environment.caches.read(kind, name, self._namespace(info_of(kind), namespace))

    def owned(self, kind: type[O]) -> list[O]:
        """See `Context.owned`."""
        uid = self.object.metadata.uid if self.object is not None else self._cached().uid
        return self.environment.caches.owned(kind).lister.by_owner(uid)

    def record(self, reason: str, message: str, type_: EventType, action: str) -> None:
        """See `Context.record`."""
        self.environment.recorder.record(self.reference(), reason, message, type_, action=action)

    # Writing

    async def apply(
        self,
        obj: O,
        *,
        adopt: bool,
        owned: bool,
        release: Sequence[str],
        optimistic_lock: bool = False,
        immutable: ImmutablePolicy = "fail",
    ) -> O:
        """See `Context.apply`."""
        self.check()
        owner = (self.object or self.primary()) if owned else None
        child = self._placed(obj)
        if owned:
            self.children = (self.children or ChildRecord()).with_child(child, self.prunable)
        if advice := self.environment.undeclared_writes.check(self.trace.controller, child):
            self.log.warning("%s", advice)
        before = self.environment.caches.get(type(obj), ObjectKey.of(child))
        try:
            applied = await self.environment.applier.apply(
                owner,
                child,
                adopt=adopt,
                release=release,
                optimistic_lock=optimistic_lock,
                immutable=immutable,
                writer=f"{self.info.kind} {self.key}",
            )
        except WriteConflict as error:
            return self._during_pause(error, type(obj))
        except NotFound as error:
            self.environment.caches.explain(error, child)
            raise
        if fields := applied.kept or applied.recreated:
            done = "are kept" if applied.kept else "would change, so it was deleted and created again"
            self.log.info("%s: its immutable fields %s %s", child, ", ".join(fields), done)
        if applied.written:
            self.changed = True
            raw = before.raw if before is not None and not before.partial else None
            self._record_history(applied.object, raw)
            self._record_current_if_primary(applied.object)
            self._record_own_write(applied.object, raw, "create" if applied.created else "update")
        return applied.object

    def _during_pause(self, error: WriteConflict, kind: type[O]) -> O:
        """Reports a write conflict and stores the end of the pause. The reconcile continues with its other objects."""
        until = self.environment.clock.monotonic() + error.retry_after
        self.paused_until = until if self.paused_until is None else min(until, self.paused_until)
        self.log.log(logging.WARNING if error.should_report else logging.DEBUG, "%s", error)
        if error.should_report:
            with contextlib.suppress(Exception):  # an event never fails a reconcile
                self.record("Contested", str(error), "Warning", "Apply")
        assert isinstance(error.existing, kind)
        return error.existing

    async def prune(self, kinds: Iterable[type[Object]], keep: Iterable[Object]) -> int:
        """See `Context.prune`."""
        self.check()
        if isinstance(kinds, type):
            raise TypeError(f"prune takes the kinds in a list: prune([{kinds.__name__}], keep=...)")
        kept, kinds = [self._placed(obj) for obj in keep], list(kinds)
        self.children = self.children or ChildRecord()
        self.children.pruned.update(kinds)
        pruned = await self.environment.applier.prune(self.object or self.primary(), kinds, kept)
        self.changed = self.changed or bool(pruned)
        return len(pruned)

    async def apply_all(
        self, children: Iterable[Object | Child[Any]], *, prune: bool, condition: str | None
    ) -> Children:
        """See `Context.apply_all`."""
        self.check()
        record = self.children = self.children or ChildRecord()
        if prune:
            record.check_may_prune(self.kind, self.prunable, self.environment.shared_children)
        return await ChildApplier(self, record, self._prune_children if prune else None).apply(children, condition)

    async def _prune_children(self) -> int:
        """Deletes the children that no call of this reconcile has applied, unless a cache is not in sync."""
        assert self.children is not None
        if not all(self.environment.caches.synced(kind) for kind in self.prunable):
            return 0
        self.children.pruned_set = True
        return await self.prune(self.prunable, self.children.applied)

    def warn_about_leftovers(self) -> None:
        """Logs children that were applied earlier, are missing from this reconcile's complete set, and remain."""
        record = self.children
        if record is None or not record.complete:
            return
        kinds = [kind for kind in self.prunable if kind not in record.pruned]
        with contextlib.suppress(NotFound):  # the object itself is gone
            found = self.environment.applier.leftovers(self.object or self.primary(), kinds, record.applied)
            for one in self.environment.leftovers.new(found):
                self.log.warning(
                    "%s %s was applied for this object earlier and is not applied any more; nothing deletes it before"
                    " its owner. Pass prune=True to ctx.apply_all, or delete it",
                    one.kind.__name__,
                    one.key,
                )

    def child_key(self, obj: Object) -> ChildKey:
        """Returns the key of a child, in its own namespace or that of the reconciled object."""
        return ChildKey.of(self._placed(obj))

    async def create(self, obj: O, *, owned: bool) -> O:
        """See `Context.create`."""
        self.check()
        obj = self._placed(obj)
        if owned:
            set_controller(obj, owner=self.object or self.primary())
        made = await self.environment.client.create(obj)
        self.record_write(made, how="create")
        return made

    async def update(self, obj: O) -> O:
        """See `Context.update`."""
        self.check()
        if isinstance(obj, Object):
            refuse_changed_status(obj)
        updated = await self.environment.client.update(obj)
        if updated is not obj:
            origin = obj.metadata.origin
            self.record_write(updated, origin.raw if origin is not None else None)
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
            self.record_write(kept)
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
        """Raises RuntimeError after the end of the reconcile, when conditions are not written any more."""
        self.check()
        if self.ended:
            raise RuntimeError(
                f"condition {type_!r} of {self.info.kind} {self.key} was set after its reconcile ended, so it would"
                " never be written. Await the task that sets it before the reconciler returns"
            )

    async def flush(self) -> None:
        """Writes the conditions that no write of the status has included."""
        self.check()
        await StatusWriter(self).flush()

    # Bookkeeping

    def record_write(self, written: Object, before: bytes | None = None, *, how: WriteKind = "update") -> None:
        """Records a write, for the caches, the history and later writes of this reconcile."""
        self.changed = True
        self.environment.caches.written(written)
        self._record_history(written, before)
        self._record_current_if_primary(written)
        self._record_own_write(written, before, how)

    def _record_own_write(self, written: Object, before: bytes | None, how: WriteKind) -> None:
        """Records the write, to recognize the event about it and to detect write loops."""
        if self.enqueuer is None or written.metadata.origin is None:
            return
        for created in self._created:  # the reconciler continued after it, so it does not wait for this event
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

    def _record_history(self, written: Object, before: bytes | None) -> None:
        """Passes both states to the history, which compares them on demand."""
        if (origin := written.metadata.origin) is not None:
            self.trace.changed(info_of(written), ObjectKey.of(written), before, origin.raw)

    def _record_current_if_primary(self, written: Object) -> None:
        if type(written) is self.kind and ObjectKey.of(written) == self.key:
            self.record_current(written)

    def _namespace(self, info: ResourceInfo, namespace: str | None) -> str:
        return (namespace or self.key.namespace) if info.namespaced else ""

    def _placed(self, obj: O) -> O:
        """See `placed`."""
        return placed(obj, self.key, f"{self.info.kind} {self.key}")
