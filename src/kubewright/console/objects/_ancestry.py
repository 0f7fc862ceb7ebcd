"""The owners of an object, and theirs: `OwnerReference`, `Ancestry`. `ObjectView` finds them.

References are untrusted: an object has at most 10 owners here, and a chain at most 8 levels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from kubewright.console.kinds import Kind
from kubewright.console.objects._ownership import Node
from kubewright.console.objects._untrusted import as_list, as_map, as_text

__all__ = ["OWNERS", "OWNER_LEVELS", "Ancestry", "OwnerReference", "owner_references"]

OWNER_LEVELS: Final = 8
OWNERS: Final = 10


class OwnerReference(NamedTuple):
    """A reference in `metadata.ownerReferences`."""

    group: str
    kind: str
    name: str
    uid: str


@dataclass(frozen=True)
class Ancestry:
    """The owners of an object by distance, the nearest first."""

    levels: tuple[tuple[Node, ...], ...] = ()
    hidden: tuple[Kind, ...] = ()
    """Kinds of owners that the viewer or the console may not see."""
    missing: tuple[str, ...] = ()
    """Owners that do not exist, as `Kind name`."""
    truncated: bool = False
    """Whether owners are missing because there are too many."""


def owner_references(obj: Mapping[str, Any]) -> tuple[list[OwnerReference], bool]:
    """Returns the owners of an object, and whether there are more."""
    listed = [as_map(one) for one in as_list(as_map(obj.get("metadata")).get("ownerReferences"))]
    found = [
        OwnerReference(
            as_text(one.get("apiVersion")).rpartition("/")[0],
            as_text(one.get("kind")),
            as_text(one.get("name")),
            as_text(one.get("uid")),
        )
        for one in listed
    ]
    valid = [one for one in found if one.kind and one.name and one.uid]
    return valid[:OWNERS], len(valid) > OWNERS
