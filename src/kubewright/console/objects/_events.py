"""Events about objects, aggregated and sorted. Pure functions, except for the cache of event subjects.

Both event APIs (`v1` and `events.k8s.io/v1`) return the same events, so one cache holds them all. Events with the same
content about the same object are combined into one line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec

from kubewright.api.wire import UNREADABLE
from kubewright.cache import ObjectKey, Snapshot

__all__ = ["EventIndex", "EventLine", "EventSubject", "event_lines", "parse_time"]

_LINES_AT_MOST: Final = 500


class EventSubject(NamedTuple):
    """The object that an event is about."""

    kind: str
    namespace: str
    name: str
    uid: str


class EventLine(NamedTuple):
    """An event about an object, how often it occurred, and when."""

    about: EventSubject
    type: str
    """`Normal` or `Warning`."""
    reason: str
    message: str
    source: str
    times: int
    first: datetime | None
    last: datetime | None


class EventIndex:
    """The subjects of events, cached per resourceVersion, so that a search through thousands of events decodes few."""

    def __init__(self) -> None:
        self._known: dict[ObjectKey, tuple[int, str, EventSubject]] = {}

    def about(self, snapshots: Iterable[Snapshot[Any]], wanted: Collection[EventSubject]) -> list[dict[str, Any]]:
        """Returns the decoded events about these objects."""
        uids = {one.uid for one in wanted if one.uid}
        names = {one._replace(uid="") for one in wanted}
        found, known = [], dict[ObjectKey, tuple[int, str, EventSubject]]()
        for snapshot in snapshots:
            entry = self._known.get(snapshot.key)
            if entry is None or entry[0] != snapshot.resource_version or entry[1] != snapshot.uid:
                entry = (snapshot.resource_version, snapshot.uid, _about(_decoded(snapshot.raw)))
            known[snapshot.key] = entry
            about = entry[2]
            # Events that were recorded before the UID was known are matched by name.
            if about.uid in uids if about.uid else about in names:
                found.append(_decoded(snapshot.raw))
        self._known = known
        return found


def event_lines(events: Iterable[Mapping[str, Any]]) -> list[EventLine]:
    """Returns the events as lines, newest first, at most 500."""
    lines: dict[tuple[Any, ...], EventLine] = {}
    for event in {_uid(one): one for one in events}.values():
        line = _line(event)
        same = (line.about, line.type, line.reason, line.message, line.source)
        known = lines.get(same)
        lines[same] = line if known is None else _combined(known, line)
    return sorted(lines.values(), key=_newest_first)[:_LINES_AT_MOST]


def _newest_first(line: EventLine) -> tuple[float, EventSubject, str, str]:
    return (-line.last.timestamp() if line.last else 0.0, line.about, line.reason, line.message)


def _combined(one: EventLine, other: EventLine) -> EventLine:
    first = min((at for at in (one.first, other.first) if at), default=None)
    last = max((at for at in (one.last, other.last) if at), default=None)
    return one._replace(times=one.times + other.times, first=first, last=last)


def _line(event: Mapping[str, Any]) -> EventLine:
    series = _map(event.get("series"))
    counts = (series.get("count"), event.get("count"), event.get("deprecatedCount"))
    firsts = (event.get("eventTime"), event.get("firstTimestamp"), event.get("deprecatedFirstTimestamp"))
    lasts = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("deprecatedLastTimestamp"))
    created = parse_time(_map(event.get("metadata")).get("creationTimestamp"))
    first = next((at for at in map(parse_time, firsts) if at), created)
    return EventLine(
        about=_about(event),
        type=_text(event.get("type")) or "Normal",
        reason=_text(event.get("reason")),
        message=_text(event.get("message")) or _text(event.get("note")),
        source=_source(event),
        times=max((one for one in counts if isinstance(one, int) and not isinstance(one, bool)), default=1) or 1,
        first=first,
        last=next((at for at in map(parse_time, lasts) if at), first),
    )


def _source(event: Mapping[str, Any]) -> str:
    sources = (event.get("source"), event.get("deprecatedSource"))
    components = [_text(_map(one).get("component")) for one in sources]
    named = (_text(event.get("reportingComponent")), _text(event.get("reportingController")), *components)
    return next((name for name in named if name), "")


def _about(event: Mapping[str, Any]) -> EventSubject:
    about = _map(event.get("involvedObject")) or _map(event.get("regarding"))
    return EventSubject(*(_text(about.get(field)) for field in ("kind", "namespace", "name", "uid")))


def _uid(event: Mapping[str, Any]) -> Any:
    metadata = _map(event.get("metadata"))
    return _text(metadata.get("uid")) or (_text(metadata.get("namespace")), _text(metadata.get("name")))


def _decoded(raw: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(raw)
    except UNREADABLE:
        return {}
    return found if isinstance(found, dict) else {}


def parse_time(value: Any) -> datetime | None:
    """Parses a timestamp of an object; None if it is invalid."""
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
