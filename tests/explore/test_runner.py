"""Runs of plans: faults, starts, and what a run records."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from kubewright.explore.faults import plans_of
from kubewright.explore.model import Apply, Create, Fault, Outcome, Plan, Revise, Story, Wait
from kubewright.explore.runner import Pool, RunnerError, reachable_lines
from kubewright.explore.workloads import Subject, changes_of, life_of, read_subjects
from kubewright.operator.loading import load_operator

OPERATORS = Path(__file__).parent / "operators"
WORKER = "kubewright.explore.runner._pool._Worker"  # private: stands in for processes whose runs never end


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool("", workers=1) as started:
        yield started


def target_of(name: str) -> str:
    return str(OPERATORS / f"{name}.py")


def subject_of(target: str) -> Subject:
    return read_subjects(load_operator(target), [OPERATORS / "sample.yaml"])[0]


def run(pool: Pool, name: str, *faults: Fault) -> Outcome:
    target = target_of(name)
    outcome = pool.run(Plan(life_of(subject_of(target), None), faults), target)
    assert outcome.broken == ""
    return outcome


@pytest.mark.parametrize(
    "fault",
    [
        Fault("fail", 1, status=500),
        Fault("lost", 1, after=True),
        Fault("forbidden", 1, seconds=300.0),
        Fault("crash", 1, after=True, seconds=3600.0),
    ],
    ids=lambda fault: fault.kind,
)
def test_starts_an_operator_again_whose_start_failed(pool: Pool, fault: Fault) -> None:
    usual, disturbed = run(pool, "startup_correct"), run(pool, "startup_correct", fault)
    assert disturbed.hits == [True]
    assert [set(each.world) for each in disturbed.checkpoints] == [set(each.world) for each in usual.checkpoints]
    assert ("configmaps", "default", "settings") in usual.checkpoints[-1].world


@pytest.mark.promise("The explorer", "A run that branches off another one equals a run from the beginning.")
def test_runs_that_branch_off_equal_runs_from_the_beginning(pool: Pool) -> None:
    target = target_of("ready_correct")
    subject = subject_of(target)
    story = life_of(subject, changes_of(subject.object, subject.schema)[0])
    usual = pool.run(Plan(story), target)
    assert pool.run(Plan(story), target) == pool.run(Plan(story), target, fresh=True) == usual
    plans = plans_of(story, usual, subject.key)
    for plan in plans[:: len(plans) // 12]:
        assert pool.run(plan, target) == pool.run(plan, target, fresh=True)


def test_standby_takes_over_with_caches_that_lag_behind(pool: Pool) -> None:
    usual, taken = (
        run(pool, "memory_correct"),
        run(pool, "memory_correct", Fault("takeover", 1, after=True, seconds=30.0)),
    )
    assert taken.hits == [True]
    assert {sent.incarnation for sent in taken.requests} == {1, 2}
    later = [sent.time for sent in taken.requests if sent.incarnation == 2]
    assert min(later) < taken.requests[0].time + 30.0  # before its caches have caught up
    assert [set(each.world) for each in taken.checkpoints] == [set(each.world) for each in usual.checkpoints]


def test_webhook_that_is_down_refuses_all_writes_of_a_kind(pool: Pool) -> None:
    found = run(pool, "memory_correct", Fault("webhook-down", 2, seconds=300.0))
    refused = [sent for sent in found.requests if "webhook" in sent.fault]
    assert len(refused) > 1
    assert {sent.resource for sent in refused} == {found.requests[1].resource}
    assert found.checkpoints[0].quiet


@pytest.mark.parametrize("resource", ["deployments.apps", "sites.explored.example.com", ""])
def test_watches_expire_and_reorder_by_kind(pool: Pool, resource: str) -> None:
    faults = [Fault("expired-watch", 0, resource=resource, seconds=30.0)]
    faults += [Fault("reordered-watch", 0, resource=resource, seconds=20.0)] if resource else []
    for fault in faults:
        usual, found = run(pool, "ready_correct"), run(pool, "ready_correct", fault)
        assert found.hits == [True]
        assert [set(each.world) for each in found.checkpoints] == [set(each.world) for each in usual.checkpoints]


@pytest.mark.promise("The explorer", "The same plan gives a byte-identical journal.")
@pytest.mark.parametrize("fault", [Fault("crash", 2, after=True), Fault("takeover", 1, after=True, seconds=30.0)])
def test_same_plan_gives_the_same_journal(pool: Pool, fault: Fault) -> None:
    target = target_of("ready_correct")
    plan = Plan(life_of(subject_of(target), None), (fault,))
    with Pool(target, workers=1) as another:
        outcomes = [each.run(plan, target, fresh=fresh) for each in (pool, another) for fresh in (True, False, True)]
    assert outcomes[0].journal
    assert len({outcome.journal for outcome in outcomes}) == 1
    assert all(outcome == outcomes[0] for outcome in outcomes)


def test_reports_what_escapes_determinism(pool: Pool) -> None:
    first, second = run(pool, "escaping"), run(pool, "escaping")
    assert first.escapes == [
        "the operator calls datetime.now: use ctx.clock.now",
        "the operator calls time.monotonic: use ctx.clock.monotonic",
        "the operator starts a thread",
    ]
    assert first.journal != second.journal


def test_notes_the_lines_that_a_run_reached(pool: Pool) -> None:
    found = run(pool, "memory_correct").lines
    (path,) = found
    assert found[path] == reachable_lines(Path(path).read_bytes())


def test_fresh_runs_share_the_code_of_a_program_until_it_changes(pool: Pool, tmp_path: Path) -> None:
    program = tmp_path / "changing.py"
    source = (OPERATORS / "memory_correct.py").read_text()
    program.write_text(source)
    target = str(program)
    plan = Plan(life_of(subject_of(target), None))
    first, second = (pool.run(plan, target, fresh=True) for _ in range(2))
    assert first == second
    program.write_text(f"# A comment.\n{source}\nimport datetime\n\ndatetime.datetime.now()\n")
    changed = [pool.run(plan, target, fresh=True) for _ in range(2)]
    assert [each.escapes for each in changed] == [["the operator calls datetime.now: use ctx.clock.now"]] * 2
    assert changed[0].lines[target] == [line + 1 for line in first.lines[target]]


def test_compiles_a_program_without_the_explorers_own_future_imports(pool: Pool, tmp_path: Path) -> None:
    program = tmp_path / "annotated.py"
    source = (OPERATORS / "memory_correct.py").read_text().replace("from __future__ import annotations\n", "")
    check = "def annotated(number: int) -> None: ...\n\n\nassert annotated.__annotations__['number'] is int\n"
    program.write_text(f"{source}\n\n{check}")
    target = str(program)
    outcome = pool.run(Plan(life_of(subject_of(target), None)), target, fresh=True)
    assert outcome.broken == ""
    assert outcome.lines[target]


def test_user_applies_an_object_that_may_exist(pool: Pool) -> None:
    target = target_of("memory_correct")
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "default"}}
    steps = (Apply({**settings, "data": {"a": "1"}}), Apply({**settings, "data": {"b": "2"}}), Wait())
    outcome = pool.run(Plan(Story("apply twice", steps)), target)
    assert outcome.refused == []
    assert outcome.checkpoints[0].world["configmaps", "default", "settings"]["data"] == {"a": "1", "b": "2"}


def test_waits_for_the_retry_after_a_long_fault(pool: Pool) -> None:
    usual, found = run(pool, "ready_correct"), run(pool, "ready_correct", Fault("webhook-down", 1, seconds=300.0))
    last = [sent for sent in found.requests if "webhook" in sent.fault][-1]
    assert found.requests[last.number].time - last.time > 90.0  # longer than a cluster must be quiet
    assert set(found.checkpoints[0].world) == set(usual.checkpoints[0].world)


def test_takeover_needs_a_standby_whose_caches_are_in_sync(pool: Pool) -> None:
    found = run(pool, "startup_correct", Fault("takeover", 1, after=True, seconds=30.0))
    assert found.hits == [False]


def test_requests_of_users_pass_the_webhooks_of_the_operator(pool: Pool) -> None:
    target = target_of("webhooks_correct")
    site = {**subject_of(target).object, "spec": {"message": "hello"}}
    name, place = site["metadata"]["name"], site["metadata"]["namespace"]

    def revised(path: str, value: object) -> Revise:
        return Revise(site["apiVersion"], site["kind"], name, place, ("spec", path), value)

    steps = (Create(site), Wait(), revised("mode", "huge"), revised("mode", "large"), revised("replicas", None), Wait())
    outcome = pool.run(Plan(Story("refused", steps)), target)
    assert outcome.broken == ""
    assert outcome.failures == []
    assert [step for step, _ in outcome.refused] == [2]
    assert "must be small or large" in outcome.refused[0][1]
    key = ("configmaps", place, f"{name}-numbers")
    sizes = [each.world[key]["data"] for each in outcome.checkpoints]
    assert [(data["size"], data["last"]) for data in sizes] == [("1", "0"), ("5", "4")]


def test_companion_of_an_external_system_acts_in_every_run(pool: Pool) -> None:
    fault = Fault("crash", 1, after=True, seconds=3600.0)
    usual, disturbed = run(pool, "companion_correct"), run(pool, "companion_correct", fault)
    assert disturbed.hits == [True]
    for outcome in (usual, disturbed):
        assert outcome.failures == []
        [site] = [obj for key, obj in outcome.checkpoints[0].world.items() if key[0].startswith("sites")]
        assert site["status"]["ready"] is True
        assert "explored-registry" not in {write.actor for write in outcome.writes}


def test_calls_of_a_session_fail_as_those_of_its_stand_in(pool: Pool) -> None:
    usual, failed = (
        run(pool, "companion_correct"),
        run(pool, "companion_correct", Fault("external-fail", 1, after=True)),
    )
    assert {call.verb for call in usual.calls} == {"register", "forget"}
    assert failed.hits == [True]
    assert "ConnectionError: registry does not respond" in failed.failures[0].traceback
    assert [set(each.world) for each in failed.checkpoints] == [set(each.world) for each in usual.checkpoints]


def test_bug_of_a_companion_ends_a_run(pool: Pool, tmp_path: Path) -> None:
    source = (OPERATORS / "companion_correct.py").read_text()
    broken = tmp_path / "companion_broken.py"
    broken.write_text(source.replace("str(self._names[found.metadata.name])", "str(self._names[found.metadata.uid])"))
    target = str(broken)
    outcome = pool.run(Plan(life_of(subject_of(target), None)), target)
    assert "KeyError" in outcome.broken


class Stuck:
    """A worker whose runs last until it is killed."""

    def __init__(self) -> None:
        self.runs = threading.Event()
        self.killed = threading.Event()

    def run(self, target: str, plan: Plan, fresh: bool) -> Outcome:
        self.runs.set()
        assert self.killed.wait(60)
        raise RunnerError("the process that runs plans ended")

    def kill(self) -> None:
        self.killed.set()

    def close(self) -> None: ...


def test_interruption_ends_the_runs_that_other_threads_wait_for(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Stuck()
    monkeypatch.setattr(WORKER, lambda: worker)
    submitted: list[Future[Outcome]] = []
    plan = Plan(Story("any", (Wait(),)))

    def interrupted() -> None:
        with Pool("", workers=1) as pool, pool.threads() as threads:
            submitted.extend(threads.submit(pool.run, plan) for _ in range(2))
            assert worker.runs.wait(60)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert isinstance(submitted[0].exception(), RunnerError)
    assert submitted[1].cancelled()


def test_no_run_begins_after_an_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Stuck()
    monkeypatch.setattr(WORKER, lambda: worker)

    def interrupted(pool: Pool) -> None:
        with pool.threads():
            raise KeyboardInterrupt

    with Pool("", workers=1) as pool:
        with pytest.raises(KeyboardInterrupt):
            interrupted(pool)
        with pytest.raises(RunnerError, match="the exploration was interrupted"):
            pool.run(Plan(Story("any", (Wait(),))))
    assert not worker.runs.is_set()
