"""The errors of `apply` and `prune`."""

from __future__ import annotations

from typing import Final

import msgspec

from kubewright.api import Object, OwnerReference, controller_of
from kubewright.durations import format_duration

__all__ = ["ApplyError", "BeingDeleted", "Competitors", "ImmutableFields", "NotOwned", "Outdated", "WriteConflict"]

_FIELDS_NAMED: Final = 3


class ApplyError(Exception):
    """The object was not applied or pruned, although the server would have accepted the request.

    `existing` is the object on the server as last seen; None if it is gone.
    """

    def __init__(self, message: str, existing: Object | None = None) -> None:
        super().__init__(message)
        self.existing = existing


class NotOwned(ApplyError):
    """An object with that name belongs to another owner. It was not changed. Retries fail until it is gone."""

    existing: Object

    def __init__(self, message: str, existing: Object) -> None:
        super().__init__(message, existing)

    @property
    def controller(self) -> OwnerReference | None:
        """The controller of the existing object, if it has one."""
        return controller_of(self.existing)


class BeingDeleted(ApplyError):
    """An object with that name is being deleted. It was not changed. Apply again when it is gone."""

    existing: Object

    def __init__(self, existing: Object) -> None:
        finalizers = ", ".join(existing.metadata.finalizers)
        waits = f" and waits for its finalizers ({finalizers})" if finalizers else ""
        super().__init__(f"{existing} is being deleted{waits}; it can be applied again once it is gone", existing)


class ImmutableFields(ApplyError):
    """The apply would change immutable fields. The object was not written. Retries fail until it is gone.

    `fields` has their paths, such as `spec.template.spec.containers[0].image`.
    """

    existing: Object

    def __init__(self, existing: Object, fields: tuple[str, ...], *, adopted: bool = False) -> None:
        more = f" and {len(fields) - _FIELDS_NAMED} more" if len(fields) > _FIELDS_NAMED else ""
        fix = (
            "It was not created for this owner, so it is not deleted either: delete it, or choose another name"
            if adopted
            else 'Keep the values, or choose another name, or apply it with immutable="keep", or with'
            ' immutable="recreate", which deletes it and creates it again'
        )
        named = ", ".join(fields[:_FIELDS_NAMED])
        super().__init__(f"{existing} has immutable fields that would change: {named}{more}. {fix}", existing)
        self.fields = fields


class Outdated(ApplyError):
    """The object changed during the call: it was deleted, recreated, or claimed by another owner. Reconcile again."""


class Competitors(msgspec.Struct, frozen=True):
    """The field managers that overwrite applied fields, and the fields."""

    managers: tuple[str, ...]
    fields: tuple[str, ...]
    writer: str = ""
    """The reconciled object for which this operator applies other content itself; empty for another client."""

    def __str__(self) -> str:
        named = ", ".join(self.fields[:_FIELDS_NAMED]) or "its fields"
        more = f" and {len(self.fields) - _FIELDS_NAMED} more" if len(self.fields) > _FIELDS_NAMED else ""
        if self.writer:
            return f"this operator also applies it for {self.writer}, with another value of {named}{more}"
        if not self.managers:
            return f"another client keeps changing {named}{more}"
        keep, managers = ("keep", "managers") if len(self.managers) > 1 else ("keeps", "manager")
        return f"field {managers} {' and '.join(map(repr, self.managers))} {keep} changing {named}{more}"


class WriteConflict(ApplyError):
    """Another client overwrites the applied fields again and again, so writes are paused for a while.

    Not to be confused with `Conflict`, the server's answer (409) to a single write. `Applier.apply` raises this error.
    `ctx.apply` logs it and returns the existing object, and the key is requeued for the end of the pause.

    To resolve it, let one writer own the fields: leave them out of the applied object (`release`), or stop the other
    client.
    """

    existing: Object

    def __init__(
        self, existing: Object, competitors: Competitors, *, times: int, retry_after: float, should_report: bool
    ) -> None:
        fix = (
            "Apply it for one object only, or give each its own name"
            if competitors.writer
            else "Let one writer own these fields: leave them out of what you apply (and list them in release=[...] to"
            " keep their value), or stop the other client"
        )
        super().__init__(
            f"write conflict on {existing}: {competitors}, and it was restored {times} times. It is not written for"
            f" {format_duration(retry_after)}. {fix}",
            existing,
        )
        self.managers = competitors.managers
        self.fields = competitors.fields
        self.retry_after = retry_after
        """Seconds until the object is written again."""
        self.should_report = should_report
        """Whether this write conflict was not reported in the last hour."""
