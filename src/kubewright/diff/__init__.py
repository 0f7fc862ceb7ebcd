"""JSON diffs: the JSON Patch between two objects, matching list elements by the keys that their model declares.

`field_differences` lists the differences for people. `json_patched`, `merge_patched` and `rebased` change plain JSON.
"""

from __future__ import annotations

from kubewright.diff._diff import USUAL_KEYS, Operation, diff, identities
from kubewright.diff._field_changes import ABSENT, FieldDifference, field_differences
from kubewright.diff._list_keys import ListKeys
from kubewright.diff._patching import PatchFailed, json_patched, merge_patched, rebased

__all__ = [
    "ABSENT",
    "USUAL_KEYS",
    "FieldDifference",
    "ListKeys",
    "Operation",
    "PatchFailed",
    "diff",
    "field_differences",
    "identities",
    "json_patched",
    "merge_patched",
    "rebased",
]
