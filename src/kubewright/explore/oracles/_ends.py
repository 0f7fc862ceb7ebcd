"""How a run ends: quiet, and with the same objects."""

from __future__ import annotations

from typing import Any

import msgspec

from kubewright.explore.model import Checkpoint, Finding, Outcome
from kubewright.explore.model._outcomes import Key
from kubewright.explore.worlds import Canonical, Difference, Masks, canonical, differences

__all__ = ["compared", "converged", "fields_kept"]

_OTHER = "other-client.example.com/field"
_WORDS = frozenset({"message", "reason", "lastError", "error"})


def converged(outcome: Outcome) -> list[Finding]:
    """The cluster becomes quiet within a bound on virtual time and on the operator's writes."""
    if outcome.over_budget:
        busiest = _busiest(outcome)
        return [
            Finding(
                "convergence",
                f"the operator does not stop writing: {len(outcome.requests)} writes, most of them {busiest}",
                subject="writes",
            )
        ]
    for checkpoint in outcome.checkpoints:
        if not checkpoint.quiet:
            busiest = _busiest(outcome)
            return [
                Finding(
                    "convergence",
                    f"objects still change three hours after the last step; most writes are {busiest}",
                    subject="time",
                )
            ]
    return []


def _busiest(outcome: Outcome) -> str:
    counts: dict[str, int] = {}
    for sent in outcome.requests:
        name = f"{sent.verb} of {sent.resource}{'/' + sent.subresource if sent.subresource else ''} {sent.name}"
        counts[name] = counts.get(name, 0) + 1
    return max(counts, key=lambda name: counts[name]) if counts else "of other writers"


def compared(
    expected: Checkpoint,
    expected_run: Outcome,
    actual: Checkpoint,
    actual_run: Outcome,
    masks: Masks,
    *,
    oracle: str,
    summary: str,
    subject: Key,
    history: bool = False,
    only: frozenset[Key] | None = None,
) -> list[Finding]:
    """The objects at two checkpoints are the same, except masked fields.

    Args:
        expected: the checkpoint of the undisturbed run, or of the reference.
        expected_run: its run.
        actual: the checkpoint that is judged.
        actual_run: its run.
        masks: the learned masks.
        oracle: the name of the finding.
        summary: the summary of the finding if they differ.
        subject: the custom resource. Explanations in its status may differ.
        history: whether the run has a past that the reference does not have: counters and lists in the status may
            differ, and finished Jobs may be left.
        only: the objects to compare. Default: all.
    """
    wanted = canonical(expected.world, expected_run.writes, names=masks.names)
    found = canonical(actual.world, actual_run.writes, names=masks.names)
    if only is not None:
        wanted = {key: obj for key, obj in wanted.items() if key in only}
        found = {key: obj for key, obj in found.items() if key in only}
    unlike = [
        difference
        for difference in differences(wanted, found, masks)
        if not _is_explanation(difference, subject)
        and not (history and (_is_history(difference, subject) or _is_finished_job(difference)))
        and not _is_former_default(difference, wanted)
    ]
    if not unlike:
        return []
    return [
        Finding(
            oracle,
            f"{summary}: {unlike[0]}",
            tuple(str(difference) for difference in unlike[:12]),
            subject=unlike[0].subject,
        )
    ]


def _is_explanation(difference: Difference, subject: Key) -> bool:
    """Returns whether an explanation in a status differs: it depends on how the state was reached."""
    parts = difference.path.split("/")
    return difference.key[0] == subject[0] and parts[1:2] == ["status"] and parts[-1] in _WORDS


def _is_history(difference: Difference, subject: Key) -> bool:
    """Returns whether a counter or a list in the status differs."""
    parts = difference.path.split("/")
    if parts[1:2] != ["status"]:
        return False
    if difference.key[0] != subject[0]:
        return True
    values = (difference.expected, difference.actual)
    return any(isinstance(each, int | float | list) and not isinstance(each, bool) for each in values)


def _is_finished_job(difference: Difference) -> bool:
    """Returns whether a finished Job is left: an operator may keep the Job of a former value as a record."""
    if difference.path or not difference.extra or difference.key[0] != "jobs.batch":
        return False
    conditions = difference.actual.get("status", {}).get("conditions", [])
    return any(each["type"] in ("Complete", "Failed") and each["status"] == "True" for each in conditions)


def _is_former_default(difference: Difference, wanted: Canonical) -> bool:
    """Returns whether the server chose an imagePullPolicy for another image, which a change of the image keeps."""
    *parts, last = difference.path.split("/")[1:] or [""]
    if last != "imagePullPolicy":
        return False
    container = wanted[difference.key]
    for part in parts:
        container = container[int(part)] if isinstance(container, list) else container[part]
    image = str(container.get("image", "")).rpartition("/")[2]
    newest = "@" not in image and image.partition(":")[2] in ("", "latest")
    return bool(difference.expected == ("Always" if newest else "IfNotPresent"))


def fields_kept(outcome: Outcome) -> list[Finding]:
    """An annotation that another client adds to an object survives as long as the object."""
    touched: dict[Key, str] = {}
    for write in outcome.writes:
        if write.actor == "other" and write.after is not None:
            metadata = msgspec.json.decode(write.after)["metadata"]
            if _OTHER in metadata.get("annotations", {}):
                touched[write.key] = metadata["uid"]
        elif write.key in touched and write.after is None:
            del touched[write.key]
        elif write.key in touched and write.actor == "operator" and write.after is not None:
            left: dict[str, Any] = msgspec.json.decode(write.after)["metadata"]
            if left.get("uid") == touched[write.key] and _OTHER not in left.get("annotations", {}):
                resource, namespace, name = write.key
                return [
                    Finding(
                        "other-writers",
                        f"the operator removed an annotation of another client from {resource} {namespace}/{name}",
                        (f"{write.verb} of {resource} {namespace}/{name} replaced metadata.annotations",),
                        subject=resource,
                    )
                ]
    return []
