"""Field ownership, from `metadata.managedFields`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from kubewright.console.access import FIELD_MANAGER
from kubewright.console.forms._paths import MISSING, Path, value_at

__all__ = ["ONE_SHOT_MANAGERS", "FieldOwner", "owners_of", "ownership_conflicts"]

ONE_SHOT_MANAGERS: Final = frozenset(
    [
        "kubectl",
        "kubectl-annotate",
        "kubectl-create",
        "kubectl-edit",
        "kubectl-label",
        "kubectl-patch",
        "kubectl-replace",
        "kubectl-run",
        "kubectl-scale",
        "kubectl-set",
    ]
)
"""Field managers of one-time commands. They do not write their fields again."""


@dataclass(frozen=True, slots=True)
class FieldOwner:
    """A field manager that set a field, and when."""

    manager: str
    operation: str
    time: str
    path: Path

    @property
    def is_one_shot(self) -> bool:
        """Whether the field was set by a one-time command, which will not set it again."""
        return self.operation == "Update" and self.manager in ONE_SHOT_MANAGERS


def owners_of(obj: dict[str, Any], path: Path) -> list[FieldOwner]:
    """Returns the managers that own a path or anything below it, except through the status subresource."""
    found = []
    for entry in (obj.get("metadata") or {}).get("managedFields") or ():
        if entry.get("subresource") == "status" or not isinstance(entry.get("fieldsV1"), dict):
            continue
        if _owns(entry["fieldsV1"], obj, path):
            found.append(
                FieldOwner(
                    str(entry.get("manager") or "unknown"),
                    str(entry.get("operation") or ""),
                    str(entry.get("time") or ""),
                    path,
                )
            )
    return found


def ownership_conflicts(obj: dict[str, Any], paths: Iterable[Path]) -> list[FieldOwner]:
    """Returns the managers that own these paths and may set them again, without the console and one-time commands."""
    return [
        owner
        for path in paths
        for owner in owners_of(obj, path)
        if owner.manager != FIELD_MANAGER and not owner.is_one_shot
    ]


def _owns(fields: dict[str, Any], obj: Any, path: Path) -> bool:
    here = fields
    for depth, step in enumerate(path):
        parent = value_at(obj, path[:depth])
        below = next((here[key] for key in _keys(step, parent) if key in here), None)
        if below is None:
            # An atomic list or map has no entries below it in managedFields, although the object has.
            return depth > 0 and not here.keys() - {"."} and isinstance(parent, dict | list) and bool(parent)
        here = below
    return True


def _keys(step: str | int, parent: Any) -> Iterator[str]:
    """Yields the possible managedFields keys of one step."""
    if isinstance(step, str):
        yield f"f:{step}"
        return
    yield f"i:{step}"
    element = value_at(parent, (step,))
    if isinstance(element, dict):
        names = sorted(element)
        # The list's map keys are not known here. managedFields use a few scalar members at most.
        scalars = [name for name in names if isinstance(element[name], str | int | bool)]
        for count in range(1, min(len(scalars), 3) + 1):
            for chosen in combinations(scalars, count):
                yield "k:" + json.dumps(
                    {name: element[name] for name in chosen}, separators=(",", ":"), ensure_ascii=False
                )
    elif element is not MISSING:
        yield "v:" + json.dumps(element, separators=(",", ":"), ensure_ascii=False)
