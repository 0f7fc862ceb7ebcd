"""JSON diffs: the JSON Patch between two objects, matching list elements by the keys that their model declares."""

from __future__ import annotations

from kubewright.diff._diff import Operation, diff, identities
from kubewright.diff._list_keys import ListKeys

__all__ = ["ListKeys", "Operation", "diff", "identities"]
