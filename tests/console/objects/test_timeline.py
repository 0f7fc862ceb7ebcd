"""The reconcile timeline as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kubewright.console.objects import State, ago, queue_text, reconcile_entries, resource_of, until
from kubewright.console.operators import ObjectInspection
from kubewright.observe import FieldChange, Inspection, QueueState, ReconcileRecord, WriteRecord

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def record(**fields: Any) -> ReconcileRecord:
    whole = {
        "result": "success",
        "trigger": "updated",
        "woken_at": NOW,
        "began_at": NOW,
        "ended_at": NOW,
        "seconds": 0.0123,
        "attempt": 1,
    }
    return ReconcileRecord(**{**whole, **fields})


def write(**fields: Any) -> WriteRecord:
    whole = {"verb": "apply", "resource": "deployments.apps", "namespace": "default", "name": "web", "status": 200}
    return WriteRecord(**{**whole, "seconds": 0.01, **fields})


def known(
    *results: ReconcileRecord, values: dict[tuple[int, int], tuple[bytes | None, bytes]] | None = None
) -> ObjectInspection:
    inspection = Inspection(
        controller="foo",
        api_version="example.com/v1",
        kind="Foo",
        name="one",
        at=NOW,
        queue=QueueState(state="idle"),
        results=results,
    )
    return ObjectInspection(inspection, values or {})


@pytest.mark.parametrize(
    ("fields", "state", "text"),
    [
        ({}, State.READY, "succeeded in 12ms"),
        ({"result": "error", "attempt": 3}, State.FAILING, "failed in 12ms, attempt 3"),
        ({"result": "terminal_error", "seconds": 2.5}, State.FAILING, "failed, not retried, in 2.5s"),
        ({"result": "requeue_after"}, State.PROGRESSING, "requeued with a delay in 12ms"),
    ],
)
def test_entry_describes_the_result(fields: dict[str, Any], state: State, text: str) -> None:
    [entry] = reconcile_entries(known(record(**fields)), lambda write: True)
    assert (entry.state, entry.text) == (state, text)


@pytest.mark.promise(
    "Objects and operators in the console",
    "The timeline shows the trigger of a reconcile, its writes, its error and its next retry.",
)
@pytest.mark.parametrize(
    ("trigger", "cause", "why"),
    [
        ("updated", "", "an update"),
        ("Deployment updated", "default/web", "Deployment default/web was updated"),
        ("retry", "", "a retry after failure"),
        ("my own words", "", "my own words"),
        ("", "", "an unknown trigger"),
    ],
)
def test_entry_describes_the_trigger(trigger: str, cause: str, why: str) -> None:
    [entry] = reconcile_entries(known(record(trigger=trigger, cause=cause)), lambda write: True)
    assert entry.why == why


def test_write_shows_diff_only_if_visible() -> None:
    before = (
        b'{"kind":"Deployment","metadata":{"name":"web","resourceVersion":"1"},"spec":{"replicas":1,"paused":true}}'
    )
    after = b'{"kind":"Deployment","metadata":{"name":"web","resourceVersion":"2"},"spec":{"replicas":3,"paused":true}}'
    inspected = known(
        record(writes=(write(changes=(FieldChange(op="replace", path="/spec/replicas"),)), write(name="secret"))),
        values={(0, 0): (before, after), (0, 1): (before, after)},
    )
    [entry] = reconcile_entries(inspected, lambda write: write.name == "web")
    shown, hidden = entry.writes
    assert shown.lines is not None
    assert [(line.kind, line.text.strip()) for line in shown.lines if line.kind in ("added", "removed")] == [
        ("removed", "replicas: 1"),
        ("added", "replicas: 3"),
    ]
    assert shown.text == "applied deployments.apps web"
    assert hidden.lines is None


def test_created_object_is_shown_up_to_a_limit() -> None:
    made = b'{"kind":"ConfigMap","metadata":{"name":"web"},"data":{%s}}' % b",".join(
        b'"k%d":"v"' % number for number in range(900)
    )
    [entry] = reconcile_entries(known(record(writes=(write(),)), values={(0, 0): (None, made)}), lambda write: True)
    lines = entry.writes[0].lines
    assert lines is not None
    assert len(lines) == 201
    assert lines[-1].kind == "gap"
    assert {line.kind for line in lines[:-1]} == {"added"}


def test_reports_failed_write() -> None:
    failed = record(writes=(write(status=0), write(status=409, resource="foos.example.com/status", verb="patch")))
    [entry] = reconcile_entries(known(failed), lambda write: True)
    assert [(one.failed, one.answer, one.text) for one in entry.writes] == [
        (True, "no response", "applied deployments.apps web"),
        (True, "409", "patched foos.example.com web, its status"),
    ]


def test_write_has_path_of_its_kind() -> None:
    assert resource_of(write()) == "apps/deployments"
    assert resource_of(write(resource="foos.example.com/status")) == "example.com/foos"
    assert resource_of(write(resource="configmaps")) == "core/configmaps"


@pytest.mark.parametrize(
    ("queue", "state", "text"),
    [
        (QueueState(state="idle"), State.READY, "idle, waiting for changes"),
        (
            QueueState(state="idle", resync_at=NOW + timedelta(seconds=30)),
            State.READY,
            "idle, waiting for changes, next resync in 30 s",
        ),
        (
            QueueState(state="running", since=NOW - timedelta(seconds=3), runs_again=True),
            State.PROGRESSING,
            "reconciling, started 3 s ago, and queued again",
        ),
        (QueueState(state="waiting", since=NOW), State.PROGRESSING, "waiting for a worker, queued just now"),
        (
            QueueState(state="delayed", ready_at=NOW + timedelta(seconds=90), retries=1),
            State.FAILING,
            "next reconcile in 1 min, after 1 retry",
        ),
        (QueueState(state="delayed", ready_at=NOW + timedelta(hours=5)), State.READY, "next reconcile in 5 h"),
        (
            QueueState(
                state="delayed",
                ready_at=NOW + timedelta(seconds=1000),
                resync_at=NOW + timedelta(minutes=10),
                retries=9,
            ),
            State.FAILING,
            "next reconcile in 10 min by the resync, after 9 retries",
        ),
    ],
)
def test_describes_queue_state(queue: QueueState, state: State, text: str) -> None:
    assert queue_text(queue, NOW) == (state, text)


def test_formats_relative_times() -> None:
    assert ago(NOW - timedelta(minutes=5), NOW) == "5 min ago"
    assert ago(NOW + timedelta(minutes=5), NOW) == "just now"
    assert ago(None, NOW) == "at an unknown time"
    assert until(NOW, NOW) == "now"
    assert until(None, NOW) == "later"
