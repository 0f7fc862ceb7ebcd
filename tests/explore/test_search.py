"""What an exploration does in which order, what it leaves out, and how it continues."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubewright.cli import run
from kubewright.explore import ExploreError, run_exploration
from kubewright.explore.faults import outdated_of, pairs_of, plans_of
from kubewright.explore.model import Apply, Checkpoint, Delete, Fault, Outcome, Pause, Plan, Sent, Story, Wait
from kubewright.explore.runner import reachable_lines
from kubewright.explore.search import Novelty, fingerprint, load_saved, unreached
from kubewright.explore.workloads import (
    SampleError,
    hasty_life_of,
    operation_of,
    read_operations,
    read_subjects,
    rebirth_of,
)
from kubewright.operator.loading import load_operator

OPERATORS = Path(__file__).parent / "operators"
SAMPLE = OPERATORS / "sample.yaml"
STORY = Story("create", (Wait(),))
OPERATION = """
name: rotate the settings
steps:
- apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: default}, data: {color: blue}}
- wait: 10m
- delete: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: default}}
- wait:
"""


def outcome(*verbs: str, message: str = "", lines: tuple[int, ...] = ()) -> Outcome:
    requests = [Sent(number, 0.0, 0, verb, "configmaps", "default", "web", "") for number, verb in enumerate(verbs, 1)]
    world = {("configmaps", "default", "web"): {"metadata": {"name": "web"}, "data": {"message": message}}}
    return Outcome(
        requests=requests, checkpoints=[Checkpoint(0, 0.0, True, world, len(verbs))], lines={"foo.py": list(lines)}
    )


def plan(*faults: Fault) -> Plan:
    return Plan(STORY, faults)


def test_counts_new_lines_sequences_and_states() -> None:
    novelty = Novelty()
    assert novelty.note(plan(), outcome("create", lines=(1, 2))) == 4
    assert novelty.note(plan(Fault("crash", 1)), outcome("create", lines=(1,))) == 0
    assert novelty.note(plan(Fault("crash", 2)), outcome("create", "patch", lines=(3,))) == 2
    assert novelty.note(plan(Fault("crash", 3)), outcome("create", message="other")) == 1
    assert novelty.lines == {"foo.py": [1, 2, 3]}


def test_combines_only_faults_that_are_not_equivalent() -> None:
    novelty = Novelty()
    plans = [plan(Fault("crash", at, after=True)) for at in (1, 2, 3)]
    for each, found in zip(plans, [outcome("create"), outcome("create"), outcome("create", "patch")], strict=True):
        novelty.note(each, found)
    assert novelty.distinct(plans) == [plans[0], plans[2]]
    assert [pair.faults for pair in pairs_of(novelty.distinct(plans))] == [(plans[0].faults[0], plans[2].faults[0])]


def test_combines_late_watches_with_crashes() -> None:
    late, crash = Fault("slow-watch", 0, resource="configmaps", seconds=60.0), Fault("crash", 1, after=True)
    assert [pair.faults for pair in pairs_of([plan(late), plan(crash)])] == [(late, crash)]


def test_lists_the_statements_that_no_run_reached(tmp_path: Path) -> None:
    program = tmp_path / "foo.py"
    program.write_text('import os\ndef f(x):\n    """Doc."""\n    if x:\n        a = 1\n        b = 2\n    return x\n')
    assert reachable_lines(program.read_bytes()) == [4, 5, 6, 7]
    assert unreached({str(program): [4, 7]}) == ["foo.py: 5-6"]
    assert unreached({str(program): [4, 5, 6, 7]}) == []


def test_reports_the_lines_and_values_that_it_tried(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["explore", str(OPERATORS / "memory_correct.py"), "--samples", str(SAMPLE), "--budget", "25"]
    assert run([*arguments, "--workers", "1"]) == 0
    shown = capsys.readouterr().out
    assert "operator statements reached:" in shown
    assert "schema values tried:" in shown
    assert "operator lines never reached" not in shown


def test_continues_where_an_earlier_exploration_ended(tmp_path: Path) -> None:
    saved, target = tmp_path / "saved.json", str(OPERATORS / "memory_correct.py")
    first = run_exploration(target, [SAMPLE], runs=20, workers=1, resume=saved)
    known = load_saved(saved, fingerprint(target, [SAMPLE], 0))
    assert known.done
    second = run_exploration(target, [SAMPLE], runs=20, workers=1, resume=saved)
    assert second.executed >= first.executed
    assert set(known.done) < set(load_saved(saved, known.fingerprint).done)
    assert load_saved(saved, "another program").done == []
    saved.write_text("[]")
    with pytest.raises(ExploreError, match="is not a saved exploration"):
        run_exploration(target, [SAMPLE], runs=1, workers=1, resume=saved)


def test_reads_operations_of_users(tmp_path: Path) -> None:
    path = tmp_path / "operations.yaml"
    path.write_text(OPERATION)
    (operation,) = read_operations([path])
    apply, pause, delete, wait = operation.steps
    assert isinstance(apply, Apply)
    assert apply.object["data"] == {"color": "blue"}
    assert (pause, delete, wait) == (Pause(600.0), Delete("v1", "ConfigMap", "settings", "default"), Wait())
    subject = read_subjects(load_operator(str(OPERATORS / "memory_correct.py")), [SAMPLE])[0]
    assert operation_of(subject, operation).story.name == "create Site web, then rotate the settings"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name: x", "an operation has a name and a list of steps"),
        ("{name: x, steps: [{create: {}}]}", "a step has one of the fields apply, delete, wait"),
        ("{name: x, steps: [{wait: soon}]}", "wait"),
        ("{name: x, steps: [{delete: {kind: Pod}}]}", "delete needs an object with apiVersion, kind and metadata.name"),
    ],
)
def test_rejects_invalid_operations(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "operations.yaml"
    path.write_text(content)
    with pytest.raises(SampleError, match=message):
        read_operations([path])


def test_watches_are_late_only_for_a_moment_before_a_deletion() -> None:
    """Until an operator knows that its object is gone, it creates the children again, as often as they are deleted."""
    subject = read_subjects(load_operator(str(OPERATORS / "memory_correct.py")), [SAMPLE])[0]
    story = hasty_life_of(subject, None)
    plans = plans_of(story, Outcome(watched=["configmaps", subject.resource]), subject.key)
    late = [fault for each in plans for fault in each.faults if fault.kind.endswith("watch")]
    about_subject = [fault for fault in late if fault.resource in ("", subject.resource) or fault.kind != "slow-watch"]
    assert about_subject
    assert all(fault.seconds < 1 for fault in about_subject)


@pytest.mark.parametrize(("resource", "untils"), [("persistentvolumeclaims", [5]), ("configmaps", [])])
def test_standby_misses_the_return_of_an_object_with_data(resource: str, untils: list[int]) -> None:
    subject = read_subjects(load_operator(str(OPERATORS / "memory_correct.py")), [SAMPLE])[0]
    sent = [(1, 0, "create"), (2, 2, "delete"), (3, 2, "patch"), (4, 4, "patch"), (5, 4, "create")]
    kinds = {"create": resource, "delete": resource, "patch": subject.resource}
    requests = [Sent(number, 0.0, step, verb, kinds[verb], "default", "web", "", 200) for number, step, verb in sent]
    plans = outdated_of(rebirth_of(subject), Outcome(requests=requests))
    assert [plan.faults[0].until for plan in plans[:1]] == untils
    assert all(plan.faults[0].at in (2, 3) for plan in plans)
