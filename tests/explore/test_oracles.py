"""Oracles, on outcomes that are written down."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kubewright.explore.model import Checkpoint, Failure, Outcome, Sent, Write
from kubewright.explore.oracles import (
    actions_after_a_time,
    bystanders_kept,
    compared,
    converged,
    created_again,
    deleted_alive,
    exceptions,
    fields_kept,
    generated_again,
    orphans,
    postponed,
    ran_again,
    ready_too_early,
    recovered,
    refuses,
    regenerated,
    undeclared,
    unobserved_generation,
    written_at_rest,
)
from kubewright.explore.worlds import Masks, scheduled

CHILD = ("configmaps", "default", "web")
SITE = ("sites.example.com", "default", "web")
WORKLOAD = ("deployments.apps", "default", "web")


def write(
    key: tuple[str, str, str], after: Any, before: Any = None, actor: str = "operator", request: int = 0
) -> Write:
    raw = [None if each is None else msgspec.json.encode(each) for each in (before, after)]
    return Write(1.0, 0, actor, "update", key[0], key[1], key[2], raw[0], raw[1], request)


def sent(number: int, verb: str, key: tuple[str, str, str] = CHILD, status: int = 200, step: int = 0) -> Sent:
    return Sent(number, 1.0, step, verb, key[0], key[1], key[2], "", status)


def obj(uid: str = "1", status: Any = None, generation: int = 1, **content: Any) -> dict[str, Any]:
    made = {"metadata": {"name": "web", "uid": uid, "generation": generation}, **content}
    return made if status is None else {**made, "status": status}


def at(world: Any, *, quiet: bool = True, rest: tuple[int, int] = (0, 0), step: int = 1) -> Checkpoint:
    return Checkpoint(step, 90.0, quiet, world, 0, rest)


def test_recovered_reports_a_workload_that_was_ready_before() -> None:
    ready, waiting = obj(spec={"replicas": 1}, status={"readyReplicas": 1}), obj(spec={"replicas": 1}, status={})
    assert recovered(at({WORKLOAD: ready}), at({WORKLOAD: ready})) == []
    assert recovered(at({WORKLOAD: waiting}), at({WORKLOAD: waiting})) == []
    assert recovered(at({}), at({WORKLOAD: waiting})) == []  # a former ReplicaSet
    (found,) = recovered(at({WORKLOAD: ready}), at({WORKLOAD: waiting}))
    assert (found.oracle, found.subject) == ("rolled-back-spec", "deployments.apps")
    assert found.summary == "the image was changed back, but deployments.apps default/web is not ready"


def test_recovered_says_why_a_pod_waits() -> None:
    pod = ("pods", "default", "web-0")
    state = {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}
    ready = obj(status={"conditions": [{"type": "Ready", "status": "True"}]})
    waiting = obj(status={"phase": "Pending", "containerStatuses": [{"state": state}]})
    (found,) = recovered(at({pod: ready}), at({pod: waiting}))
    assert found.details == ("ImagePullBackOff: no such image",)


def test_converged_reports_a_run_that_does_not_become_quiet() -> None:
    assert converged(Outcome([at({})])) == []
    assert converged(Outcome([at({}, quiet=False)]))[0].subject == "time"
    assert converged(Outcome(requests=[sent(1, "patch")], over_budget=True))[0].subject == "writes"


def test_orphans_are_objects_of_the_operator_after_the_deletion() -> None:
    outcome = Outcome(writes=[write(CHILD, obj())])
    assert orphans(outcome, at({CHILD: obj()}))[0].subject == "configmaps"
    assert orphans(outcome, at({})) == []
    assert orphans(Outcome(writes=[write(CHILD, obj(), actor="user")]), at({CHILD: obj()})) == []


def test_deletion_of_an_object_that_stays_alive_is_wrong_even_if_it_is_created_again() -> None:
    usual = Outcome([at({CHILD: obj()})], [sent(1, "create")])
    assert deleted_alive(usual, Outcome(requests=[sent(1, "delete")]))[0].oracle == "wrong-deletion"
    assert deleted_alive(usual, Outcome(requests=[sent(1, "delete", status=404)])) == []
    replaced = Outcome([at({CHILD: obj()})], [sent(1, "delete")])
    assert deleted_alive(replaced, Outcome(requests=[sent(1, "delete")])) == []


def test_other_writers_lose_no_annotation() -> None:
    noted = {"metadata": {"uid": "1", "annotations": {"other-client.example.com/field": "kept"}}}
    added = write(CHILD, noted, obj(), actor="other")
    assert fields_kept(Outcome(writes=[added, write(CHILD, noted, noted)])) == []
    assert fields_kept(Outcome(writes=[added, write(CHILD, obj(), noted)]))[0].oracle == "other-writers"
    assert fields_kept(Outcome(writes=[added, write(CHILD, None, noted), write(CHILD, obj("2"))])) == []


def test_only_mistakes_in_the_program_are_exceptions() -> None:
    assert exceptions(Outcome(failures=[Failure(0, 0, "Conflict", "409"), Failure(0, 0, "ValueError", "odd")])) == []
    assert exceptions(Outcome(failures=[Failure(0, 0, "KeyError", "'x'")]))[0].subject == "KeyError"


def test_values_that_no_program_rejects_must_be_parsed() -> None:
    failed = Outcome(failures=[Failure(0, 0, "ValueError", "odd", parsing=True)])
    assert exceptions(failed) == []
    assert exceptions(failed, plain=True)[0].oracle == "decode"
    assert exceptions(Outcome(failures=[Failure(0, 0, "ValueError", "on purpose")]), plain=True) == []


def test_value_of_a_child_that_is_created_again_stays_if_it_does_without_faults() -> None:
    def lives(*values: str) -> Outcome:
        made = [write(CHILD, obj(uid=str(number), data={"key": value})) for number, value in enumerate(values)]
        return Outcome(writes=made)

    masks = Masks(frozenset({("configmaps", ("data", "key"))}))
    assert generated_again(lives("a", "a"), lives("b", "b"), masks) == []
    assert generated_again(lives("a", "a"), lives("b", "c"), masks)[0].oracle == "generated-again"
    assert generated_again(lives("a", "b"), lives("c", "d"), masks) == []


def test_undeclared_kinds_are_not_written() -> None:
    assert undeclared(Outcome(requests=[sent(1, "create")], permitted=["create configmaps"])) == []
    assert (
        undeclared(Outcome(requests=[sent(1, "create")], permitted=["patch configmaps", "create secrets"]))[0].oracle
        == "rbac"
    )


def test_repeated_writes_of_the_same_state_are_writes_at_rest() -> None:
    requests = [sent(number, "patch", SITE) for number in range(1, 7)]
    checkpoint = at({}, rest=(0, 6))
    assert written_at_rest(Outcome(requests=requests), checkpoint)[0].oracle == "writes-at-rest"
    assert written_at_rest(Outcome(requests=requests[:2]), at({}, rest=(0, 2))) == []
    scheduled = [*requests, sent(7, "create")]
    assert written_at_rest(Outcome(requests=scheduled), at({}, rest=(0, 7))) == []


def test_status_is_ready_only_after_the_workload_was_ready() -> None:
    waiting, works = obj(spec={"replicas": 1}), obj(spec={"replicas": 1}, status={"readyReplicas": 1})
    ready = write(SITE, obj(status={"ready": True}), obj(status={"ready": False}))
    early = Outcome([at({})], writes=[write(WORKLOAD, waiting), ready])
    late = Outcome([at({})], writes=[write(WORKLOAD, waiting), write(WORKLOAD, works, waiting, actor=""), ready])
    assert ready_too_early(early, SITE)[0].oracle == "ready-too-early"
    assert ready_too_early(late, SITE) == []


def test_status_is_ready_without_the_children_of_other_objects() -> None:
    other = write(("users.example.com", "default", "ann"), obj("9"), actor="user")
    ready = write(SITE, obj(status={"phase": "Ready"}), obj())
    for owner, findings in (("9", 0), ("1", 1)):
        made = obj("2")
        made["metadata"]["ownerReferences"] = [{"uid": owner}]
        assert len(ready_too_early(Outcome([at({})], writes=[other, ready, write(CHILD, made)]), SITE)) == findings


def test_job_runs_as_often_as_without_faults() -> None:
    key = ("jobs.batch", "default", "migration")

    def runs(*uids: str) -> Outcome:
        done = [write(key, obj(uid, {"completionTime": "now"}), obj(uid), actor="") for uid in uids]
        return Outcome([at({})], writes=[write(key, obj("1")), *done])

    assert ran_again(runs("1"), runs("1")) == []
    assert ran_again(runs("1"), runs("1", "2"))[0].oracle == "duplicates"
    assert ran_again(runs("1", "2"), runs("1", "2")) == []


@pytest.mark.parametrize(
    ("field", "first", "fresh", "after", "findings"),
    [
        ("replicas", "kJx", "kJx", "pQy", 1),
        ("replicas", "kJx", "kJx", "kJx", 0),
        ("length", "kJx", "kJxz", "pQyw", 0),  # a start with this length generates another one, too
        ("rotation", "kJx", "kJx", "pQy", 0),
        ("passwordVersion", "kJx", "kJx", "pQy", 0),
        ("replicas", "10.96.0.7", "10.96.0.7", "10.96.0.8", 0),
    ],
)
def test_password_stays_if_another_field_changes(field: str, first: str, fresh: str, after: str, findings: int) -> None:
    def end(*passwords: str) -> Outcome:
        return Outcome([at({CHILD: obj(data={"password": each})}) for each in passwords])

    masks = Masks(frozenset({("configmaps", ("data", "password"))}))
    found = regenerated(end(first, after), end(first), end(fresh), masks, ("spec", field))
    assert len(found) == findings


def test_status_is_ready_only_after_all_children_exist() -> None:
    ready = write(SITE, obj(status={"phase": "Ready"}), obj())
    assert ready_too_early(Outcome(writes=[ready, write(CHILD, obj())]), SITE)[0].subject == "configmaps"
    assert ready_too_early(Outcome(writes=[write(CHILD, obj()), ready]), SITE) == []


def test_observed_generation_catches_up_if_the_kind_has_it() -> None:
    schema: dict[str, Any] = {"properties": {"status": {"properties": {"observedGeneration": {}}}}}
    stale = at({SITE: obj(generation=2, status={"observedGeneration": 1})})
    assert unobserved_generation(stale, SITE, schema)[0].oracle == "observed-generation"
    assert unobserved_generation(stale, SITE, {}) == []


def test_generated_values_do_not_change_while_the_object_lives() -> None:
    masks = Masks(frozenset({("secrets", ("data", "password"))}))
    key = ("secrets", "default", "web")
    usual = Outcome(writes=[write(key, obj(data={"password": "a"}))])
    again = Outcome(writes=[*usual.writes, write(key, obj(data={"password": "b"}), obj())])
    recreated = Outcome(writes=[*usual.writes, write(key, obj("2", data={"password": "b"}))])
    assert generated_again(usual, again, masks)[0].oracle == "generated-again"
    assert generated_again(usual, recreated, masks) == []


def test_renewals_on_a_schedule_count_until_the_last_one_without_faults() -> None:
    masks = Masks(frozenset({("secrets", ("data", "key"))}))

    def run(*times: float) -> Outcome:
        raw = [msgspec.json.encode(obj(data={"key": str(time)})) for time in times]
        key = ("secrets", "default", "web")
        return Outcome(
            writes=[
                Write(time, 0, "operator", "patch", *key, b"", after) for time, after in zip(times, raw, strict=True)
            ]
        )

    assert generated_again(run(1, 1800), run(1, 1803, 3600), masks) == []
    assert generated_again(run(1, 1800), run(1, 2, 1800), masks)[0].oracle == "generated-again"
    assert generated_again(run(1), run(1, 1800), masks)[0].oracle == "generated-again"


def test_bystanders_are_neither_changed_nor_deleted() -> None:
    kept = Outcome(writes=[write(CHILD, obj(), actor="user")])
    deleted = Outcome(writes=[*kept.writes, write(CHILD, None, obj())])
    assert bystanders_kept(kept, frozenset({CHILD})) == []
    assert bystanders_kept(deleted, frozenset({CHILD}))[0].oracle == "wrong-deletion"


def test_ignores_a_pull_policy_that_the_server_chose_for_a_former_image() -> None:
    def run(image: str, policy: str) -> Outcome:
        containers = [{"image": image, "imagePullPolicy": policy}]
        made = obj(spec={"template": {"spec": {"containers": containers}}})
        return Outcome([at({WORKLOAD: made})], writes=[write(WORKLOAD, made)])

    def differs(one: Outcome, other: Outcome) -> bool:
        (wanted,), (found,) = one.checkpoints, other.checkpoints
        return compared(wanted, one, found, other, Masks(), oracle="o", summary="s", subject=SITE) != []

    assert not differs(run("web:1", "IfNotPresent"), run("web:1", "Always"))
    assert not differs(run("example.com:5000/web", "Always"), run("example.com:5000/web", "IfNotPresent"))
    assert differs(run("web:1", "Always"), run("web:1", "IfNotPresent"))
    assert differs(run("web:1", "IfNotPresent"), run("web:2", "IfNotPresent"))


def test_operator_refuses_a_value_if_it_is_not_ready_with_it_or_creates_nothing() -> None:
    def run(phase: str, *writes: Write) -> Outcome:
        children = {each.key: obj() for each in writes}
        return Outcome([at({SITE: obj(status={"phase": phase}), **children})], writes=list(writes))

    child = write(CHILD, obj())
    assert refuses(run("Ready", child), run("Failed", child), SITE, text=False)
    assert not refuses(run("Ready", child), run("Ready"), SITE, text=False)
    assert refuses(run("Ready", child), run("Ready"), SITE, text=True)
    assert not refuses(run("", child), run("", child), SITE, text=True)


def test_objects_that_only_time_creates_under_other_names_are_scheduled() -> None:
    def run(*made: tuple[float, str]) -> Outcome:
        key = ("configmaps", "default")
        return Outcome(writes=[Write(time, 0, "operator", "create", *key, name, None, b"{}") for time, name in made])

    assert scheduled([run((1, "a-1"), (900, "a-2")), run((1, "a-7"), (900, "a-8"))]) == {"configmaps"}
    assert scheduled([run((1, "a-1"), (900, "a-2")), run((1, "a-1"), (900, "a-2"))]) == frozenset()
    assert scheduled([run((1, "a-x"), (2, "a-y")), run((1, "a-z"), (2, "a-w"))]) == frozenset()


def test_nothing_runs_more_often_on_a_schedule_than_without_faults() -> None:
    def run(*made: tuple[float, str]) -> Outcome:
        key = ("configmaps", "default")
        return Outcome(writes=[Write(time, 0, "operator", "create", *key, name, None, b"{}") for time, name in made])

    usual, timed = run((1, "a-1"), (900, "a-2")), frozenset({"configmaps"})
    assert created_again(usual, run((1, "a-7"), (2, "a-8"), (900, "a-9")), timed)[0].oracle == "duplicates"
    assert created_again(usual, run((1, "a-7"), (2, "a-7"), (903, "a-9")), timed) == []
    assert created_again(usual, run((1, "a-7"), (903, "a-8"), (1800, "a-9")), timed) == []
    assert created_again(usual, run((1, "a-7"), (2, "a-8"), (900, "a-9")), frozenset()) == []


@pytest.mark.parametrize(
    ("times", "found"), [((600,), 0), ((1085,), 0), ((1700,), 1), ((), 1), ((540, 1080, 1620), 0)], ids=str
)
def test_restarts_postpone_nothing(times: tuple[float, ...], found: int) -> None:
    def run(*moments: float) -> Outcome:
        made = Write(5.0, 0, "user", "create", *SITE, None, b"{}")
        gone = [Write(5.0 + time, 1, "operator", "delete", *CHILD, b"{}", None) for time in moments]
        return Outcome(writes=[made, *gone])

    assert actions_after_a_time(run(600), SITE) == {("deleted", "configmaps"): [600.0]}
    assert actions_after_a_time(run(600, 1200, 1800, 2400), SITE) == {}
    assert len(postponed(run(600), run(*times), SITE, 1620)) == found
