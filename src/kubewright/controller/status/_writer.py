"""`StatusWriter`: writes the status and the conditions of the reconciled object.

Three ways to write, and what each declares:

- `set`: the whole status of this controller. Fields that it set before and now leaves out are removed.
- `patch`: the named fields. Other fields that this controller has declared stay declared.
- `replace`: the whole status of the object, as an update. For kinds without /status, and for the controllers of
  built-in kinds, which are the only writers of a status.

Each of them also writes the conditions that were set since the last write.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from logging import Logger, LoggerAdapter
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, TypeVar

import msgspec

from kubewright.api import ConditionStatus, Object, ResourceInfo, Untyped, remove_condition, set_condition
from kubewright.api.kinds import new_status
from kubewright.cache import ObjectKey
from kubewright.client import Client, JsonPatch
from kubewright.clock import Clock
from kubewright.controller.status._applier import StatusApplier, StatusDeclarations
from kubewright.controller.status._declaration import Declaration, FieldConflict
from kubewright.controller.status._fields import (
    Removed,
    merged,
    named_fields,
    plain_status,
    removed_in,
    with_conditions,
)
from kubewright.controller.status._plain_status import (
    conditions_of,
    has_conditions,
    put_conditions,
    put_status,
    status_changes,
    status_of,
)

if TYPE_CHECKING:
    from kubewright.api.meta.v1 import Condition

__all__ = ["PendingConditions", "StatusTarget", "StatusWriter", "WriteKind"]

R = TypeVar("R", bound=Object)
R_co = TypeVar("R_co", bound=Object, covariant=True)

PendingConditions: TypeAlias = dict[str, tuple[bool | ConditionStatus, str, str] | None]
"""Conditions to be written, by type: status, reason and message; None for one to be removed."""

WriteKind: TypeAlias = Literal["create", "update", "status", "replaced status"]


class StatusEnvironment(Protocol):
    """The parts of a run that all reconciled objects share."""

    @property
    def client(self) -> Client:
        """The operator's client."""

    @property
    def clock(self) -> Clock:
        """The time."""

    @property
    def statuses(self) -> StatusDeclarations:
        """The status fields that the operator's controllers have declared."""


class StatusTarget(Protocol[R_co]):
    """The reconciled object whose status is written."""

    conditions: PendingConditions
    status_conflicts: tuple[FieldConflict, ...]

    @property
    def kind(self) -> type[R_co]:
        """The class of the object."""

    @property
    def info(self) -> ResourceInfo:
        """Its kind."""

    @property
    def key(self) -> ObjectKey:
        """Its key."""

    @property
    def environment(self) -> StatusEnvironment:
        """The parts of the run that all reconciled objects share."""

    @property
    def controller(self) -> str:
        """The name of the controller that reconciles it."""

    @property
    def log(self) -> LoggerAdapter[Logger]:
        """The logger of the object."""

    @property
    def raw(self) -> bytes:
        """The object as last read or written."""

    def primary(self) -> R_co:
        """Returns the object as last read or written, decoded."""

    def record_write(self, written: Object, before: bytes | None = None, *, how: WriteKind = "update") -> None:
        """Records a write."""


class _Conditions:
    """Conditions without their status, which may be a model or plain JSON."""

    __slots__ = ("conditions",)

    def __init__(self, conditions: list[Condition] | None) -> None:
        self.conditions = conditions


class StatusWriter(Generic[R]):
    """Writes the status for one target. The target holds the object as last seen, and the conditions to write."""

    def __init__(self, target: StatusTarget[R]) -> None:
        self._target = target
        self._kind = target.kind
        self._info = target.info

    # The status

    async def set(self, status: Any) -> None:
        """See `Context.set_status`."""
        wanted = plain_status(status)
        if not self._has_endpoint or not isinstance(wanted, dict):
            await self.replace(status)
            return
        await self._declare(lambda declared: wanted, wanted)

    async def patch(self, fields: Mapping[str, Any] | None, named: dict[str, Any]) -> None:
        """See `Context.patch_status`."""
        given = named_fields(self._kind, fields, named)
        if not self._has_endpoint:
            await self.replace(merged(plain_status(status_of(self._target.primary())) or {}, given))
            return
        declared = await self._declare(lambda declared: merged(declared.content, given), given)
        if left := [name for name in declared.taken_over if name not in given]:
            self._target.log.warning(
                "patch_status no longer replaces the whole status: status.%s was written by an earlier release of this"
                " operator and stays as it is. Declare the whole status with ctx.set_status(...)",
                ", status.".join(left),
            )
        await self._remove(removed_in(given))

    async def replace(self, status: Any) -> None:
        """Makes this the whole status, as an update by the operator's own field manager."""
        target = self._target
        if has_conditions(status):
            known = status_of(target.primary())
            status = copy.copy(status)  # which may also be a pydantic model
            kept = self._merged(conditions_of(status) or conditions_of(known)).conditions
            if kept is not None:
                put_conditions(status, kept, known)
        await self._update(status)

    # Conditions

    def set_condition(self, type_: str, status: bool | ConditionStatus, reason: str, message: str) -> bool:
        """See `Context.set_condition`."""
        pending = self._target.conditions
        earlier = type_ in pending
        pending.pop(type_, None)
        if self._set(self._after_write(), type_, status, reason, message):
            pending[type_] = (status, reason, message)
            return True
        return earlier

    def remove_condition(self, type_: str) -> bool:
        """See `Context.remove_condition`."""
        if not remove_condition(self._after_write(), type_):
            return False
        self._target.conditions[type_] = None
        return True

    async def flush(self) -> None:
        """Writes the conditions that no other write has included."""
        if not self._target.conditions:
            return
        known = self._known_status()
        if self._has_endpoint:
            await self._declare(lambda declared: declared.content, {})
        else:
            await self.replace(known)

    # Inside

    @property
    def _has_endpoint(self) -> bool:
        return "status" in self._info.subresources

    async def _declare(self, wanted_of: Callable[[Declaration], dict[str, Any]], given: dict[str, Any]) -> Declaration:
        """Declares the fields that `wanted_of` returns for the declared ones, with this controller's conditions."""
        target = self._target
        environment = target.environment
        applier = StatusApplier(environment.client, environment.statuses, self._kind, target.key, target.controller)
        types = [{"type": type_} for type_ in target.conditions]
        types += [{"type": one.get("type")} for one in given.get("conditions") or ()]
        declared, updated = await applier.look(target.raw, given | ({"conditions": types} if types else {}))
        if updated is not None:
            target.record_write(updated, target.raw)
        included = dict(target.conditions)
        wanted = with_conditions(wanted_of(declared), declared, self._known_conditions(), self._merged)
        before = target.raw
        written, conflicts = await applier.write(before, declared, wanted)
        self._forget(included)
        target.status_conflicts = conflicts
        if written is not None:
            target.record_write(written, before, how="status")
        if conflicts:
            self._log_conflicts(conflicts)
        return declared

    def _log_conflicts(self, conflicts: tuple[FieldConflict, ...]) -> None:
        """Logs the fields that were taken over, and warns about lists that two managers can only overwrite."""
        target = self._target
        fields = ", ".join(f"{one.field} ({one.manager!r})" for one in conflicts)
        target.log.info("took over status fields of another field manager: %s", fields)
        for one in conflicts:
            if one.atomic and target.environment.statuses.is_first(target.controller, self._kind, one.field):
                target.log.warning(
                    "%s is a list without map keys in the server's schema of %s, so each write replaces the whole list,"
                    " and %r writes it, too. Declare its keys in the CustomResourceDefinition: x-kubernetes-list-type:"
                    " map, x-kubernetes-list-map-keys: [type]",
                    one.field,
                    self._info.kind,
                    one.manager,
                )

    async def _update(self, status: Any) -> None:
        target = self._target
        wanted = target.primary()
        known = status_of(wanted)
        if isinstance(status, dict) and not isinstance(wanted, Untyped):
            operations = status_changes(self._kind, target.raw, known, status)
        else:
            put_status(wanted, status)
            operations = status_changes(self._kind, target.raw, known, status_of(wanted))
        included = dict(target.conditions)
        if not operations:
            self._forget(included)
            return
        subresource = "status" if self._has_endpoint else None
        before = target.raw
        written = await target.environment.client.patch(
            self._kind, target.key.name, JsonPatch(operations), target.key.namespace or None, subresource=subresource
        )
        if subresource is None:
            self._check_kept(written, known)
        self._forget(included)
        target.record_write(written, before, how="update" if subresource is None else "replaced status")

    async def _remove(self, paths: list[Removed]) -> None:
        """Removes fields that still exist because another manager has set them, too."""
        target = self._target
        content = msgspec.json.decode(target.raw, type=dict[str, Any])
        operations = [{"op": "remove", "path": path.pointer} for path in paths if path.is_in(content.get("status"))]
        if not operations:
            return
        version = content["metadata"]["resourceVersion"]
        guard = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
        name, namespace, before = target.key.name, target.key.namespace or None, target.raw
        patch = JsonPatch([guard, *operations])
        written = await target.environment.client.patch(self._kind, name, patch, namespace, subresource="status")
        target.record_write(written, before, how="status")

    def _check_kept(self, written: R, known: Any) -> None:
        """Raises TypeError if the server ignored the status: a kind with /status accepts it only there."""
        if status_of(written) == known:
            raise TypeError(
                f'the server accepts the status of {self._info.kind} only at /status: pass subresources={{"status"}} to'
                " Untyped.kind_of(...), or use client.kind(...) to make the class"
            )

    def _known_status(self) -> Any:
        """Returns the current status, or an empty one. Raises TypeError if it cannot have conditions."""
        status = status_of(self._target.primary())
        if status is None:
            status = {} if issubclass(self._kind, Untyped) else new_status(self._kind)
        if not has_conditions(status):
            raise TypeError(
                f"the status of {self._info.kind} has no conditions: add `conditions: list[Condition]` to its model"
            )
        return status

    def _known_conditions(self) -> list[dict[str, Any]]:
        status = msgspec.json.decode(self._target.raw, type=dict[str, Any]).get("status")
        conditions = status.get("conditions") if isinstance(status, dict) else None
        return conditions if isinstance(conditions, list) else []

    def _after_write(self) -> _Conditions:
        return self._merged(conditions_of(self._known_status()))

    def _merged(self, kept: list[Condition] | None) -> _Conditions:
        """Returns these conditions with the pending ones set or removed."""
        merged = _Conditions(None if kept is None else [copy.copy(condition) for condition in kept])
        for type_, wanted in self._target.conditions.items():
            if wanted is None:
                remove_condition(merged, type_)
            else:
                self._set(merged, type_, *wanted)
        return merged

    def _set(self, holder: Any, type_: str, status: bool | ConditionStatus, reason: str, message: str) -> bool:
        generation = None
        if self._has_endpoint:  # without /status, each write of the status increments the generation
            generation = self._target.primary().metadata.generation or None
        now = self._target.environment.clock.now()
        return set_condition(holder, type_, status, reason, message, now=now, observed_generation=generation)

    def _forget(self, written: PendingConditions) -> None:
        """Drops conditions that are written, but not those that were set during the write."""
        pending = self._target.conditions
        for type_, wanted in written.items():
            if pending.get(type_, ...) is wanted:
                del pending[type_]
