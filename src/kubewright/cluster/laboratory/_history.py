"""The history of objects: who changed what, when, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from kubewright.cluster.laboratory._journal import JournalEntry
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.storage._storage import EventKind

__all__ = ["Change", "Revision", "revision_of"]

_HIDDEN: Final = "(hidden)"
_SECRETS: Final = "/secrets"
_NOISE: Final = frozenset({"managedFields", "resourceVersion"})
_ABSENT: Final = object()


@dataclass(frozen=True, slots=True)
class Change:
    """One value that a write changed, at a JSON pointer. `before` or `after` is None if it was absent.

    Values of Secrets are redacted.
    """

    path: str
    before: Any  # JSON
    after: Any  # JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """An object at one revision, and the write that created the revision.

    `verb` and `user` are those of the request, or of the part of the cluster that wrote, such as the garbage
    collector.
    `manager` is the field manager; a deletion has none. `changes` omits resourceVersion and managed fields.
    """

    revision: int
    time: datetime
    type: EventKind
    verb: str
    user: str
    manager: str
    subresource: str
    changes: tuple[Change, ...]
    object: JSONObject = field(repr=False)


def revision_of(record: JournalEntry) -> Revision:
    """Returns the revision that an entry of the journal describes, which must be a write."""
    event = record.event
    assert event is not None
    after = event.entry.decode()
    before = {} if event.previous is None else event.previous.decode()
    there = {} if event.kind == "DELETED" else after
    changes = _changes("", _plain(before), _plain(there))
    if event.storage == _SECRETS:
        changes = [Change(each.path, _redacted(each, each.before), _redacted(each, each.after)) for each in changes]
    return Revision(
        revision=event.revision,
        time=record.time,
        type=event.kind,
        verb=record.verb,
        user=record.user,
        manager=record.manager or ("" if event.kind == "DELETED" else _manager_in(before, after)),
        subresource=record.subresource,
        changes=tuple(changes),
        object=after,
    )


def _plain(obj: JSONObject) -> JSONObject:
    if not obj:
        return obj
    kept = {name: value for name, value in obj["metadata"].items() if name not in _NOISE}
    return {**obj, "metadata": kept}


def _redacted(change: Change, value: Any) -> Any:
    return _HIDDEN if value is not None and not change.path.startswith("/metadata") else value


def _manager_in(before: JSONObject, after: JSONObject) -> str:
    """Returns the manager whose managed fields changed, for writes without a request."""
    known = before.get("metadata", {}).get("managedFields") or []
    for entry in after["metadata"].get("managedFields") or []:
        if entry not in known:
            manager: str = entry.get("manager", "")
            return manager
    return ""


def _changes(path: str, before: Any, after: Any) -> list[Change]:
    """Yields the differences at the deepest common paths. Lists of equal length are compared by index."""
    if before == after and type(before) is type(after):
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        found = []
        for name in {**before, **after}:
            place = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
            found += _changes(place, before.get(name, _ABSENT), after.get(name, _ABSENT))
        return found
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [
            change
            for index, (old, new) in enumerate(zip(before, after, strict=True))
            for change in _changes(f"{path}/{index}", old, new)
        ]
    return [Change(path, None if before is _ABSENT else before, None if after is _ABSENT else after)]
