"""`StatusWriter`: the status and the conditions of the object that a session reconciles.

Three ways to write, and what each declares:

- `set`: the whole status of this controller. Fields that it set before and now leaves out are removed.
- `patch`: the named fields. Other fields that this controller has declared stay declared.
- `replace`: the whole status of the object, as an update. For kinds without /status, and for the controllers of
  built-in kinds, which are the only writers of a status.

Conditions that were set meanwhile are written along. Decisions are in `_status_fields`, requests in `_status_apply`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from kubewright.api import Object, Untyped, remove_condition, set_condition
from kubewright.api.kinds import new_status
from kubewright.client import JsonPatch
from kubewright.controller._status import (
    conditions_of,
    has_conditions,
    put_conditions,
    put_status,
    status_changes,
    status_of,
)
from kubewright.controller._status_apply import Declaration, FieldConflict, StatusApplier
from kubewright.controller._status_fields import (
    Removed,
    merged,
    named_fields,
    plain_status,
    removed_in,
    with_conditions,
)

if TYPE_CHECKING:
    from kubewright.api import ConditionStatus
    from kubewright.api.meta.v1 import Condition
    from kubewright.controller._session import Session

__all__ = ["StatusWriter"]

R = TypeVar("R", bound=Object)


class _Conditions:
    """Some conditions, apart from a status, which may be a model or plain JSON."""

    __slots__ = ("conditions",)

    def __init__(self, conditions: list[Condition] | None) -> None:
        self.conditions = conditions


class StatusWriter(Generic[R]):
    """Writes the status for one session. The session holds the object as last seen, and the conditions to write."""

    def __init__(self, session: Session[R]) -> None:
        self._session = session
        self._kind = session.kind
        self._info = session.info

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
            await self.replace(merged(plain_status(status_of(self._session.primary())) or {}, given))
            return
        declared = await self._declare(lambda declared: merged(declared.content, given), given)
        if left := [name for name in declared.taken_over if name not in given]:
            self._session.log.warning(
                "patch_status no longer replaces the whole status: status.%s was written by an earlier release of this"
                " operator and stays as it is. Declare the whole status with ctx.set_status(...)",
                ", status.".join(left),
            )
        await self._remove(removed_in(given))

    async def replace(self, status: Any) -> None:
        """Makes this the whole status, as an update of the operator's own field manager."""
        session = self._session
        if has_conditions(status):
            known = status_of(session.primary())
            status = copy.copy(status)  # which may also be a pydantic model
            kept = self._merged(conditions_of(status) or conditions_of(known)).conditions
            if kept is not None:
                put_conditions(status, kept, known)
        await self._update(status)

    # Conditions

    def set_condition(self, type_: str, status: bool | ConditionStatus, reason: str, message: str) -> bool:
        """See `Context.set_condition`."""
        pending = self._session.conditions
        earlier = type_ in pending
        pending.pop(type_, None)
        if self._set(self._as_they_will_be(), type_, status, reason, message):
            pending[type_] = (status, reason, message)
            return True
        return earlier

    def remove_condition(self, type_: str) -> bool:
        """See `Context.remove_condition`."""
        if not remove_condition(self._as_they_will_be(), type_):
            return False
        self._session.conditions[type_] = None
        return True

    async def flush(self) -> None:
        """Writes the conditions that no other write has taken along."""
        if not self._session.conditions:
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

    async def _declare(self, wanted_of: Any, given: dict[str, Any]) -> Declaration:
        """Declares the fields that `wanted_of` makes of those that are declared, with this controller's conditions."""
        session = self._session
        environment = session.environment
        applier = StatusApplier(
            environment.client, environment.statuses, self._kind, session.key, session.trace.controller
        )
        types = [{"type": type_} for type_ in session.conditions]
        types += [{"type": one.get("type")} for one in given.get("conditions") or ()]
        declared, noted = await applier.look(session.raw, given | ({"conditions": types} if types else {}))
        if noted is not None:
            session.noted(noted, session.raw)
        told = dict(session.conditions)
        wanted = with_conditions(wanted_of(declared), declared, self._known_conditions(), self._merged)
        before = session.raw
        written, conflicts = await applier.write(before, declared, wanted)
        self._forget(told)
        session.status_conflicts = conflicts
        if written is not None:
            session.noted(written, before, how="status")
        if conflicts:
            self._log_conflicts(conflicts)
        return declared

    def _log_conflicts(self, conflicts: tuple[FieldConflict, ...]) -> None:
        """Logs whose fields were taken over, and which of them can only be fought over."""
        session = self._session
        fields = ", ".join(f"{one.field} ({one.manager!r})" for one in conflicts)
        session.log.info("took over status fields of another field manager: %s", fields)
        for one in conflicts:
            if one.atomic and session.environment.statuses.is_news(session.trace.controller, self._kind, one.field):
                session.log.warning(
                    "%s is a list without map keys in the server's schema of %s, so each write replaces it as a whole,"
                    " and %r writes it, too. Declare its keys in the CustomResourceDefinition: x-kubernetes-list-type:"
                    " map, x-kubernetes-list-map-keys: [type]",
                    one.field,
                    self._info.kind,
                    one.manager,
                )

    async def _update(self, status: Any) -> None:
        session = self._session
        wanted = session.primary()
        known = status_of(wanted)
        if isinstance(status, dict) and not isinstance(wanted, Untyped):
            operations = status_changes(self._kind, session.raw, known, status)
        else:
            put_status(wanted, status)
            operations = status_changes(self._kind, session.raw, known, status_of(wanted))
        told = dict(session.conditions)
        if not operations:
            self._forget(told)
            return
        subresource = "status" if self._has_endpoint else None
        before = session.raw
        written = await session.environment.client.patch(
            self._kind, session.key.name, JsonPatch(operations), session.key.namespace or None, subresource=subresource
        )
        if subresource is None:
            self._check_kept(written, known)
        self._forget(told)
        session.noted(written, before, how="update" if subresource is None else "replaced status")

    async def _remove(self, paths: list[Removed]) -> None:
        """Removes fields that are still there because another manager has set them, too."""
        session = self._session
        content = msgspec.json.decode(session.raw, type=dict[str, Any])
        operations = [{"op": "remove", "path": path.pointer} for path in paths if path.is_in(content.get("status"))]
        if not operations:
            return
        version = content["metadata"]["resourceVersion"]
        guard = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
        name, namespace, before = session.key.name, session.key.namespace or None, session.raw
        patch = JsonPatch([guard, *operations])
        written = await session.environment.client.patch(self._kind, name, patch, namespace, subresource="status")
        session.noted(written, before, how="status")

    def _check_kept(self, written: R, known: Any) -> None:
        """A server that has /status takes the status nowhere else, and does not say so."""
        if status_of(written) == known:
            raise TypeError(
                f"the server takes the status of {self._info.kind} at /status alone: say so, with"
                ' subresources={"status"} in Untyped.kind_of(...), or let client.kind(...) make the class'
            )

    def _known_status(self) -> Any:
        """The status as it is, or an empty one, which can have conditions."""
        status = status_of(self._session.primary())
        if status is None:
            status = {} if issubclass(self._kind, Untyped) else new_status(self._kind)
        if not has_conditions(status):
            raise TypeError(
                f"the status of {self._info.kind} has no conditions: give its model `conditions: list[Condition]`"
            )
        return status

    def _known_conditions(self) -> list[dict[str, Any]]:
        status = msgspec.json.decode(self._session.raw, type=dict[str, Any]).get("status")
        conditions = status.get("conditions") if isinstance(status, dict) else None
        return conditions if isinstance(conditions, list) else []

    def _as_they_will_be(self) -> _Conditions:
        return self._merged(conditions_of(self._known_status()))

    def _merged(self, kept: list[Condition] | None) -> _Conditions:
        """These conditions, with those that were set or removed meanwhile."""
        merged = _Conditions(None if kept is None else [copy.copy(condition) for condition in kept])
        for type_, wanted in self._session.conditions.items():
            if wanted is None:
                remove_condition(merged, type_)
            else:
                self._set(merged, type_, *wanted)
        return merged

    def _set(self, target: Any, type_: str, status: bool | ConditionStatus, reason: str, message: str) -> bool:
        session = self._session
        generation = None
        if self._has_endpoint:  # elsewhere the status counts as well: each write would be one more
            generation = session.primary().metadata.generation or None
        now = session.environment.clock.now()
        return set_condition(target, type_, status, reason, message, now=now, observed_generation=generation)

    def _forget(self, told: dict[str, Any]) -> None:
        """These are written; not those that were set meanwhile."""
        pending = self._session.conditions
        for type_, wanted in told.items():
            if pending.get(type_, ...) is wanted:
                del pending[type_]
