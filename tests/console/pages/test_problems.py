"""The order of problems, without a browser."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from kubewright.console.kinds import Kind
from kubewright.console.pages.problems import find_problems
from tests.console.objects.test_ownership import FOOS, PODS

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def row(kind: Kind, name: str, state: str, minutes: int | None = None) -> tuple[Kind, dict[str, Any]]:
    at = None if minutes is None else (NOW - timedelta(minutes=minutes)).isoformat()
    return kind, {"name": name, "state": state, "since": at, "deleted": at}


def test_lists_failing_objects_then_stuck_deletions_longest_first() -> None:
    rows = [
        row(FOOS, "ready", "ready", 60),
        row(FOOS, "new", "failing", 1),
        row(FOOS, "old", "failing", 30),
        row(PODS, "pod", "failing", 90),
        row(FOOS, "stuck", "terminating", 6),
        row(FOOS, "leaves", "terminating", 1),
        row(FOOS, "undated", "failing"),
        row(FOOS, "paused", "suspended", 90),
    ]
    assert [one.row["name"] for one in find_problems(rows, NOW)] == ["old", "new", "undated", "pod", "stuck"]
