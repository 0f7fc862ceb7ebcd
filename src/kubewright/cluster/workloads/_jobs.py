"""Jobs: run pods to completion, and retry them until enough have succeeded or too many have failed."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import datetime
from typing import Final

import kubewright as kw
from kubewright.api import batch, core, is_controlled_by
from kubewright.backoff import doubled
from kubewright.client import NotFound
from kubewright.cluster.workloads import _job_indexes as indexes
from kubewright.cluster.workloads import _job_policies as policies
from kubewright.cluster.workloads._pods import deletion_order, has_ended, is_active, is_ready, pod_from, stop
from kubewright.cluster.workloads._statuses import moment, with_condition, write_status

__all__ = ["TRACKING", "register"]

TRACKING: Final = "batch.kubernetes.io/job-tracking"
_LONGEST_BACKOFF: Final = 600.0
_FIRST_BACKOFF: Final = 10.0
_DEFAULT_LIMIT: Final = 6


def register(operator: kw.Operator) -> None:
    """Registers the controller of Jobs."""
    operator.reconciles(batch.Job, owns=[core.Pod])(sync)


async def sync(job: batch.Job, ctx: kw.Context[batch.Job]) -> kw.Result | None:
    """Counts finished pods, finishes the Job if that is the end, and otherwise keeps the desired pods running."""
    if job.spec.managed_by not in (None, "kubernetes.io/job-controller"):
        return None
    if ending := _condition(job, "Complete") or _condition(job, "Failed"):
        return await _expire(job, ending, ctx)
    return await Step(job, ctx).run()


def _condition(job: batch.Job, type_: str) -> batch.JobCondition | None:
    return next((each for each in job.status.conditions or () if each.type == type_ and each.status == "True"), None)


async def _expire(job: batch.Job, ending: batch.JobCondition, ctx: kw.Context[batch.Job]) -> kw.Result | None:
    """Deletes a finished Job after its TTL."""
    ttl, ended = job.spec.ttl_seconds_after_finished, ending.last_transition_time
    if ttl is None or ended is None:
        return None
    left = ttl - (ctx.clock.now() - ended).total_seconds()
    if left > 0:
        return kw.Result(requeue_after=left)
    with contextlib.suppress(NotFound):
        await ctx.client.delete(job, propagation="Foreground")
    return None


class Step:
    """One reconciliation of a Job."""

    def __init__(self, job: batch.Job, ctx: kw.Context[batch.Job]) -> None:
        self.job = job
        self.ctx = ctx
        self.status = job.status
        self.pods = [pod for pod in ctx.owned(core.Pod) if is_controlled_by(pod, job)]
        self.parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
        self.completions = job.spec.completions
        if self.completions is None and job.spec.parallelism is None:
            self.completions = 1
        self.indexed = job.spec.completion_mode == "Indexed"
        self.per_index = job.spec.backoff_limit_per_index

    @property
    def active(self) -> list[core.Pod]:
        """Returns the pods that run or will run."""
        return [pod for pod in self.pods if is_active(pod)]

    async def run(self) -> kw.Result | None:
        """Performs all steps that are possible now."""
        if self.status.start_time is None and not self.job.spec.suspend:
            self.status.start_time = moment(self.ctx)
        policy_failure = self._failure_by_policy()  # before counting: counted pods lose their finalizer
        await self._count()
        if _condition(self.job, "SuccessCriteriaMet") is not None:
            await self._succeed()
            return None
        failure = None if _condition(self.job, "FailureTarget") is not None else policy_failure or self._failure()
        if failure is not None or _condition(self.job, "FailureTarget") is not None:
            await self._fail(failure)
            return None
        succeeded = indexes.parse(self.status.completed_indexes)
        if message := policies.success_by_policy(self.job.spec.success_policy, succeeded):
            await self._succeed("SuccessPolicy", message)
            return None
        after = await self._manage()
        if self._has_succeeded():
            await self._succeed()
            return None
        await self._write()
        return _first(after, self._deadline())

    # Counting

    async def _count(self) -> None:
        """Counts finished pods, once each.

        Their uids are written to the status before their finalizers are removed, and counted afterwards, so that none
        is lost or counted twice after an interruption.
        """
        noted = self.status.uncounted_terminated_pods or batch.UncountedTerminatedPods()
        succeeded, failed = list(noted.succeeded or ()), list(noted.failed or ())
        tracked = [pod for pod in self.pods if TRACKING in pod.metadata.finalizers]
        waits = self.job.spec.pod_replacement_policy == "Failed"  # then a pod counts only after it has terminated
        ended = [
            pod for pod in tracked if has_ended(pod) or (pod.metadata.deletion_timestamp is not None and not waits)
        ]
        for pod in ended:
            if pod.metadata.uid in (*succeeded, *failed) or self._is_ignored(pod):
                continue
            (succeeded if pod.status.phase == "Succeeded" else failed).append(pod.metadata.uid)
        if self.indexed:
            done = indexes.parse(self.status.completed_indexes)
            done |= {indexes.of(pod) for pod in self.pods if pod.status.phase == "Succeeded"}
            self.status.completed_indexes = indexes.text(done - {None}) or None
        if self.per_index is not None:
            given_up = policies.failed_indexes(
                self.pods, self.job.spec.pod_failure_policy, self.per_index, indexes.parse(self.status.failed_indexes)
            )
            self.status.failed_indexes = indexes.text(given_up)
        if not ended and not succeeded and not failed:
            self.status.uncounted_terminated_pods = batch.UncountedTerminatedPods()
            return
        self.status.uncounted_terminated_pods = batch.UncountedTerminatedPods(
            succeeded=succeeded or None, failed=failed or None
        )
        await self._write()
        for pod in ended:
            await self._release(pod)
        self.status.succeeded = (self.status.succeeded or 0) + len(succeeded)
        self.status.failed = (self.status.failed or 0) + len(failed)
        self.status.uncounted_terminated_pods = batch.UncountedTerminatedPods()

    async def _release(self, pod: core.Pod) -> None:
        pod.metadata.finalizers = [each for each in pod.metadata.finalizers if each != TRACKING]
        try:
            written = await self.ctx.update(pod)
        except NotFound:
            return
        self.pods = [written if each is pod else each for each in self.pods]

    def _is_ignored(self, pod: core.Pod) -> bool:
        return pod.status.phase == "Failed" and self._verdict(pod).action == "Ignore"

    def _verdict(self, pod: core.Pod) -> policies.Verdict:
        return policies.verdict_on(self.job.spec.pod_failure_policy, pod)

    # Finishing

    def _failure_by_policy(self) -> tuple[str, str] | None:
        """Returns why a rule fails the Job, if a newly failed pod matches one."""
        for pod in self.pods:
            if pod.status.phase == "Failed" and TRACKING in pod.metadata.finalizers:
                verdict = self._verdict(pod)
                if verdict.action == "FailJob":
                    return "PodFailurePolicy", verdict.message
        return None

    def _failure(self) -> tuple[str, str] | None:
        """Returns why the Job has failed, if it has."""
        if _condition(self.job, "FailureTarget") is not None:
            return None
        limit = _DEFAULT_LIMIT if self.job.spec.backoff_limit is None else self.job.spec.backoff_limit
        restarts = sum(each.restart_count for pod in self.active for each in pod.status.container_statuses or ())
        in_place = self.job.spec.template.spec.restart_policy == "OnFailure"
        if (self.status.failed or 0) > limit or (in_place and restarts and restarts >= max(limit, 1)):
            return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        deadline = self._deadline()
        if deadline is not None and deadline <= 0:
            return "DeadlineExceeded", "Job was active longer than specified deadline"
        given_up, most = indexes.parse(self.status.failed_indexes), self.job.spec.max_failed_indexes
        if most is not None and len(given_up) > most:
            return "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
        done = indexes.parse(self.status.completed_indexes)
        if given_up and len(given_up | done) >= (self.completions or 0):
            return "FailedIndexes", "Job has failed indexes"
        return None

    def _deadline(self) -> float | None:
        seconds, started = self.job.spec.active_deadline_seconds, self.status.start_time
        if seconds is None or started is None or self.job.spec.suspend:
            return None
        return seconds - (self.ctx.clock.now() - started).total_seconds()

    async def _fail(self, why: tuple[str, str] | None) -> None:
        """Sets the condition FailureTarget and stops the pods; once they are gone, the Job is Failed."""
        if why is not None:
            self._set_condition("FailureTarget", *why)
            self.ctx.record(*why, "Warning")
        for pod in self.active:
            await stop(self.ctx, pod)
            self.ctx.record("SuccessfulDelete", f"Deleted pod: {pod.metadata.name}")
        await self._end("Failed", "FailureTarget")

    def _has_succeeded(self) -> bool:
        if self.active or self.job.spec.suspend:
            return False
        succeeded = self.status.succeeded or 0
        if self.completions is None:
            return succeeded > 0
        return succeeded >= self.completions

    async def _succeed(
        self, reason: str = "CompletionsReached", message: str = "Reached expected number of succeeded pods"
    ) -> None:
        """Sets the condition SuccessCriteriaMet and stops the pods; once they are gone, the Job is Complete."""
        if _condition(self.job, "SuccessCriteriaMet") is None:
            self._set_condition("SuccessCriteriaMet", reason, message)
        for pod in self.active:
            await self._release(pod)  # it did not fail and is no longer needed
        for pod in self.active:
            await stop(self.ctx, pod)
            self.ctx.record("SuccessfulDelete", f"Deleted pod: {pod.metadata.name}")
        if await self._end("Complete", "SuccessCriteriaMet"):
            self.ctx.record("Completed", "Job completed")

    async def _end(self, type_: str, cause: str) -> bool:
        """Sets the final condition once no pod is active. Returns whether it was set."""
        over = not any(not has_ended(pod) or TRACKING in pod.metadata.finalizers for pod in self.pods)
        if over:
            why = next(each for each in self.status.conditions or () if each.type == cause)
            self._set_condition(type_, why.reason or "", why.message or "")
            if type_ == "Complete":
                self.status.completion_time = moment(self.ctx)
        await self._write()
        return over

    def _set_condition(self, type_: str, reason: str, message: str, status: str = "True") -> None:
        now = moment(self.ctx)
        made = batch.JobCondition(
            type=type_, status=status, last_probe_time=now, last_transition_time=now, reason=reason, message=message
        )
        self.status.conditions = with_condition(self.status.conditions or (), made)

    # Running

    async def _manage(self) -> float | None:
        """Creates or deletes pods. Returns the seconds until the next may be created, if it has to wait."""
        if self.job.spec.suspend:
            await self._suspend()
            return None
        if any(each.type == "Suspended" and each.status == "True" for each in self.status.conditions or ()):
            self._set_condition("Suspended", "JobResumed", "Job resumed", "False")
            self.status.start_time = moment(self.ctx)
            self.ctx.record("Resumed", "Job resumed")
        active, succeeded = self.active, self.status.succeeded or 0
        if self.completions is None:
            wanted = len(active) if succeeded else self.parallelism
        else:
            given_up = len(indexes.parse(self.status.failed_indexes))
            wanted = max(min(self.completions - succeeded - given_up, self.parallelism), 0)
        if len(active) > wanted:
            await self._stop(sorted(active, key=deletion_order)[: len(active) - wanted])
        terminating = [pod for pod in self.pods if pod.metadata.deletion_timestamp is not None and not has_ended(pod)]
        busy = len(active) + (len(terminating) if self.job.spec.pod_replacement_policy == "Failed" else 0)
        if busy >= wanted:
            return None
        if self.per_index is not None:
            return await self._fill_indexes(wanted - busy)
        wait = backoff_left(self._counted, self.ctx.clock.now())
        if wait > 0:
            return wait
        for number in self._free_indexes(wanted - busy):
            await self._create(number)
        return None

    @property
    def _counted(self) -> list[core.Pod]:
        return [pod for pod in self.pods if not self._is_ignored(pod)]

    async def _fill_indexes(self, count: int) -> float | None:
        """Creates pods for indexes with their own backoff limits: each waits after its own failures."""
        waits: list[float] = []
        for number in self._free_indexes(self.completions or 0):
            if count <= 0:
                break
            own = [pod for pod in self._counted if indexes.of(pod) == number]
            wait = backoff_left(own, self.ctx.clock.now())
            if wait > 0:
                waits.append(wait)
                continue
            await self._create(number)
            count -= 1
        return min(waits, default=None)

    def _free_indexes(self, count: int) -> Sequence[int | None]:
        if not self.indexed:
            return [None] * count
        taken = {indexes.of(pod) for pod in self.active} | indexes.parse(self.status.completed_indexes)
        taken |= indexes.parse(self.status.failed_indexes)
        if self.job.spec.pod_replacement_policy == "Failed":
            taken |= {indexes.of(pod) for pod in self.pods if not has_ended(pod)}
        return [number for number in range(self.completions or 0) if number not in taken][:count]

    async def _create(self, number: int | None) -> None:
        name = self.job.metadata.name
        pod = pod_from(self.job.spec.template, prefix=name if number is None else f"{name}-{number}")
        # A real server adds these to the template when it creates the Job.
        uid = self.job.metadata.uid
        own = {"controller-uid": uid, "job-name": name}
        labels = own | {f"batch.kubernetes.io/{key}": value for key, value in own.items()}
        pod.metadata.labels = labels | pod.metadata.labels if not self.job.spec.manual_selector else pod.metadata.labels
        pod.metadata.finalizers.append(TRACKING)
        if number is not None:
            indexes.put(pod, number, name)
            if self.per_index is not None:
                failures = policies.failures_of(self.pods, self.job.spec.pod_failure_policy).get(number, 0)
                pod.metadata.annotations[policies.FAILURES] = str(failures)
        made = await self.ctx.create(pod)
        self.pods.append(made)
        self.ctx.record("SuccessfulCreate", f"Created pod: {made.metadata.name}")

    async def _suspend(self) -> None:
        await self._stop(self.active)
        if not any(each.type == "Suspended" and each.status == "True" for each in self.status.conditions or ()):
            self._set_condition("Suspended", "JobSuspended", "Job suspended")
            self.status.start_time = None
            self.ctx.record("Suspended", "Job suspended")

    async def _stop(self, pods: Sequence[core.Pod]) -> None:
        """Deletes surplus pods: they do not count as failed."""
        names = {pod.metadata.name for pod in pods}
        for pod in pods:
            await self._release(pod)
        for pod in [each for each in self.pods if each.metadata.name in names]:
            await self.ctx.delete(pod)
            self.ctx.record("SuccessfulDelete", f"Deleted pod: {pod.metadata.name}")
        self.pods = [pod for pod in self.pods if pod.metadata.name not in names]

    async def _write(self) -> None:
        status, active = self.status, self.active
        status.active = len(active) or None
        status.ready = sum(map(is_ready, active))
        status.terminating = sum(
            pod.metadata.deletion_timestamp is not None and not has_ended(pod) for pod in self.pods
        )
        await write_status(self.ctx, status)


def backoff_left(pods: Sequence[core.Pod], now: datetime) -> float:
    """Returns the seconds until a pod may be created: 10 s after the first failure, doubled up to 10 minutes."""
    good = max((_ended_at(pod) for pod in pods if pod.status.phase == "Succeeded"), default=None)
    bad = [_ended_at(pod) for pod in pods if pod.status.phase == "Failed"]
    row = [moment_ for moment_ in bad if good is None or moment_ > good]
    if not row:
        return 0.0
    delay = doubled(len(row) - 1, first=_FIRST_BACKOFF, longest=_LONGEST_BACKOFF)
    return delay - (now - max(row)).total_seconds()


def _ended_at(pod: core.Pod) -> datetime:
    ends = [
        each.state.terminated.finished_at
        for each in pod.status.container_statuses or ()
        if each.state is not None and each.state.terminated is not None and each.state.terminated.finished_at
    ]
    made = pod.metadata.creation_timestamp
    assert made is not None
    return max(ends, default=made)


def _first(*delays: float | None) -> kw.Result | None:
    known = [delay for delay in delays if delay is not None]
    return kw.Result(requeue_after=max(min(known), 0)) if known else None
