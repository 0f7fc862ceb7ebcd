"""Deletions: nothing is deleted that stays alive without faults, and nothing is left after a deletion."""

from __future__ import annotations

from typing import Any

from kubewright.durations import format_duration
from kubewright.explore.model import Checkpoint, Finding, Outcome
from kubewright.explore.model._outcomes import Key
from kubewright.explore.worlds import EXTERNAL, Masks, creators

__all__ = ["deleted_alive", "orphans"]


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
            resource, namespace, name = sent.key
            return [
                Finding(
                    "wrong-deletion",
                    f"the operator deleted {resource} {namespace}/{name}, which the undisturbed run keeps",
                    (f"request {sent.number}, {format_duration(sent.time)} after the start",),
                    subject=resource,
                )
            ]
    return []


def orphans(outcome: Outcome, checkpoint: Checkpoint, masks: Masks | None = None) -> list[Finding]:
    """After the user deleted everything, no object exists that the operator created, also in external systems."""
    made = creators(outcome.writes)
    masks = masks or Masks()
    left = sorted(
        key
        for key, obj in checkpoint.world.items()
        if (made.get(key) == "operator" or _has_items(key, obj, masks)) and not masks.hides_object(key)
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
    """Returns whether an external system still stores something. Numbers are counters, and no items."""
    return key[0].startswith(EXTERNAL) and any(
        held and not isinstance(held, int | float) and not masks.hides(key, ("state", name))
        for name, held in obj["state"].items()
    )
