"""The conditions of a namespace that is being deleted: they report the remaining objects, and the reasons."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["Leftovers", "changed_conditions"]

_FINE: Final = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""Reason and message of each condition that the controller maintains, if nothing is wrong. In their order."""


@dataclass
class Leftovers:
    """The remaining content of a namespace: objects by resource (`pods.`), their finalizers, and errors."""

    resources: Counter[str] = field(default_factory=Counter)
    finalizers: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)

    def problems(self) -> dict[str, tuple[str, str]]:
        """Returns reason and message of each condition that is true."""
        found: dict[str, tuple[str, str]] = {}
        if self.errors:
            text = (
                f"Failed to delete all resource types, {len(self.errors)} remaining: {', '.join(sorted(self.errors))}"
            )
            found["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", text)
        if self.resources:
            listed = ", ".join(
                sorted(f"{name} has {count} resource instances" for name, count in self.resources.items())
            )
            found["NamespaceContentRemaining"] = ("SomeResourcesRemain", f"Some resources are remaining: {listed}")
        if self.finalizers:
            listed = ", ".join(
                sorted(f"{name} in {count} resource instances" for name, count in self.finalizers.items())
            )
            text = f"Some content in the namespace has finalizers remaining: {listed}"
            found["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", text)
        return found


def _listed(counts: Counter[str], form: str) -> str:
    return ", ".join(sorted(form.format(name, count) for name, count in counts.items()))


def changed_conditions(before: list[JSONObject], left: Leftovers, now: str) -> list[JSONObject] | None:
    """Returns the conditions of a namespace; None if they stay as they are."""
    conditions, problems = [dict(each) for each in before], left.problems()
    for type_, fine in _FINE.items():
        status = "True" if type_ in problems else "False"
        reason, message = problems.get(type_, fine)
        wanted = {"type": type_, "status": status, "reason": reason, "message": message}
        known = next((each for each in conditions if each.get("type") == type_), None)
        if known is None:
            conditions.append({**wanted, "lastTransitionTime": now})
            continue
        if known.get("status") != status:
            known["lastTransitionTime"] = now
        known.update(wanted)
    return None if conditions == before else conditions
