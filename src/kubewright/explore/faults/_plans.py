"""Plans from an undisturbed run."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from kubewright.explore.model import Delete, Fault, Outcome, Plan, Sent, Step, Story, Wait
from kubewright.explore.model._outcomes import Key
from kubewright.explore.worlds import DATA, creators

__all__ = ["crashes_of", "late_faults_of", "misses_of", "outdated_of", "pairs_of", "plans_of"]

_HOUR: Final = 3600.0
_ONE_SHOT: Final = frozenset({"jobs.batch", "pods", "events", "persistentvolumeclaims", "namespaces"})
"""Children that an operator need not create again."""
_FINISHING: Final = frozenset({"jobs.batch", "pods"})
"""Children that finish. With a late watch, the child of a deleted object looks like that of the present one."""
_CONTROLLERS: Final = "kube-controller-manager"
_BLINK: Final = 0.2
_ERROR: Final = 300
"""Writes with this HTTP status, or a higher one, had no effect."""
_OUTDATED: Final = 2
"""How many of the first writes of a cleanup are tried. The caches of a standby stop before such a write."""
_LIKELY: Final = 2
"""The highest rank of faults that are tried with further stories."""
_SAME: Final = 3
"""How many writes of the same kind in one step are tried: further ones lead to the same situations."""


def plans_of(story: Story, outcome: Outcome, subject: Key) -> list[Plan]:
    """Returns the plans with one fault, likely bugs first."""
    boundaries = _boundaries(outcome.requests)
    ranked: list[tuple[int, Fault]] = []
    for sent in boundaries:
        ranked += _at_request(sent)
    for called in _boundaries(outcome.calls):
        ranked += _at_call(called)
    for read in _boundaries(outcome.reads):
        ranked += _at_read(read)
    ranked += _at_steps(story, outcome, subject)
    ranked += _at_rest(outcome, subject)
    ranked.sort(key=lambda each: each[0])
    return [Plan(story, (fault,)) for _, fault in ranked]


def late_faults_of(story: Story, outcome: Outcome, subject: Key) -> list[Plan]:
    """Returns the most likely faults at the writes after the first `Wait`, where a story differs from other ones."""
    first = next((number for number, step in enumerate(story.steps) if isinstance(step, Wait)), 0)
    late = [sent for sent in _boundaries(outcome.requests) if sent.step > first]
    ranked = [each for sent in late for each in _at_request(sent)]
    ranked += [each for each in _at_steps(story, outcome, subject) if each[1].at > first]
    ranked.sort(key=lambda each: each[0])
    return [Plan(story, (fault,)) for rank, fault in ranked if rank <= _LIKELY]


def misses_of(story: Story, outcome: Outcome, subject: Key) -> list[Plan]:
    """Returns the plans in which the operator misses steps: it is down, or its watches are late or expire."""
    ranked = sorted(_at_steps(story, outcome, subject), key=lambda each: each[0])
    return [Plan(story, (fault,)) for _, fault in ranked if fault.kind != "restart"]


def crashes_of(story: Story, outcome: Outcome, seconds: float = _HOUR) -> list[Plan]:
    """Returns the plans in which the operator crashes at a write and misses the rest of the story."""
    return [
        Plan(story, (Fault("crash", sent.number, after=after, seconds=seconds),))
        for after in (True, False)
        for sent in _boundaries(outcome.requests)
    ]


def outdated_of(story: Story, outcome: Outcome) -> list[Plan]:
    """Returns the plans in which the standby that takes over has seen the deletion of an object, but not its return.

    The standby acts on the former object, which has the same name as the new one. A correct operator distinguishes them
    by uid. Only operators that write data of their own are disturbed: everything else is created again.
    """
    deleted = next((number for number, step in enumerate(story.steps) if isinstance(step, Delete)), len(story.steps))
    cleaning = [sent for sent in outcome.requests if sent.step == deleted]
    after = [sent for sent in outcome.requests if sent.step > deleted and sent.status < _ERROR]
    if not cleaning or not any(sent.resource in DATA for sent in after):
        return []
    last = max(sent.number for sent in after if sent.resource in DATA)
    return [
        Plan(story, (Fault("takeover", sent.number, after=True, seconds=60.0, until=last),))
        for sent in cleaning[:_OUTDATED]
    ]


def _boundaries(requests: Sequence[Sent]) -> list[Sent]:
    """Returns the writes at which faults occur: of equal writes in one step, the first ones and the last one."""
    groups: dict[tuple[Any, ...], list[Sent]] = {}
    for sent in requests:
        groups.setdefault((sent.step, sent.verb, sent.resource, sent.subresource), []).append(sent)
    chosen = [sent for group in groups.values() for sent in (group if len(group) <= _SAME else [*group[:2], group[-1]])]
    return sorted(chosen, key=lambda sent: sent.number)


def _at_request(sent: Sent) -> Iterator[tuple[int, Fault]]:
    at = sent.number
    yield 0, Fault("crash", at, after=True)
    yield 2, Fault("crash", at)
    yield 1, Fault("fail", at, status=500)
    yield 1, Fault("lost", at, after=True)
    if sent.verb not in ("create", "delete"):
        yield 1, Fault("conflict", at)
        yield 2, Fault("fail", at, status=409)
    yield 2, Fault("takeover", at, after=True, seconds=30.0)
    yield 3, Fault("crash", at, after=True, seconds=_HOUR)
    yield 4, Fault("fail", at, status=503, after=True)
    yield 4, Fault("hang", at, after=True)
    yield 5, Fault("forbidden", at, seconds=300.0)
    yield 5, Fault("webhook-down", at, seconds=300.0)
    yield 6, Fault("fail", at, status=429)
    yield 6, Fault("fail", at, status=504, after=True)
    yield 6, Fault("lost", at)


def _at_call(called: Sent) -> Iterator[tuple[int, Fault]]:
    """Yields the faults of a call of an external system."""
    yield 0, Fault("external-crash", called.number, after=True)
    yield 1, Fault("external-fail", called.number, after=True)
    yield 1, Fault("external-fail", called.number)
    yield 3, Fault("external-crash", called.number)


def _at_read(read: Sent) -> Iterator[tuple[int, Fault]]:
    """Yields the faults of a read: an operator must not conclude from a failure that an object does not exist."""
    yield 1, Fault("read-fail", read.number, status=500)
    yield 2, Fault("read-forbidden", read.number, seconds=300.0)


def _at_steps(story: Story, outcome: Outcome, subject: Key) -> Iterator[tuple[int, Fault]]:
    watched = [each for each in outcome.watched if not each.startswith("customresourcedefinitions")]
    for number, step in enumerate(story.steps):
        if isinstance(step, Wait):
            yield 1, Fault("restart", number)
            continue
        yield 1, Fault("downtime", number, seconds=120.0)
        yield 4, Fault("downtime", number, seconds=4 * _HOUR)
        # Until an operator knows that its object is gone, it creates the children again each time they are deleted.
        blind = _is_deleted_before_rest(story.steps[number:])
        for resource in watched:
            short = blind and (resource == subject[0] or resource in _FINISHING)
            yield 2, Fault("slow-watch", number, resource=resource, seconds=_BLINK if short else 60.0)
        if blind:
            yield 2, Fault("slow-garbage", number, seconds=60.0)
        if len(watched) > 1:
            for resource in watched:
                yield 3, Fault("reordered-watch", number, resource=resource, seconds=_BLINK if blind else 20.0)
        yield 3, Fault("slow-watch", number, seconds=_BLINK if blind else 30.0)
        yield 4, Fault("expired-watch", number, seconds=_BLINK if blind else 30.0)
        for resource in watched if len(watched) > 1 else ():
            yield 5, Fault("expired-watch", number, resource=resource, seconds=_BLINK if blind else 30.0)


def _is_deleted_before_rest(steps: Sequence[Step]) -> bool:
    """Returns whether the user deletes something before the next `Wait`."""
    following = itertools.takewhile(lambda step: not isinstance(step, Wait), steps)
    return any(isinstance(step, Delete) for step in following)


def _at_rest(outcome: Outcome, subject: Key) -> Iterator[tuple[int, Fault]]:
    """Yields foreign deletions and edits of children, and of the custom resource's annotations."""
    made = creators(outcome.writes)
    updated = {sent.key for sent in outcome.requests if sent.verb in ("apply", "patch", "update")}
    for checkpoint in outcome.checkpoints[:1]:
        for key, obj in sorted(checkpoint.world.items()):
            resource, namespace, name = key
            if key != subject and made.get(key) != "operator":
                continue
            yield 1, Fault("label", checkpoint.step, resource=resource, namespace=namespace, name=name)
            if key == subject or resource in _ONE_SHOT or not _is_owned(obj):
                continue
            if resource not in outcome.watched:
                continue
            yield 2, Fault("remove", checkpoint.step, resource=resource, namespace=namespace, name=name)
            for path, value in _edits(key, obj, outcome) if key in updated else ():
                edit = Fault("edit", checkpoint.step, resource=resource, namespace=namespace, name=name)
                yield 3, msgspec.structs.replace(edit, path=path, value=value)


def _is_owned(obj: dict[str, Any]) -> bool:
    return any(owner.get("controller") for owner in obj["metadata"].get("ownerReferences", []))


def _edits(key: Key, obj: dict[str, Any], outcome: Outcome) -> list[tuple[tuple[str | int, ...], Any]]:
    """Returns fields of a child that the operator set or changes later, and another value for each."""
    found = [edit for edit in (_edit(obj), _later(key, outcome)) if edit is not None]
    return found if len({path for path, _ in found}) == len(found) else found[:1]


def _later(key: Key, outcome: Outcome) -> tuple[tuple[str | int, ...], Any] | None:
    """Returns a field of a child that the operator changes in the story, and its later value, which must be valid."""
    for write in outcome.writes:
        if write.key != key or write.actor != "operator" or write.before is None or write.after is None:
            continue
        before, after = msgspec.json.decode(write.before), msgspec.json.decode(write.after)
        for field in ("spec", "data"):
            changed = _changed((field,), before.get(field), after.get(field))
            if changed is not None:
                return changed
    return None


def _changed(path: tuple[str | int, ...], before: Any, after: Any) -> tuple[tuple[str | int, ...], Any] | None:
    """Returns the first field that has another value afterwards, and that value."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return None if before == after or before is None or after is None else (path, after)
    inside = (_changed((*path, name), before[name], after[name]) for name in before if name in after)
    return next((found for found in inside if found is not None), None)


def _edit(obj: dict[str, Any]) -> tuple[tuple[str | int, ...], Any] | None:
    """Returns a field of a child that the operator set, and another value for it."""
    data, spec = obj.get("data"), obj.get("spec")
    if isinstance(data, dict):
        for name in sorted(data):
            if _is_set_by_operator(obj, ("data", name)):
                return ("data", name), "ZXhwbG9yZWQ="
    replicas = spec.get("replicas") if isinstance(spec, dict) else None
    if isinstance(replicas, int) and _is_set_by_operator(obj, ("spec", "replicas")):
        return ("spec", "replicas"), replicas + 1
    return None


def _is_set_by_operator(obj: dict[str, Any], path: tuple[str, ...]) -> bool:
    """Returns whether a client other than the cluster's controllers manages a field."""
    for entry in obj["metadata"].get("managedFields", []):
        fields = entry.get("fieldsV1", {})
        for part in path:
            fields = fields.get(f"f:{part}") if isinstance(fields, dict) else None
        if fields is not None and entry.get("manager") != _CONTROLLERS:
            return True
    return False


def pairs_of(plans: Sequence[Plan]) -> Iterator[Plan]:
    """Yields plans with two faults of the same story: crashes and failures one after the other, and late watches."""
    faults = [plan.faults[0] for plan in plans if plan.faults]
    strong = [
        fault
        for fault in faults
        if fault.kind in ("crash", "fail", "lost") and fault.status in (0, 500) and not fault.seconds
    ]
    for one, other in itertools.combinations(strong, 2):
        if one.at != other.at:
            yield Plan(plans[0].story, (one, other) if one.at < other.at else (other, one))
    late = [fault for fault in faults if fault.kind in ("slow-watch", "reordered-watch") and fault.seconds > _BLINK]
    crashes = [fault for fault in strong if fault.kind == "crash" and fault.after]
    for slow, crash in itertools.product(late, crashes):
        yield Plan(plans[0].story, (slow, crash))
