"""The states of objects of all kinds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewright.console.kinds import DeclaredStates, declared_states
from kubewright.console.objects import OVERDUE, Health, State, state_of, with_failure
from kubewright.observe import FailingObject


def condition(kind: str, status: str = "True", reason: str = "Because") -> dict[str, Any]:
    return {"type": kind, "status": status, "reason": reason}


def custom(*conditions: dict[str, Any], spec: Any = None, **status: Any) -> dict[str, Any]:
    found = {"conditions": list(conditions)} if conditions else {}
    return {
        "apiVersion": "example.com/v1",
        "kind": "Foo",
        "metadata": {"name": "a", "generation": 2},
        "spec": spec or {},
        "status": {**found, **status},
    }


def built_in(api_version: str, kind: str, spec: dict[str, Any], **status: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": spec, "status": status}


@pytest.mark.parametrize("kind", ["Ready", "Available", "Succeeded", "Complete", "Healthy", "Established"])
def test_true_good_condition_is_ready(kind: str) -> None:
    assert state_of(custom(condition(kind)))[:2] == (State.READY, f"{kind}: Because")


@pytest.mark.parametrize("kind", ["Failed", "Degraded", "Stalled", "ReplicaFailure"])
def test_true_bad_condition_is_failing(kind: str) -> None:
    assert state_of(custom(condition("Ready"), condition(kind))) == Health(State.FAILING, f"{kind}: Because")


@pytest.mark.promise(
    "Lists and layout of the console",
    "Every object has a state, derived from any kind of status.",
)
@pytest.mark.parametrize(
    ("conditions", "state"),
    [
        ([condition("Ready", "False", "Waiting")], State.PROGRESSING),
        ([condition("Ready", "Unknown")], State.PROGRESSING),
        ([condition("Ready", "False", "ImagePullFailed")], State.FAILING),
        ([condition("Ready", "False", "ReconcileError")], State.FAILING),
        ([condition("Available", "False", "No"), condition("Progressing", "True")], State.PROGRESSING),
        ([condition("Available", "False", "No"), condition("Progressing", "False")], State.FAILING),
        ([condition("Ready"), condition("Synced", "False", "Later")], State.PROGRESSING),
        ([condition("Ready"), condition("Degraded", "False")], State.READY),
        ([condition("Available"), condition("Progressing")], State.READY),
        ([condition("Ready"), condition("Reconciling")], State.PROGRESSING),
        ([condition("Progressing")], State.PROGRESSING),
        ([condition("SomethingElse")], State.UNKNOWN),
    ],
)
def test_combines_conditions(conditions: list[dict[str, Any]], state: State) -> None:
    assert state_of(custom(*conditions)).state is state


def test_outdated_status_is_progressing() -> None:
    assert state_of(custom(condition("Ready"), observedGeneration=1)).state is State.PROGRESSING
    assert state_of(custom(condition("Ready"), observedGeneration=2)).state is State.READY


@pytest.mark.parametrize(
    ("obj", "why"),
    [
        ({"metadata": {"annotations": {"kubewright.dev/paused": "yes"}}}, 'kubewright.dev/paused="yes"'),
        (
            {
                "status": {
                    "conditions": [{"type": "Paused", "status": "True", "reason": "PausedByAnnotation", "message": "m"}]
                }
            },
            "m",
        ),
    ],
)
def test_paused_object_is_suspended(obj: dict[str, Any], why: str) -> None:
    health = state_of(obj)
    assert (health.state, health.why) == (State.SUSPENDED, why)


def test_condition_of_another_program_does_not_pause() -> None:
    conditions = [{"type": "Paused", "status": "True", "reason": "Weekend"}, {"type": "Ready", "status": "True"}]
    assert state_of({"status": {"conditions": conditions}}).state == State.READY


def test_paused_deletion_is_terminating() -> None:
    metadata = {"annotations": {"kubewright.dev/paused": "true"}, "deletionTimestamp": "x", "finalizers": ["a/b"]}
    assert state_of({"metadata": metadata})[:2] == (State.TERMINATING, "paused, waiting for a/b")


def test_deletion_is_terminating_with_finalizers() -> None:
    obj = custom(condition("Ready"))
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert state_of(obj) == Health(State.TERMINATING, "being deleted")
    obj["metadata"]["finalizers"] = ["example.com/cleanup"]
    assert state_of(obj) == Health(State.TERMINATING, "waiting for example.com/cleanup")


@pytest.mark.parametrize(
    ("phase", "state"),
    [
        ("Running", State.READY),
        ("Bound", State.READY),
        ("In Progress", State.PROGRESSING),
        ("creating", State.PROGRESSING),
        ("CrashLoopBackOff", State.FAILING),
        ("Terminating", State.TERMINATING),
        ("Purple", State.UNKNOWN),
        ("InSync", State.READY),
        ("OutOfSync", State.PROGRESSING),
        ("Timed Out", State.FAILING),
        ("Paused", State.SUSPENDED),
    ],
)
def test_maps_phases(phase: str, state: State) -> None:
    assert state_of(custom(phase=phase)).state is state
    assert state_of(custom(state=phase)).state is state
    assert state_of({"kind": "Foo", "status": phase}).state is state


def test_conditions_take_precedence_over_phases() -> None:
    assert state_of(custom(condition("Ready"), phase="Failed")).state is State.READY


def test_compares_replicas() -> None:
    assert state_of(custom(spec={"replicas": 2}, availableReplicas=2)) == Health(State.READY, "2 of 2 replicas")
    assert state_of(custom(spec={"replicas": 2}, availableReplicas=1)) == Health(State.PROGRESSING, "1 of 2 replicas")
    assert state_of(custom(spec={"replicas": 0}, readyReplicas=0)).state is State.READY
    assert state_of(custom(availableReplicas=0)).state is State.UNKNOWN


def test_object_without_status_is_unknown() -> None:
    assert state_of({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}).state is State.UNKNOWN


@pytest.mark.promise(
    "Lists and layout of the console",
    "Every object has a state, derived from any kind of status.",
)
@pytest.mark.parametrize(
    ("obj", "state"),
    [
        (built_in("apps/v1", "Deployment", {"replicas": 2}, availableReplicas=2, updatedReplicas=2), State.READY),
        (built_in("apps/v1", "Deployment", {}, availableReplicas=1), State.READY),
        (built_in("apps/v1", "Deployment", {"replicas": 2}), State.PROGRESSING),
        (
            built_in("apps/v1", "Deployment", {"replicas": 2}, availableReplicas=2, updatedReplicas=1),
            State.PROGRESSING,
        ),
        (
            built_in(
                "apps/v1",
                "Deployment",
                {"replicas": 2},
                availableReplicas=2,
                conditions=[condition("Available"), condition("Progressing", "False", "ProgressDeadlineExceeded")],
            ),
            State.FAILING,
        ),
        (built_in("apps/v1", "StatefulSet", {"replicas": 1}, readyReplicas=1), State.READY),
        (
            built_in("apps/v1", "ReplicaSet", {"replicas": 1}, conditions=[condition("ReplicaFailure")]),
            State.FAILING,
        ),
        (built_in("apps/v1", "DaemonSet", {}, desiredNumberScheduled=2, numberReady=2), State.READY),
        (built_in("apps/v1", "DaemonSet", {}, desiredNumberScheduled=2, numberReady=1), State.PROGRESSING),
        (built_in("apps/v1", "DaemonSet", {}), State.PROGRESSING),
        (built_in("batch/v1", "Job", {}, active=1), State.PROGRESSING),
        (built_in("batch/v1", "Job", {"suspend": True}), State.SUSPENDED),
        (built_in("batch/v1", "CronJob", {"suspend": True}), State.SUSPENDED),
        (built_in("batch/v1", "CronJob", {}), State.READY),
        (built_in("batch/v1", "Job", {}, conditions=[condition("Complete")]), State.READY),
        (built_in("batch/v1", "Job", {}, conditions=[condition("Failed")]), State.FAILING),
        (built_in("v1", "Pod", {}, phase="Pending"), State.PROGRESSING),
        (built_in("v1", "Pod", {}, phase="Running", conditions=[condition("Ready")]), State.READY),
        (built_in("v1", "Pod", {}, phase="Running", conditions=[condition("Ready", "False")]), State.PROGRESSING),
        (
            built_in(
                "v1",
                "Pod",
                {},
                phase="Running",
                containerStatuses=[{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}],
            ),
            State.FAILING,
        ),
        (
            built_in(
                "v1", "Pod", {}, phase="Pending", containerStatuses=[{"state": {"waiting": {"reason": "ErrImagePull"}}}]
            ),
            State.FAILING,
        ),
        (built_in("v1", "PersistentVolumeClaim", {}, phase="Bound"), State.READY),
        (built_in("v1", "Namespace", {}, phase="Active"), State.READY),
    ],
)
def test_states_of_built_in_kinds(obj: dict[str, Any], state: State) -> None:
    assert state_of(obj).state is state


SINCE = datetime(2026, 1, 1, tzinfo=UTC)


def since(one: dict[str, Any]) -> dict[str, Any]:
    return one | {"lastTransitionTime": SINCE.isoformat(), "message": "waiting for the moon"}


@pytest.mark.promise(
    "Lists and layout of the console",
    "An object that is not ready for more than five minutes is failing, unless its status reports progress.",
)
@pytest.mark.parametrize(
    "obj",
    [
        custom(since(condition("Ready", "False", "Waiting"))),
        built_in("v1", "Pod", {}, phase="Pending", conditions=[since(condition("PodScheduled", "False", "Unsched"))]),
        built_in("v1", "Pod", {}, phase="Running", conditions=[since(condition("Ready", "False", "NotReady"))]),
        built_in("apps/v1", "Deployment", {"replicas": 2}, conditions=[since(condition("Available", "False", "Min"))]),
    ],
)
def test_not_ready_beyond_threshold_is_failing(obj: dict[str, Any]) -> None:
    health = state_of(obj)
    assert health.message == "waiting for the moon"
    assert health.at(SINCE + OVERDUE - timedelta(seconds=1)).state is State.PROGRESSING
    assert health.at(SINCE + OVERDUE).state is State.FAILING


def test_reported_progress_is_never_overdue() -> None:
    upgrading = custom(since(condition("Ready", "False", "Waiting")), condition("Upgrading"))
    assert state_of(upgrading).at(SINCE + timedelta(days=1)).state is State.PROGRESSING
    last = since(condition("Ready", "False")) | {"lastTransitionTime": "9999-12-31T23:59:59Z"}
    assert state_of(custom(last)).state is State.PROGRESSING


@pytest.mark.parametrize(
    ("obj", "state"),
    [
        (custom(spec={"suspend": True}), State.SUSPENDED),
        (custom(condition("Ready", "False", "Failed"), spec={"paused": True}), State.SUSPENDED),
        (custom(condition("Suspended")), State.SUSPENDED),
        (custom(since(condition("Ready", "False", "Suspended"))), State.SUSPENDED),
        (custom(since(condition("Ready", "False", "PodCompleted"))), State.READY),
        (custom(phase="Completed"), State.READY),
    ],
)
def test_suspended_and_completed_are_not_failing(obj: dict[str, Any], state: State) -> None:
    assert state_of(obj).at(SINCE + timedelta(days=1)).state is state
    assert with_failure(state_of(obj), FAILURE, show_error=True).state is state


FAILURE = FailingObject(controller="foo", name="a", result="error", attempt=15, since=SINCE, ended_at=SINCE, error="no")


@pytest.mark.promise(
    "Lists and layout of the console",
    "An object whose last reconcile failed is failing, in lists, counts, search and on its page.",
)
def test_failed_reconcile_makes_an_object_failing() -> None:
    for obj in (custom(), custom(condition("Ready")), custom(condition("Ready"), observedGeneration=1)):
        merged = with_failure(state_of(obj), FAILURE, show_error=True)
        assert merged[:3] == (State.FAILING, "reconcile failed 15 times", "no")
        assert with_failure(state_of(obj), FAILURE, show_error=False).message == ""
        assert with_failure(state_of(obj), None, show_error=True) == state_of(obj)


def test_deleted_object_with_failed_reconcile_stays_terminating() -> None:
    obj = custom()
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    merged = with_failure(state_of(obj), FAILURE, show_error=True)
    assert merged[:3] == (State.TERMINATING, "being deleted; reconcile failed 15 times", "no")


def definition(annotation: Any) -> dict[str, Any]:
    return {"metadata": {"annotations": {"console.kubewright.dev/states": annotation}}}


@pytest.mark.promise(
    "Lists and layout of the console",
    "An operator can declare on its kind which words of its status mean which state.",
)
def test_declared_states_take_precedence_over_guesses() -> None:
    declared = declared_states(
        definition('{"path":".status.mode","ready":["Error 0"],"failing":["Ready"],"completed":["true"]}')
    )
    assert declared == DeclaredStates(".status.mode", {"Error 0": "ready", "Ready": "failing", "true": "completed"})
    assert state_of(custom(condition("Failed"), mode="Error 0"), declared)[:2] == (State.READY, "Error 0")
    assert state_of(custom(condition("Ready"), mode="Ready"), declared).state is State.FAILING
    assert state_of(custom(mode=True), declared).completed
    assert state_of(custom(condition("Ready"), mode="Other"), declared).state is State.READY


@pytest.mark.parametrize("annotation", ["", "{", "[]", "{}", '{"path":7}', '{"path":"]["}', 7, None, "[" * 9_000])
def test_ignores_invalid_declared_states(annotation: Any) -> None:
    assert declared_states(definition(annotation)) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["metadata", "spec", "status", "conditions", "phase", "type", "replicas", "generation", "kind", "state"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.promise(
    "Lists and layout of the console",
    "Every object has a state, derived from any kind of status.",
)
@given(
    st.dictionaries(st.sampled_from(["metadata", "spec", "status"]), JSON),
    st.sampled_from(
        [("v1", "Pod"), ("apps/v1", "Deployment"), ("apps/v1", "DaemonSet"), ("batch/v1", "Job"), ("", "")]
    ),
)
def test_every_object_has_a_state(obj: dict[str, Any], kind: tuple[str, str]) -> None:
    assert isinstance(state_of({**obj, "apiVersion": kind[0], "kind": kind[1]}).state, State)
