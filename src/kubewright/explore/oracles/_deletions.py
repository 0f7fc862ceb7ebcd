"""Deletions: nothing is deleted that stays alive without faults, and nothing is left after a deletion."""

from __future__ import annotations

from typing import Any

from kubewright.explore.model import Checkpoint, Finding, Outcome
from kubewright.explore.model._outcomes import Key
from kubewright.explore.oracles._isolation import deletion_finding, made_for_others, serves_others
from kubewright.explore.worlds import DATA, EXTERNAL, Masks, creators

__all__ = ["deleted_alive", "deleted_by_outdated", "orphans"]


def deleted_alive(expected: Outcome, actual: Outcome, ignored: frozenset[Key] = frozenset()) -> list[Finding]:
    """The operator sends no deletion of an object that it keeps in the undisturbed run, even if it creates it again.

    Only deletions that the operator sent count, and only before the step at which the undisturbed run deletes.
    """
    usual: dict[Key, int] = {}
    for sent in expected.requests:
        if sent.verb in ("delete", "deletecollection") and sent.status < 300:
            usual.setdefault(sent.key, sent.step)
    alive: dict[Key, set[int]] = {}
    for checkpoint in expected.checkpoints:
        for key in checkpoint.world:
            alive.setdefault(key, set()).add(checkpoint.step)
    for sent in actual.requests:
        if sent.verb != "delete" or not sent.status or sent.status >= 300 or sent.key in ignored:
            continue
        if sent.key in usual and sent.step >= usual[sent.key]:
            continue
        following = [step for step in alive.get(sent.key, ()) if step >= sent.step]
        if following and min(following) == min(c.step for c in expected.checkpoints if c.step >= sent.step):
            why = "which the undisturbed run keeps"
            return [deletion_finding("wrong-deletion", sent, why, subject=sent.resource)]
    return []


def deleted_by_outdated(expected: Outcome, actual: Outcome) -> list[Finding]:
    """A standby that sees a former object with the same name deletes no data of the present one."""
    last = expected.checkpoints[-1].world if expected.checkpoints else {}
    for sent in actual.requests:
        deletes = sent.verb == "delete" and 0 < sent.status < 300
        if deletes and sent.incarnation > 1 and sent.resource in DATA and sent.key in last:
            why = "because it saw an object that is gone"
            return [deletion_finding("wrong-deletion", sent, why, subject=sent.resource)]
    return []


def orphans(outcome: Outcome, checkpoint: Checkpoint, masks: Masks | None = None) -> list[Finding]:
    """After the user deleted everything, no object exists that the operator created, also in external systems."""
    made = creators(outcome.writes)
    masks = masks or Masks()
    others = made_for_others(outcome, checkpoint.world)
    served = serves_others(outcome, checkpoint.world)
    left = sorted(
        key
        for key, obj in checkpoint.world.items()
        if (made.get(key) == "operator" or (not served and _has_items(key, obj, masks)))
        and key not in others
        and not masks.hides_object(key)
    )
    if not left:
        return []
    lines = tuple(
        f"an item in {name}" if resource.startswith(EXTERNAL) else f"{resource} {namespace}/{name}"
        for resource, namespace, name in left
    )
    return [
        Finding(
            "orphans",
            f"{lines[0]} exists although its custom resource was deleted",
            lines,
            subject=left[0][0],
        )
    ]


def _has_items(key: Key, obj: dict[str, Any], masks: Masks) -> bool:
    """Returns whether an external system still stores something. Numbers are counters, not items."""
    return key[0].startswith(EXTERNAL) and any(
        held and not isinstance(held, int | float) and not masks.hides(key, ("state", name))
        for name, held in obj["state"].items()
    )
