"""`EventRecord`: one recorded event, cut to the limits of the server."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from kubewright.api import Object, core
from kubewright.redaction import as_text, redact

__all__ = ["EventRecord", "EventType", "check_component", "fitted", "name_for", "object_reference"]

EventType: TypeAlias = Literal["Normal", "Warning"]

# The limits of the server, in bytes of UTF-8.
LONGEST_NOTE = 1_024
LONGEST_WORD = 128
_LONGEST_NAME = 253

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED = re.compile(r"([-a-z0-9.]{1,253}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


class EventRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded event. Two that differ only in `at` are repetitions."""

    about: core.ObjectReference
    type: EventType
    reason: str
    message: str
    action: str
    at: datetime
    related: core.ObjectReference | None = None

    @classmethod
    def of(
        cls,
        about: Object | core.ObjectReference,
        reason: str,
        message: str,
        type: EventType,  # noqa: A002  # the field's own name
        action: str,
        at: datetime,
        related: Object | core.ObjectReference | None = None,
    ) -> EventRecord:
        """Checks the arguments and cuts them to the limits. Raises ValueError for an invalid type, reason or action."""
        if type not in ("Normal", "Warning"):
            raise ValueError(f'the type of an event must be "Normal" or "Warning", not {type!r}')
        if not reason:
            raise ValueError("an event needs a reason: a short CamelCase word, such as Synced")
        if not action:
            raise ValueError("an event needs an action: a short word for what was done, such as Reconcile")
        return cls(
            about=object_reference(about),
            type=type,
            reason=fitted(as_text(reason), LONGEST_WORD),
            message=fitted(redact(as_text(message)), LONGEST_NOTE),
            action=fitted(as_text(action), LONGEST_WORD),
            at=at,
            related=None if related is None else object_reference(related),
        )

    @property
    def object_identity(self) -> tuple[str | None, ...]:
        """Identifies the object."""
        about = self.about
        return (about.api_version, about.kind, about.namespace, about.name, about.uid, about.field_path)


def object_reference(about: Object | core.ObjectReference) -> core.ObjectReference:
    """Returns a reference to an object, by which `kubectl describe` finds its events."""
    if isinstance(about, core.ObjectReference):
        return about
    meta = about.metadata
    return core.ObjectReference(
        api_version=about.api_version,
        kind=about.kind,
        name=meta.name,
        namespace=meta.namespace or None,
        uid=meta.uid or None,
        resource_version=meta.resource_version or None,
    )


def fitted(text: str, most: int) -> str:
    """Returns the string, cut to that many bytes of UTF-8, between characters."""
    if len(text) * 4 <= most:
        return text
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= most else raw[:most].decode("utf-8", "ignore")


def name_for(about: core.ObjectReference, number: int) -> str:
    """Returns a name for an event about an object, whose own name may not be valid for events."""
    ending = f".{number:016x}"
    name = (about.name or "")[: _LONGEST_NAME - len(ending)].rstrip("-.")
    return f"{name if _SUBDOMAIN.fullmatch(name) else 'unnamed'}{ending}"


def check_component(component: str) -> str:
    """Returns the component name. Raises ValueError for one that the server would reject in every event."""
    if not component:
        raise ValueError("an event recorder needs the name of its component")
    if not _QUALIFIED.fullmatch(component):
        raise ValueError(
            f"{component!r} is not a valid component of events: use up to 63 letters, digits, '-', '_' and '.', "
            "such as sample-controller"
        )
    return component
