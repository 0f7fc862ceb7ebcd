"""Isolation: the children of an object do not depend on other objects."""

from __future__ import annotations

from kubewright.durations import format_duration
from kubewright.explore.model import Finding, Outcome
from kubewright.explore.model._outcomes import Key
from kubewright.explore.worlds import creators

__all__ = ["collisions", "deleted_of_another", "made_by_operator"]


def made_by_operator(outcome: Outcome) -> frozenset[Key]:
    """Returns the objects at the end that the operator created."""
    made = creators(outcome.writes)
    return frozenset(key for key in outcome.checkpoints[-1].world if made.get(key) == "operator")


def collisions(one: Outcome, two: Outcome) -> list[Finding]:
    """Two objects, each alone in a cluster, do not own a child with the same name.

    Children without an owner may be shared on purpose; the run with both objects shows whether they are.
    """
    worlds = (one.checkpoints[-1].world, two.checkpoints[-1].world)
    shared = [
        key
        for key in sorted(made_by_operator(one) & made_by_operator(two))
        if all(world[key]["metadata"].get("ownerReferences") for world in worlds)
    ]
    if not shared:
        return []
    resource, namespace, name = shared[0]
    return [
        Finding(
            "isolation",
            f"two custom resources have the same child {resource} {namespace}/{name}",
            tuple(" ".join(key) for key in shared),
            subject=resource,
        )
    ]


def deleted_of_another(outcome: Outcome, children: frozenset[Key]) -> list[Finding]:
    """No child of an object that stays is deleted because of another object."""
    for sent in outcome.requests:
        if sent.verb == "delete" and 0 < sent.status < 300 and sent.key in children:
            resource, namespace, name = sent.key
            return [
                Finding(
                    "isolation",
                    f"the operator deleted {resource} {namespace}/{name}, which belongs to another custom resource",
                    (f"request {sent.number}, {format_duration(sent.time)} after the start",),
                    subject=f"deletion of {resource}",
                )
            ]
    return []
