"""`Exploration`: decides what to run next, until the budget is used up."""

from __future__ import annotations

import hashlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias

import msgspec

from kubewright.explore.faults import crashes_of, late_faults_of, misses_of, outdated_of, pairs_of, plans_of
from kubewright.explore.model import Conditions, Create, Finding, Outcome, Plan, Report, Revise, Story
from kubewright.explore.oracles import actions_after_a_time, converged
from kubewright.explore.reports import story_lines
from kubewright.explore.runner import Pool
from kubewright.explore.search._baseline import CIRCUMSTANCES, Baseline, judge_undisturbed, learn_masks
from kubewright.explore.search._hash_seeds import HASH_SEEDS, judge_hash_seed, judge_rehashed
from kubewright.explore.search._judges import judge_plan, judge_scene
from kubewright.explore.search._novelty import Novelty, unreached
from kubewright.explore.search._saved import Saved
from kubewright.explore.search._shown import bystander_scenes, interleaved, is_about, postponed_scenes
from kubewright.explore.workloads import (
    Change,
    Operation,
    Scene,
    Subject,
    aging_of,
    changes_of,
    fresh_of,
    hasty_life_of,
    life_of,
    operation_of,
    rebirth_of,
    scenes_of,
)
from kubewright.explore.worlds import Masks, TooManyMasks

__all__ = ["Budget", "Exploration"]

_MAX_FINDINGS: Final = 5
"""Distinct findings after which an exploration ends."""
_TRIED_CHANGES: Final = 6


_Baselines: TypeAlias = "tuple[Baseline, Baseline, Baseline | None]"
"""The life, the hasty life and the aging of a subject."""


class Budget(msgspec.Struct, frozen=True):
    """The limits of an exploration."""

    seconds: float = 300.0
    runs: int = 0
    """The maximum number of runs; 0 for no limit."""
    seed: int = 0


class Exploration:
    """Explores an operator with the servers of a pool."""

    def __init__(
        self,
        pool: Pool,
        subjects: Sequence[Subject],
        budget: Budget,
        progress: Callable[[Report], None] = lambda report: None,
        saved: Saved | None = None,
        operations: Sequence[Operation] = (),
    ) -> None:
        self._pool = pool
        self._subjects = subjects
        self._budget = budget
        self._progress = progress
        self._begin = time.monotonic()
        self._lock = threading.Lock()
        self._cache: dict[bytes, Outcome] = {}
        self._novelty = Novelty()
        self._interesting: list[tuple[int, Scene]] = []
        self._operations = operations
        self.saved = saved or Saved("")
        """The work that is done, for an exploration that is continued later."""
        self._done = set(self.saved.done)
        self._novelty.restore(self.saved.lines)
        self.report = Report(
            findings=list(self.saved.findings), executed=self.saved.executed, values=list(self.saved.values)
        )
        self._known = {finding.identity for finding in self.report.findings}

    def explore(self) -> Report:
        """Runs until the budget is used up, or nothing is left to try."""
        with self._pool.threads() as threads:
            baselines = []
            for subject in self._subjects:
                change = self._main_change(subject)
                baseline = self._baseline(subject, life_of(subject, change), threads)
                if baseline is None:
                    break
                aged = self._aged(baseline)
                hasty = self._undisturbed(baseline, hasty_life_of(subject, change))
                baselines.append((baseline, hasty or baseline, aged))
            if not self.report.error:
                self._search(threads, baselines)
        self._finish()
        self.report.unreached = unreached(self._novelty.lines)
        self.report.lines = sum(len(lines) for lines in self._novelty.lines.values())
        return self.report

    def _finish(self) -> None:
        self.report.runs = self._pool.runs
        self.report.seconds = time.monotonic() - self._begin
        with self._lock:
            self.saved.done = sorted(self._done)
        self.saved.lines = self._novelty.lines

    # The undisturbed runs

    def _baseline(self, subject: Subject, story: Story, threads: ThreadPoolExecutor) -> Baseline | None:
        plans = [Plan(story, (), self._varied(conditions)) for conditions in CIRCUMSTANCES]
        outcomes = list(threads.map(self.run, plans))
        for outcome in outcomes:
            if outcome.broken:
                self.report.error = f"the undisturbed story cannot run: {outcome.broken}"
                return None
            refused = [message for step, message in outcome.refused if isinstance(story.steps[step], Create)]
            if refused:  # changes and deletions may come too late: an operator may delete an expired object
                self.report.error = f"the server refuses the sample: {refused[0]}"
                return None
            self.report.escapes = sorted({*self.report.escapes, *outcome.escapes})
        if self._pool.run(plans[0], fresh=True).journal != outcomes[0].journal:
            differs = "two runs of the same plan differ: the operator uses the machine's time, chance or threads"
            self.report.escapes = sorted({*self.report.escapes, differs})
        exempt = Masks(exempt=subject.exemptions)
        wrong = [judge_undisturbed(subject, each, deletes=True, masks=exempt, plain=True) for each in outcomes]
        for finding in wrong[0]:
            # Every undisturbed run must show it, so that no circumstance decides.
            if all(finding.identity in {each.identity for each in others} for others in wrong):
                self._add(finding, plans[0], outcomes[0])
        if any(found.oracle == "convergence" for found in wrong[0]):
            return None
        try:
            masks = exempt.merged(learn_masks(outcomes))
        except TooManyMasks as error:
            self.report.error = str(error)
            return None
        self.report.masks += masks.lines()
        self.report.boundaries += len(outcomes[0].requests)
        return Baseline(subject, story, outcomes[0], masks)

    def _varied(self, conditions: Conditions) -> Conditions:
        return msgspec.structs.replace(conditions, seed=conditions.seed + 100 * self._budget.seed)

    def _main_change(self, subject: Subject) -> Change | None:
        """Returns the first change that the server accepts and the operator acts on."""
        for change in changes_of(subject.object, subject.schema)[:_TRIED_CHANGES]:
            outcome = self.run(Plan(life_of(subject, change), (), self._varied(Conditions())))
            if outcome.broken or outcome.refused or outcome.failures or len(outcome.checkpoints) < 2:
                continue
            first = outcome.checkpoints[0].sent
            if outcome.checkpoints[1].sent > first:
                return change
        return None

    # The search

    def _search(self, threads: ThreadPoolExecutor, baselines: list[_Baselines]) -> None:
        work = itertools.chain.from_iterable(
            interleaved(self._scene_work(baseline), self._fault_work(baseline, hasty, aged))
            for baseline, hasty, aged in baselines
        )
        more = itertools.chain.from_iterable(
            interleaved(self._bias_work(baseline), self._pair_work(baseline)) for baseline, *_ in baselines
        )
        pending: set[Future[None]] = set()
        for task in itertools.chain(work, more):
            if self._is_over():
                break
            pending.add(threads.submit(task))
            if len(pending) >= 2 * self._pool.workers:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                self._finish()
                self._progress(self.report)
        for future in pending:
            future.result()

    def _is_over(self) -> bool:
        late = time.monotonic() - self._begin >= self._budget.seconds
        spent = 0 < self._budget.runs <= self._pool.runs
        return late or spent or len(self.report.findings) >= _MAX_FINDINGS

    def _scene_work(self, baseline: Baseline) -> Iterator[Callable[[], None]]:
        subject = baseline.subject
        operations = (operation_of(subject, each) for each in self._operations)
        for hash_seed in HASH_SEEDS:
            yield partial(self._rehash, baseline, fresh_of(subject), hash_seed)
        for scene in (*operations, *bystander_scenes(baseline), *scenes_of(subject)):
            yield partial(self._scene, baseline, scene)
            if any(isinstance(step, Revise) and isinstance(step.value, list | dict) for step in scene.story.steps):
                yield partial(self._rehash, baseline, scene.references[0], HASH_SEEDS[0])

    def _fault_work(self, baseline: Baseline, hasty: Baseline, aged: Baseline | None) -> Iterator[Callable[[], None]]:
        plans = plans_of(baseline.story, baseline.outcome, baseline.subject.key)
        crashes = crashes_of(hasty.story, hasty.outcome)
        self.report.planned += len(plans) + len(crashes)
        yield from self._plan_work(hasty, crashes)
        subject = baseline.subject
        for scene in postponed_scenes(baseline):
            yield partial(self._scene, baseline, scene)
        yield from self._plan_work(baseline, plans[: len(plans) // 2])
        reborn = self._undisturbed(baseline, rebirth_of(subject))
        if reborn is not None:
            yield from self._plan_work(reborn, outdated_of(reborn.story, reborn.outcome))
            yield from self._plan_work(reborn, misses_of(reborn.story, reborn.outcome, subject.key))
        if aged is not None and aged.outcome.checkpoints[-1].rest[0] < aged.outcome.checkpoints[-1].rest[1]:
            yield from self._plan_work(aged, crashes_of(aged.story, aged.outcome, 0.0))
        yield from self._plan_work(baseline, plans[len(plans) // 2 :])

    def _plan_work(self, baseline: Baseline, plans: Sequence[Plan]) -> Iterator[Callable[[], None]]:
        for plan in plans:
            yield partial(self._plan, baseline, plan)

    def _undisturbed(self, baseline: Baseline, story: Story) -> Baseline | None:
        """Returns the baseline of a further story, with additional masks; None if it is of no use."""
        outcomes = [self.run(Plan(story, (), self._varied(conditions))) for conditions in CIRCUMSTANCES[:3]]
        if any(outcome.broken or converged(outcome) for outcome in outcomes):
            return None
        try:
            masks = baseline.masks.merged(learn_masks(outcomes))
        except TooManyMasks:
            return None
        return Baseline(baseline.subject, story, outcomes[0], masks)

    def _aged(self, baseline: Baseline) -> Baseline | None:
        """Returns the aging of a subject, and notes in the masks of its life when the operator acts."""
        aged = self._undisturbed(baseline, aging_of(baseline.subject))
        if aged is not None:
            actions = actions_after_a_time(aged.outcome, aged.subject.key)
            baseline.masks = replace(
                baseline.masks, ages=tuple(sorted({each for times in actions.values() for each in times}))
            )
        return aged

    def _pair_work(self, baseline: Baseline) -> Iterator[Callable[[], None]]:
        """Combines faults that lead to different requests or states, the most novel ones first."""
        plans = plans_of(baseline.story, baseline.outcome, baseline.subject.key)
        distinct = self._novelty.distinct(plans)
        self.report.pruned += len(plans) - len(distinct)
        yield from self._plan_work(baseline, list(pairs_of(distinct)))

    def _bias_work(self, baseline: Baseline) -> Iterator[Callable[[], None]]:
        """Disturbs the stories that showed something new, the most novel ones first."""
        while self._interesting:
            self._interesting.sort(key=lambda each: each[0])
            story = self._interesting.pop()[1].story
            known = self._undisturbed(baseline, story)
            if known is not None and all(checkpoint.quiet for checkpoint in known.outcome.checkpoints):
                yield from self._plan_work(known, late_faults_of(story, known.outcome, baseline.subject.key))

    def _claim(self, work: Plan | Scene) -> bool:
        """Returns whether this work is to run: once, and only while there is budget. Records it as done."""
        if self._is_over():
            return False
        name = hashlib.blake2b(msgspec.json.encode(work), digest_size=12).hexdigest()
        with self._lock:
            if name in self._done:
                return False
            self._done.add(name)
        return True

    def _scene(self, baseline: Baseline, scene: Scene) -> None:
        if not self._claim(scene):
            return
        if scene.value:
            self.report.values.append(scene.value)
        conditions = Conditions(unready=scene.judged == "unready", seed=100 * self._budget.seed)
        before = self._novelty.count
        found = judge_scene(baseline.subject, scene, baseline.masks, self.run, conditions)
        if not found and self._novelty.count > before and scene.judged in ("alone", "reference"):
            self._interesting.append((self._novelty.count - before, scene))
        for finding in found:
            if finding.identity in self._known:
                continue
            other = msgspec.structs.replace(conditions, seed=conditions.seed + 7, start=3)
            again = judge_scene(baseline.subject, scene, baseline.masks, self.run, other)
            plan = Plan(scene.story, (), conditions)
            self._confirm(finding, [again], plan, self.run(plan), None)

    def _rehash(self, baseline: Baseline, story: Story, hash_seed: int) -> None:
        conditions = Conditions(seed=100 * self._budget.seed)
        if not self._claim(Plan(story, (), msgspec.structs.replace(conditions, hash_seed=hash_seed))):
            return
        judge = partial(judge_hash_seed, baseline.subject, story, hash_seed, baseline.masks, self.run)
        found, plan = judge(conditions)
        for finding in found:
            assert plan is not None
            again, _ = judge(msgspec.structs.replace(conditions, seed=conditions.seed + 7, start=3))
            self._confirm(finding, [again], plan, self.run(plan), None)

    def _plan(self, baseline: Baseline, plan: Plan) -> None:
        if not self._claim(plan):
            return
        outcome = self.run(plan)
        self.report.executed += 1
        self.report.inconclusive += bool(outcome.broken)
        if not all(outcome.hits):
            return
        for finding in judge_plan(baseline, plan, outcome):
            if finding.identity in self._known:
                continue
            smallest, shown = self._smallest(baseline, finding, plan, outcome)
            replays = []
            for conditions in (plan.conditions, Conditions(seed=plan.conditions.seed + 7, start=3)):
                replay = msgspec.structs.replace(smallest, conditions=conditions)
                replays.append(judge_plan(baseline, replay, self._pool.run(replay, fresh=True)))
            self._confirm(finding, replays, smallest, shown, baseline)

    def _smallest(self, baseline: Baseline, finding: Finding, plan: Plan, outcome: Outcome) -> tuple[Plan, Outcome]:
        """Returns the plan with the fewest faults that shows the finding, and its outcome."""
        for fault in plan.faults if len(plan.faults) > 1 else ():
            smaller = msgspec.structs.replace(plan, faults=(fault,))
            found = self._pool.run(smaller)
            if finding.identity in {each.identity for each in judge_plan(baseline, smaller, found)}:
                return smaller, found
        return plan, outcome

    def _confirm(
        self,
        finding: Finding,
        replays: Sequence[Sequence[Finding]],
        plan: Plan,
        outcome: Outcome,
        baseline: Baseline | None,
    ) -> None:
        """Adds a finding that every replay shows."""
        if all(finding.identity in {each.identity for each in replay} for replay in replays):
            self._add(finding, plan, outcome, baseline)
        else:
            self.report.unconfirmed += 1

    def _add(self, finding: Finding, plan: Plan, outcome: Outcome, baseline: Baseline | None = None) -> None:
        with self._lock:
            if finding.identity in self._known:
                return
            self._known.add(finding.identity)
            usual = story_lines(Plan(plan.story), baseline.outcome) if baseline is not None else []
            complete = msgspec.structs.replace(
                finding, plan=plan, story=tuple(story_lines(plan, outcome)), undisturbed=tuple(usual)
            )
            self.report.findings.append(complete)

    def replay(self, plan: Plan, oracle: str) -> list[Finding]:
        """Runs a plan again and returns the findings of an oracle."""
        subject = next((each for each in self._subjects if is_about(plan, each)), self._subjects[0])
        with self._pool.threads() as threads:
            baseline = self._baseline(subject, life_of(subject, None), threads)
            if baseline is not None:
                self._aged(baseline)
            found = list(self.report.findings)
            if baseline is not None and plan.faults:
                known = self._baseline(subject, plan.story, threads) or baseline
                found += judge_plan(known, plan, self._pool.run(plan))
            elif baseline is not None and plan.conditions.hash_seed:
                found += judge_rehashed(subject, plan, baseline.masks, self.run)
            elif baseline is not None:
                scenes = [*bystander_scenes(baseline), *scenes_of(subject), *postponed_scenes(baseline)]
                for scene in scenes:
                    if scene.story == plan.story:
                        found += judge_scene(subject, scene, baseline.masks, self.run, plan.conditions)
                if not any(scene.story == plan.story for scene in scenes):
                    self._baseline(subject, plan.story, threads)
                    found = list(self.report.findings)
        return [finding for finding in found if finding.oracle == oracle]

    def run(self, plan: Plan) -> Outcome:
        """Runs a plan, or returns the outcome of an equal one. Only undisturbed runs are kept."""
        name = msgspec.json.encode(plan)
        if name in self._cache:
            return self._cache[name]
        outcome = self._pool.run(plan)
        self._novelty.note(plan, outcome)
        if not plan.faults:
            self._cache[name] = outcome
        return outcome
