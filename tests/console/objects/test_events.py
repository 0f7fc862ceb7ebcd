"""Events: found, counted and sorted."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewright.api import Untyped
from kubewright.cache import Snapshot, SnapshotDecoder
from kubewright.console.objects import EventIndex, EventSubject, event_lines, parse_time

EVENT = Untyped.kind_of("v1", "Event", plural="events")
FOO = EventSubject("Foo", "default", "one", "uid-one")


def event(name: str, about: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    involved = {"kind": "Foo", "namespace": "default", "name": "one", "uid": "uid-one"} if about is None else about
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"event-{name}"},
        "involvedObject": involved,
        **fields,
    }


def snapshot(content: dict[str, Any], revision: int = 1) -> Snapshot[Any]:
    content = {**content, "metadata": {**content["metadata"], "resourceVersion": str(revision)}}
    return SnapshotDecoder(EVENT).snapshot(msgspec.json.encode(content))


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02d}Z"


@pytest.mark.promise(
    "Objects and operators in the console",
    "Events of an object and its dependents are found in both APIs, counted, and sorted newest first.",
)
def test_sorts_newest_first_for_all_time_fields() -> None:
    lines = event_lines(
        [
            event("a", reason="Old", lastTimestamp=at(1)),
            event("b", reason="Series", eventTime=at(2), series={"count": 7, "lastObservedTime": at(9)}),
            event("c", reason="Micro", eventTime="2026-01-01T00:00:05.123456Z"),
            {
                "metadata": {"name": "d", "uid": "d", "creationTimestamp": at(3)},
                "regarding": {"kind": "Pod", "name": "p", "uid": "uid-p"},
                "note": "the other API's names",
                "reason": "Newer",
                "type": "Warning",
                "reportingController": "kubelet",
            },
        ]
    )
    assert [line.reason for line in lines] == ["Series", "Micro", "Newer", "Old"]
    assert (lines[0].times, lines[0].first, lines[0].last) == (7, parse_time(at(2)), parse_time(at(9)))
    assert (lines[2].message, lines[2].source, lines[2].type) == ("the other API's names", "kubelet", "Warning")
    assert lines[2].about == EventSubject("Pod", "", "p", "uid-p")


@pytest.mark.promise(
    "Objects and operators in the console",
    "Events of an object and its dependents are found in both APIs, counted, and sorted newest first.",
)
def test_combines_equal_events() -> None:
    same: dict[str, Any] = {"reason": "Synced", "message": "ok", "source": {"component": "x"}}
    lines = event_lines(
        [
            event("a", count=3, firstTimestamp=at(1), lastTimestamp=at(4), **same),
            event("b", firstTimestamp=at(5), lastTimestamp=at(6), **same),
            event("b", firstTimestamp=at(5), lastTimestamp=at(6), **same),  # the same event, read twice
            event("c", reason="Synced", message="not ok"),
        ]
    )
    [together] = [line for line in lines if line.message == "ok"]
    assert (together.times, together.first, together.last) == (4, parse_time(at(1)), parse_time(at(6)))
    assert len(lines) == 2


def test_finds_events_by_uid_or_name() -> None:
    snapshots = [
        snapshot(event("mine", reason="mine")),
        snapshot(event("earlier", {"kind": "Foo", "namespace": "default", "name": "one", "uid": "uid-before"})),
        snapshot(event("named", {"kind": "Foo", "namespace": "default", "name": "one"})),
        snapshot(event("other", {"kind": "Bar", "namespace": "default", "name": "one"})),
    ]
    found = EventIndex().about(snapshots, [FOO])
    assert [one["metadata"]["name"] for one in found] == ["mine", "named"]


def test_index_follows_event_updates() -> None:
    index = EventIndex()
    assert index.about([snapshot(event("a", {"uid": "uid-two"}))], [FOO]) == []
    assert len(index.about([snapshot(event("a"), revision=2)], [FOO])) == 1
    assert index.about([], [FOO]) == []


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    )
)
def test_every_event_becomes_a_line(value: Any) -> None:
    fields = ("series", "eventTime", "count", "type", "reason", "message", "source", "involvedObject", "regarding")
    for field in fields:
        [line] = event_lines([event("a", **{"reason": "x", field: value})])
        assert isinstance(line.message, str)
        assert line.times >= 1 or isinstance(value, int)


def test_parses_times_without_zone_as_utc() -> None:
    assert parse_time("2026-01-01T00:00:00") == datetime(2026, 1, 1, tzinfo=UTC)
    assert parse_time("yesterday") is None
    assert parse_time(7) is None
