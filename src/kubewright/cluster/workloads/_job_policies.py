"""Pod failure policies and success policies of Jobs. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kubewright.api import batch, core
from kubewright.cluster.workloads import _job_indexes as indexes

__all__ = ["FAILURES", "Verdict", "failed_indexes", "failures_of", "success_by_policy", "verdict_on"]

FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
"""The annotation with the previous failures of a pod's index, for Jobs with a backoff limit per index."""


@dataclass(frozen=True)
class Verdict:
    """The result of a failure policy: the action, and for `FailJob` the message."""

    action: str = "Count"
    message: str = ""


def verdict_on(policy: batch.PodFailurePolicy | None, pod: core.Pod) -> Verdict:
    """Returns the result of the first matching rule; without one, the failure counts."""
    for number, rule in enumerate(policy.rules if policy is not None else ()):
        where = f"{pod.metadata.namespace}/{pod.metadata.name}"
        if rule.on_exit_codes is not None:
            ended = _exit(pod, rule.on_exit_codes)
            if ended is None:
                continue
            what = f"Container {ended[0]} for pod {where} failed with exit code {ended[1]}"
        else:
            condition = _condition(pod, rule.on_pod_conditions or ())
            if condition is None:
                continue
            what = f"Pod {where} has condition {condition}"
        return Verdict(rule.action, f"{what} matching {rule.action} rule at index {number}")
    return Verdict()


def _exit(pod: core.Pod, wanted: batch.PodFailurePolicyOnExitCodesRequirement) -> tuple[str, int] | None:
    for each in (*(pod.status.container_statuses or ()), *(pod.status.init_container_statuses or ())):
        ended = each.state.terminated if each.state is not None else None
        if ended is None or not ended.exit_code or wanted.container_name not in (None, each.name):
            continue
        if (ended.exit_code in wanted.values) == (wanted.operator == "In"):
            return each.name, ended.exit_code
    return None


def _condition(pod: core.Pod, wanted: Iterable[batch.PodFailurePolicyOnPodConditionsPattern]) -> str | None:
    held = {(each.type, each.status) for each in pod.status.conditions or ()}
    return next((each.type for each in wanted if (each.type, each.status or "True") in held), None)


def success_by_policy(policy: batch.SuccessPolicy | None, succeeded: set[int | None]) -> str | None:
    """Returns the message if the succeeded indexes fulfill a rule; None otherwise."""
    for number, rule in enumerate(policy.rules if policy is not None and succeeded else ()):
        wanted = indexes.parse(rule.succeeded_indexes) if rule.succeeded_indexes is not None else None
        among = succeeded if wanted is None else succeeded & wanted
        if wanted is not None and rule.succeeded_count is None:
            enough = bool(wanted) and wanted <= succeeded
        else:
            enough = len(among) >= (rule.succeeded_count or 0)
        if enough:
            return f"Matched rules at index {number}"
    return None


def failures_of(pods: Iterable[core.Pod], policy: batch.PodFailurePolicy | None) -> dict[int, int]:
    """Returns the failures of each index: the previous ones of its newest pod, and its own."""
    found: dict[int, int] = {}
    for pod in pods:
        number = indexes.of(pod)
        if number is None:
            continue
        before = pod.metadata.annotations.get(FAILURES, "0")
        count = int(before) if before.isdigit() else 0
        if pod.status.phase == "Failed" and verdict_on(policy, pod).action != "Ignore":
            count += 1
        found[number] = max(found.get(number, 0), count)
    return found


def failed_indexes(
    pods: Sequence[core.Pod], policy: batch.PodFailurePolicy | None, limit: int, known: set[int | None]
) -> set[int | None]:
    """Returns the indexes that are not retried: too many failures, or a rule with FailIndex."""
    often: set[int | None] = {number for number, count in failures_of(pods, policy).items() if count > limit}
    ended = [pod for pod in pods if pod.status.phase == "Failed"]
    final = {indexes.of(pod) for pod in ended if verdict_on(policy, pod).action == "FailIndex"}
    return known | often | (final - {None})
