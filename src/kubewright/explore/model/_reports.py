"""`Report`: the result of an exploration."""

from __future__ import annotations

import msgspec

from kubewright.explore.model._findings import Finding

__all__ = ["Report"]


class Report(msgspec.Struct):
    """The result of an exploration."""

    findings: list[Finding] = []
    masks: list[str] = []
    escapes: list[str] = []
    runs: int = 0
    seconds: float = 0.0
    boundaries: int = 0
    planned: int = 0
    executed: int = 0
    unconfirmed: int = 0
    """Findings that a replay did not show again."""
    inconclusive: int = 0
    """Runs that did not end."""
    pruned: int = 0
    """Faults that were not combined with others, because they lead to the same requests and states as another one."""
    values: list[str] = []
    """The changes of values that were tried."""
    lines: int = 0
    """How many statements of the operator were reached."""
    unreached: list[str] = []
    """The statements that no run reached, one line per file."""
    error: str = ""
    """Why the operator could not be explored; empty if it could."""
