"""Events about objects, aggregated and sorted. Pure functions, except for the cache of event subjects.

Both event APIs (`v1` and `events.k8s.io/v1`) return the same events, so one cache holds them all. Events with the same
content about the same object are combined into one line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from kubewright.cache import ObjectKey, Snapshot
from kubewright.console.objects._untrusted import as_map, as_text, decode_object, parse_time

__all__ = ["EVENT_PATHS", "EventIndex", "EventLine", "EventSubject", "event_lines"]

EVENT_PATHS: Final = ("core/events", "events.k8s.io/events")
"""The paths of both event APIs, which return the same events."""

_MAX_LINES: Final = 500


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
                entry = (snapshot.resource_version, snapshot.uid, _about(decode_object(snapshot.raw)))
            known[snapshot.key] = entry
            about = entry[2]
            # Events that were recorded before the UID was known are matched by name.
            if about.uid in uids if about.uid else about in names:
                found.append(decode_object(snapshot.raw))
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
    return sorted(lines.values(), key=_newest_first)[:_MAX_LINES]


def _newest_first(line: EventLine) -> tuple[float, EventSubject, str, str]:
    return (-line.last.timestamp() if line.last else 0.0, line.about, line.reason, line.message)


def _combined(one: EventLine, other: EventLine) -> EventLine:
    first = min((at for at in (one.first, other.first) if at), default=None)
    last = max((at for at in (one.last, other.last) if at), default=None)
    return one._replace(times=one.times + other.times, first=first, last=last)


def _line(event: Mapping[str, Any]) -> EventLine:
    series = as_map(event.get("series"))
    counts = (series.get("count"), event.get("count"), event.get("deprecatedCount"))
    firsts = (event.get("eventTime"), event.get("firstTimestamp"), event.get("deprecatedFirstTimestamp"))
    lasts = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("deprecatedLastTimestamp"))
    created = parse_time(as_map(event.get("metadata")).get("creationTimestamp"))
    first = next((at for at in map(parse_time, firsts) if at), created)
    return EventLine(
        about=_about(event),
        type=as_text(event.get("type")) or "Normal",
        reason=as_text(event.get("reason")),
        message=as_text(event.get("message")) or as_text(event.get("note")),
        source=_source(event),
        times=max((one for one in counts if isinstance(one, int) and not isinstance(one, bool)), default=1) or 1,
        first=first,
        last=next((at for at in map(parse_time, lasts) if at), first),
    )


def _source(event: Mapping[str, Any]) -> str:
    sources = (event.get("source"), event.get("deprecatedSource"))
    components = [as_text(as_map(one).get("component")) for one in sources]
    named = (as_text(event.get("reportingComponent")), as_text(event.get("reportingController")), *components)
    return next((name for name in named if name), "")


def _about(event: Mapping[str, Any]) -> EventSubject:
    about = as_map(event.get("involvedObject")) or as_map(event.get("regarding"))
    return EventSubject(*(as_text(about.get(field)) for field in ("kind", "namespace", "name", "uid")))


def _uid(event: Mapping[str, Any]) -> Any:
    metadata = as_map(event.get("metadata"))
    return as_text(metadata.get("uid")) or (as_text(metadata.get("namespace")), as_text(metadata.get("name")))
