"""Objects that have nothing to do with the operator stay as they are."""

from __future__ import annotations

import msgspec

from kubewright.explore.model import Finding, Outcome
from kubewright.explore.model._outcomes import Key

__all__ = ["bystanders_kept"]


def bystanders_kept(outcome: Outcome, bystanders: frozenset[Key]) -> list[Finding]:
    """The operator neither changes nor deletes an object that a user created for another purpose."""
    for write in outcome.writes:
        if write.actor == "operator" and write.key in bystanders:
            did = "changed"
            if write.after is None or "deletionTimestamp" in msgspec.json.decode(write.after)["metadata"]:
                did = "deleted"
            return [
                Finding(
                    "wrong-deletion" if did == "deleted" else "other-writers",
                    f"the operator {did} {write.resource} {write.namespace}/{write.name}, which a user created",
                    subject=f"bystander {write.resource}",
                )
            ]
    return []
