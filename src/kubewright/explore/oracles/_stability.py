"""Objects and values that an operator makes once: no restart or retry makes them again."""

from __future__ import annotations

import math
import re
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from kubewright.counts import counted
from kubewright.explore.model import Finding, Outcome
from kubewright.explore.model._outcomes import Key
from kubewright.explore.worlds import IDLE_SECONDS, Masks, scrubbed

__all__ = ["created_again", "generated_again", "ran_again"]

_ADDRESS: Final = re.compile(r"\b10\.\d{1,3}\.\d{1,3}\.\d{1,3}\b")
"""Addresses of pods and Services, which change with each pod."""


_DELAY: Final = 5.0
"""Virtual seconds by which a retry is late."""


def created_again(expected: Outcome, actual: Outcome, timed: frozenset[str]) -> list[Finding]:
    """Scheduled objects are created no more often than in the undisturbed run, even if only the last ones are kept.

    Only creations before the last one of the undisturbed run count, because the disturbed run may take longer.
    """
    for resource in sorted(timed):
        usual = _created(expected, resource)
        end = max(usual.values(), default=0.0) + _DELAY
        extra = sorted(name for name, time in _created(actual, resource).items() if time <= end)
        if len(extra) > len(usual):
            return [
                Finding(
                    "duplicates",
                    f"the operator created {len(extra)} {resource} on a schedule, and {len(usual)} without the fault",
                    tuple(extra),
                    subject=resource,
                )
            ]
    return []


def ran_again(expected: Outcome, actual: Outcome) -> list[Finding]:
    """No more Jobs of the operator finish than in the undisturbed run, even if it deletes them afterwards."""
    usual, found = _done(expected), _done(actual)
    more = {name: uids for name, uids in found.items() if len(uids) > len(usual.get(name, ()))}
    if not more or sum(map(len, found.values())) <= sum(map(len, usual.values())):
        return []
    name = min(more)
    return [
        Finding(
            "duplicates",
            f"the Job {name} ran {counted(len(more[name]), 'time')}, and"
            f" {counted(len(usual.get(name, ())), 'time')} without the fault",
            subject="jobs.batch",
        )
    ]


def _done(outcome: Outcome) -> dict[str, set[str]]:
    """Returns the uids of the operator's finished Jobs, by name."""
    made = {write.key for write in outcome.writes if write.actor == "operator" and write.before is None}
    found: dict[str, set[str]] = {}
    for write in outcome.writes:
        if write.resource == "jobs.batch" and write.key in made and write.after is not None:
            job = msgspec.json.decode(write.after)
            if job.get("status", {}).get("completionTime"):
                found.setdefault(write.name, set()).add(job["metadata"]["uid"])
    return found


def _created(outcome: Outcome, resource: str) -> dict[str, float]:
    """Returns the names of the objects that the operator created, with the times."""
    made = [write for write in outcome.writes if write.resource == resource and write.before is None]
    return {write.name: write.time for write in made if write.actor == "operator"}


def generated_again(expected: Outcome, actual: Outcome, masks: Masks) -> list[Finding]:
    """A masked value of a child, such as a password, changes no more often than in the undisturbed run.

    Times do not count, nor does the status. A value that is renewed on a schedule counts until its last renewal in the
    undisturbed run, because the disturbed run may take longer. A child that is deleted and created again keeps its
    value if it does so in the undisturbed run.
    """
    wanted = _lives(expected, masks)
    for (key, path), lives in _lives(actual, masks).items():
        before = wanted.get((key, path), {})
        usual = max((len(values) for values in before.values()), default=1)
        kept = len(before) > 1 and len(set().union(*before.values())) == 1
        end = _last_renewal(before)
        again = any(len([at for at in values.values() if at.time <= end]) > usual for values in lives.values())
        if again or (kept and len(set().union(*lives.values())) > 1):
            resource, namespace, name = key
            field = "/".join(path)
            return [
                Finding(
                    "generated-again",
                    f"the operator generated {field} of {resource} {namespace}/{name} again",
                    subject=f"{resource} {field}",
                )
            ]
    return []


class _Moment(NamedTuple):
    """The time at which a value was first written."""

    time: float
    idle: bool
    """Whether nothing was written for a while before, so that only time can have caused it."""


_Lives: TypeAlias = dict[str, dict[bytes, _Moment]]
"""The values of a field, by uid of the object."""


def _last_renewal(lives: _Lives) -> float:
    """Returns the end of the time in which renewals on a schedule are compared; infinite if there are none."""
    if not any(at.idle for values in lives.values() for at in list(values.values())[1:]):
        return math.inf
    return max(at.time for values in lives.values() for at in values.values()) + _DELAY


def _lives(outcome: Outcome, masks: Masks) -> dict[tuple[Key, tuple[str, ...]], _Lives]:
    """Returns the values of each masked field."""
    found: dict[tuple[Key, tuple[str, ...]], _Lives] = {}
    last = 0.0
    masked = [(resource, path) for resource, path in masks.leaves if path[0] not in ("status", "metadata")]
    for write in outcome.writes:
        moment, last = _Moment(write.time, write.time - last > IDLE_SECONDS), write.time
        if write.after is None or write.actor != "operator":
            continue
        for resource, path in masked:
            if resource != write.resource or masks.exempts(write.key, path):
                continue
            obj = msgspec.json.decode(write.after)
            value = _at(scrubbed(obj), path)
            if value is not None and not _ADDRESS.search(str(value)):
                lives = found.setdefault((write.key, path), {})
                lives.setdefault(obj["metadata"]["uid"], {}).setdefault(msgspec.json.encode(value), moment)
    return found


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part == "*":
            continue
        else:
            return None
    return value
