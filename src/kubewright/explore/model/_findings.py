"""`Finding`: a violated oracle, and the plan that shows it."""

from __future__ import annotations

import msgspec

from kubewright.explore.model._plans import Plan

__all__ = ["Finding"]


class Finding(msgspec.Struct, frozen=True):
    """An oracle that a run violated."""

    oracle: str
    """The name of the oracle, such as `same-end-state`."""
    summary: str
    """The problem, in one sentence."""
    details: tuple[str, ...] = ()
    """The differences, one per line."""
    subject: str = ""
    """The subject of the finding. Findings with the same oracle and subject are the same bug."""
    plan: Plan | None = None
    story: tuple[str, ...] = ()
    """The run as a story, one event per line."""

    undisturbed: tuple[str, ...] = ()
    """The undisturbed run as a story."""

    @property
    def identity(self) -> tuple[str, str]:
        """The value by which findings of the same bug are recognized."""
        return (self.oracle, self.subject)
