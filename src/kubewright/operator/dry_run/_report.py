"""`DryRunReport`: the changes that an operator would make, without values of Secrets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec

from kubewright.diff import ABSENT, FieldDifference, field_differences
from kubewright.operator.dry_run._simulation import SimulatedObject
from kubewright.redaction import COPIES_OF_OBJECTS, REDACTED, is_secret, redact

__all__ = ["DryRunReport", "ObjectChange", "ReconcileFailure", "ValueChange", "change_of"]

_IGNORED: Final = frozenset(
    ("metadata", name)
    for name in ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink", "name")
) | {("metadata", "namespace"), ("apiVersion",), ("kind",)}
_FIELDS_AT_MOST: Final = 1_000
_LONGEST_VALUE: Final = 1_000


class ValueChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A field that would change. Values of Secrets are masked, long strings are cut."""

    op: Literal["add", "remove", "replace"]
    path: str
    before: Any = msgspec.UNSET
    after: Any = msgspec.UNSET


class ObjectChange(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An object that would change."""

    action: Literal["create", "update", "delete", "recreate"]
    api_version: str
    kind: str
    namespace: str = ""
    name: str
    fields: tuple[ValueChange, ...] = ()
    """The changed fields, at most 1000; empty for a deletion."""
    more_fields: int = 0
    """The number of changed fields beyond the first 1000."""
    notes: tuple[str, ...] = ()
    """Aspects of this object that the dry run could not show."""

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class ReconcileFailure(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An object whose reconcile failed or did not finish."""

    controller: str
    kind: str
    namespace: str = ""
    name: str
    error: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class DryRunReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of a dry run."""

    operator: str
    reconciled: int
    """The number of reconciled objects."""
    changes: tuple[ObjectChange, ...] = ()
    """The objects that would change, in the order of the first write."""
    failures: tuple[ReconcileFailure, ...] = ()
    waiting: tuple[ReconcileFailure, ...] = ()
    """Objects whose reconcile raised `RetryLater`: they wait for something."""
    not_shown: tuple[str, ...] = ()
    """Other actions that the operator would take, and that a dry run cannot show."""


def change_of(found: SimulatedObject) -> ObjectChange | None:
    """Returns the change of a written object; None if it would stay as it is."""
    before, after = found.base, found.state
    shown = after if after is not None else before
    if shown is None:
        return None
    was_going, is_going = (bool(one and one["metadata"].get("deletionTimestamp")) for one in (before, after))
    if after is None or (is_going and not was_going):
        action: Literal["create", "update", "delete", "recreate"] = "delete"
    else:
        action = "create" if before is None else "recreate" if found.recreated else "update"
    notes = list(found.notes)
    if action == "delete" and after is not None:
        notes.append(f"the deletion waits for {', '.join(map(str, after['metadata'].get('finalizers') or ()))}")
    fields = [] if action == "delete" else [*_values(before or {}, after or {})]
    if action == "update" and not fields:
        return None
    return ObjectChange(
        action=action,
        api_version=shown.get("apiVersion", ""),
        kind=shown.get("kind", ""),
        namespace=found.address.namespace,
        name=found.address.name,
        fields=tuple(fields[:_FIELDS_AT_MOST]),
        more_fields=max(len(fields) - _FIELDS_AT_MOST, 0),
        notes=tuple(notes),
    )


def _values(before: dict[str, Any], after: dict[str, Any]) -> Iterator[ValueChange]:
    masks = is_secret(before) or is_secret(after)
    for one in field_differences(before, after):
        if one.path[:2] in _IGNORED or one.path[:1] in _IGNORED:
            continue
        hides = masks and _is_sensitive(one)
        values = {
            name: REDACTED if hides else _shown(value)
            for name, value in (("before", one.before), ("after", one.after))
            if value is not ABSENT
        }
        yield ValueChange(op=one.op, path=one.name, **values)


def _is_sensitive(one: FieldDifference) -> bool:
    return one.path[0] in ("data", "stringData") or (
        one.path[:2] == ("metadata", "annotations") and (len(one.path) == 2 or one.path[2] in COPIES_OF_OBJECTS)
    )


def _shown(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = redact(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"
