"""Isolation: the children of an object do not depend on other objects."""

from __future__ import annotations

from kubewright.durations import format_duration
from kubewright.explore.model import Finding, Outcome, Sent, Write
from kubewright.explore.model._outcomes import Key, World
from kubewright.explore.worlds import creators

__all__ = [
    "collisions",
    "deleted_of_another",
    "deletion_finding",
    "made_by_operator",
    "made_for_others",
    "serves_others",
]


def made_by_operator(outcome: Outcome) -> frozenset[Key]:
    """Returns the objects at the end that the operator created for the last object of the user."""
    made, world = creators(outcome.writes), outcome.checkpoints[-1].world
    return frozenset(key for key in world if made.get(key) == "operator") - made_for_others(outcome, world)


def made_for_others(outcome: Outcome, world: World) -> frozenset[Key]:
    """Returns the objects that the operator created for objects of the user before the last one, such as other kinds.

    They were created before the last object of the user, or one of its other objects owns them.
    """
    given = _made_by_user(outcome)
    if not given:
        return frozenset()
    last = given[-1]
    owners = {key: obj["metadata"].get("uid") for key, obj in world.items() if key in {each.key for each in given}}
    uids = {uid for key, uid in owners.items() if key != last.key}
    early = {
        write.key
        for write in outcome.writes
        if write.before is None and write.actor == "operator" and write.time < last.time
    }
    return frozenset(
        key
        for key, obj in world.items()
        if key in early or uids & {owner.get("uid") for owner in obj["metadata"].get("ownerReferences", [])}
    )


def serves_others(outcome: Outcome, world: World) -> bool:
    """Returns whether the operator writes to an existing object of the user other than the last one."""
    given = _made_by_user(outcome)
    written = {write.key for write in outcome.writes if write.actor == "operator"}
    return any(write.key in written and write.key in world for write in given if write.key != given[-1].key)


def _made_by_user(outcome: Outcome) -> list[Write]:
    return [write for write in outcome.writes if write.actor == "user" and write.before is None]


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
            why = "which belongs to another custom resource"
            return [deletion_finding("isolation", sent, why, subject=f"deletion of {sent.resource}")]
    return []


def deletion_finding(oracle: str, sent: Sent, why: str, *, subject: str) -> Finding:
    """Returns the finding of a deletion that the operator should not have sent."""
    resource, namespace, name = sent.key
    return Finding(
        oracle,
        f"the operator deleted {resource} {namespace}/{name}, {why}",
        (f"request {sent.number}, {format_duration(sent.time)} after the start",),
        subject=subject,
    )
