"""Strict field validation of patches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from kubewright.cluster.machinery._duplicate_fields import Members, duplicate_fields, duplicates_in

__all__ = ["strict_patch_errors"]

_MEMBERS: Final = frozenset(("op", "path", "from", "value"))


def strict_patch_errors(patch: bytes, *, is_json_patch: bool = False) -> list[str]:
    """Returns `duplicate field "spec.a"` errors of a patch, and unknown members of JSON Patch operations.

    These precede the errors of the patched object. An undecodable patch has none, because it is rejected anyway.
    """
    if not is_json_patch:
        return [f'duplicate field "{path}"' for path in duplicate_fields(patch)]
    try:
        operations = json.loads(patch, object_pairs_hook=Members)
    except ValueError:
        return []
    if isinstance(operations, Members) or not isinstance(operations, list):
        return []
    return [
        f"json patch {error}"
        for index, operation in enumerate(operations)
        if isinstance(operation, Members)
        for error in _in_operation(operation, f"[{index}]")
    ]


def _in_operation(operation: Members, at: str) -> Iterator[str]:
    seen: set[str] = set()
    for name, value in operation:
        if name in seen:
            yield f'duplicate field "{at}.{name}"'
        elif name not in _MEMBERS:
            yield f'unknown field "{at}.{name}"'
        seen.add(name)
        for path in duplicates_in(value, f"{at}.{name}"):
            yield f'duplicate field "{path}"'
