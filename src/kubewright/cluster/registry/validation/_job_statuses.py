"""Validation of the status of a Job. A rule applies only if one of its fields has changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubewright.api import parse_time
from kubewright.cluster.machinery._field_errors import FieldError, duplicate, invalid, required
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry.validation._common import at_least_zero
from kubewright.cluster.registry.validation._jobs import index_intervals, indexes_problem

__all__ = ["job_status_errors"]

_TERMINAL: Final = ("Failed", "Complete", "FailureTarget")


class _Status:
    """The status of a Job, with the derived values that the rules use."""

    def __init__(self, job: JSONObject) -> None:
        self.fields: JSONObject = job.get("status") or {}
        given = self.fields.get("conditions") or ()
        self.true = {each.get("type") for each in given if each.get("status") == "True"}
        self.false = {each.get("type") for each in given if each.get("status") == "False"}
        self.finished = bool(self.true & {"Complete", "Failed"})

    def count(self, field: str) -> int:
        return self.fields.get(field) or 0


def job_status_errors(job: JSONObject, old: JSONObject) -> list[FieldError]:
    """Returns the errors of a changed status."""
    new, before = _Status(job), _Status(old)
    return [
        *_numbers(new.fields),
        *_outcome(new, before),
        *_finished(new, before, job["spec"]),
        *_indexes(new, before, job["spec"]),
        *_pods(new, before),
        *_criteria(new, job["spec"]),
        *_transitions(new, before, job["spec"]),
    ]


def _condition(problem: str) -> FieldError:
    """Returns an error of the conditions, which the real server does not quote."""
    return FieldError("FieldValueInvalid", "status.conditions", f"Invalid value: {problem}")


def _changed(new: _Status, before: _Status, *fields: str) -> bool:
    return any(new.fields.get(field) != before.fields.get(field) for field in fields)


def _flipped(new: _Status, before: _Status, *types: str) -> bool:
    return any((each in new.true) != (each in before.true) for each in types)


def _numbers(status: JSONObject) -> Iterator[FieldError]:
    for field in ("active", "succeeded", "failed", "ready", "terminating"):
        yield from at_least_zero(status, field, "status")
    seen: set[str] = set()
    uncounted = status.get("uncountedTerminatedPods") or {}
    for field in ("succeeded", "failed"):
        for index, uid in enumerate(uncounted.get(field) or ()):
            place = f"status.uncountedTerminatedPods.{field}[{index}]"
            if not uid:
                yield invalid(place, uid, "must not be empty")
            elif uid in seen:
                yield duplicate(place, uid)
            seen.add(uid)


def _outcome(new: _Status, before: _Status) -> Iterator[FieldError]:
    complete, done = "Complete" in new.true, new.fields.get("completionTime")
    if _flipped(new, before, "Complete", "Failed") and complete and "Failed" in new.true:
        yield _condition("cannot set Complete=True and Failed=true conditions")
    if _flipped(new, before, "Complete", "FailureTarget") and complete and "FailureTarget" in new.true:
        yield _condition("cannot set Complete=True and FailureTarget=true conditions")
    if _flipped(new, before, "Complete") or _changed(new, before, "completionTime"):
        if done and not complete:
            text = "cannot set completionTime when there is no Complete=True condition"
            yield invalid("status.completionTime", done, text)
        if complete and not done:
            yield required("status.completionTime", "completionTime is required for Complete jobs")
    started = new.fields.get("startTime")
    moved = _changed(new, before, "startTime", "completionTime")
    if moved and started and done and parse_time(done) < parse_time(started):
        yield invalid("status.completionTime", done, "must be equal to or after `startTime`")


def _finished(new: _Status, before: _Status, spec: JSONObject) -> Iterator[FieldError]:
    if (_flipped(new, before, "Failed") or _changed(new, before, "failedIndexes")) and (
        "Failed" in new.true and "FailureTarget" not in new.true
    ):
        yield _condition("cannot set Failed=True condition without the FailureTarget=true condition")
    if _flipped(new, before, "Complete", "SuccessCriteriaMet") and (
        "Complete" in new.true and "SuccessCriteriaMet" not in new.true
    ):
        yield _condition("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
    ended = new.finished != before.finished
    if (ended or _changed(new, before, "active")) and new.finished and new.count("active") > 0:
        yield invalid("status.active", new.count("active"), "active>0 is invalid for finished job")
    empty = spec.get("suspend") is True and spec.get("completions") == 0
    started = bool(new.fields.get("startTime"))
    if (ended or _changed(new, before, "startTime")) and new.finished and not (empty or started):
        yield required("status.startTime", "startTime is required for finished job")
    uncounted = new.fields.get("uncountedTerminatedPods") or {}
    shown = {"Succeeded": uncounted.get("succeeded"), "Failed": uncounted.get("failed")}
    if (ended or _changed(new, before, "uncountedTerminatedPods")) and new.finished and any(shown.values()):
        yield invalid("status.uncountedTerminatedPods", shown, "must be empty for finished job")


def _indexes(new: _Status, before: _Status, spec: JSONObject) -> Iterator[FieldError]:
    most, limit = spec.get("completions"), spec.get("backoffLimitPerIndex")
    completed, failed = new.fields.get("completedIndexes") or "", new.fields.get("failedIndexes")
    completed_changed, failed_changed = (_changed(new, before, f"{each}Indexes") for each in ("completed", "failed"))
    if completed_changed and most is not None and (problem := indexes_problem(completed, most)):
        yield invalid("status.completedIndexes", completed, f"error parsing completedIndexes: {problem}")
    if failed_changed and None not in (most, limit, failed) and (problem := indexes_problem(failed or "", most or 0)):
        yield invalid("status.failedIndexes", failed, f"error parsing failedIndexes: {problem}")
    if completed_changed and completed and spec.get("completionMode") != "Indexed":
        text = "cannot set non-empty completedIndexes when non-indexed completion mode"
        yield invalid("status.completedIndexes", completed, text)
    if failed_changed and limit is None and failed is not None:
        text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        yield invalid("status.failedIndexes", failed, text)
    both = None if most is None or failed is None else _overlap(completed, failed, most)
    if (completed_changed or failed_changed) and both is not None:
        text = f"failedIndexes and completedIndexes overlap at index: {both}"
        yield invalid("status.failedIndexes", failed, text)


def _overlap(completed: str, failed: str, completions: int) -> int | None:
    """Returns the first index of the first overlap."""
    intervals = index_intervals(failed, completions)
    overlaps = (
        max(first, begin)
        for first, last in index_intervals(completed, completions)
        for begin, end in intervals
        if first <= end and begin <= last
    )
    return min(overlaps, default=None)


def _pods(new: _Status, before: _Status) -> Iterator[FieldError]:
    terminating, ready, active = new.count("terminating"), new.fields.get("ready"), new.count("active")
    changed = new.finished != before.finished or _changed(new, before, "terminating")
    if changed and terminating > 0 and new.finished:
        yield invalid("status.terminating", terminating, "terminating>0 is invalid for finished job")
    if _changed(new, before, "ready", "active") and ready is not None and ready > active:
        yield invalid("status.ready", ready, "cannot set more ready pods than active")


def _criteria(new: _Status, spec: JSONObject) -> Iterator[FieldError]:
    met = "SuccessCriteriaMet" in new.true
    if met and "Failed" in new.true:
        yield _condition("cannot set SuccessCriteriaMet=True and Failed=true conditions")
    if met and "FailureTarget" in new.true:
        yield _condition("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
    if spec.get("successPolicy") is not None and not met and "Complete" in new.true:
        yield _condition("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")


def _transitions(new: _Status, before: _Status, spec: JSONObject) -> Iterator[FieldError]:
    for each in _TERMINAL:
        if each in before.true and each not in new.true:
            yield _condition(f"cannot disable the terminal {each}=True condition")
    scalable = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    for field in ("failed",) if scalable else ("failed", "succeeded"):
        if new.count(field) < before.count(field):
            yield invalid(f"status.{field}", new.count(field), f"cannot decrease the {field} counter")
    times: list[Any] = [each.fields.get("completionTime") for each in (new, before)]
    if all(times) and times[0] != times[1]:
        yield invalid("status.completionTime", times[0], "field is immutable")
    resumes = "Suspended" in before.true and "Suspended" in new.false
    if before.fields.get("startTime") and _changed(new, before, "startTime") and not (resumes or spec.get("suspend")):
        text = "field is immutable for unsuspended job once set"
        yield invalid("status.startTime", new.fields.get("startTime"), text)
    if "SuccessCriteriaMet" in before.true and "SuccessCriteriaMet" not in new.true:
        yield _condition("cannot disable the SuccessCriteriaMet=True condition")
    if "Complete" in before.true and "SuccessCriteriaMet" in new.true - before.true:
        yield _condition("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
