"""A three-way merge of JSON: the former generated form, the user's edits, and the new generated form.

A change of one side is taken from that side. Lists are merged element by element if the elements have names (`_NAMES`)
or are plain values. Further rules:

- Additions and removals of the user stay.
- Values that are no longer generated are removed together with edits inside them, which are reported as `lost`.
- A value that both sides changed differently is a `Conflict`, which only the user can solve.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

__all__ = ["Conflict", "Keep", "Merged", "merge"]

Keep = Literal["mine", "generated"]
"""The side that wins a conflict."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A value that was edited and is now generated differently. None if absent."""

    path: str
    before: Any
    mine: Any
    generated: Any

    def __str__(self) -> str:
        return (
            f"{self.path}: it was generated as {_short(self.before)}, you changed it to {_short(self.mine)}, and now"
            f" it is generated as {_short(self.generated)}"
        )


@dataclass(frozen=True, slots=True)
class Merged:
    """The result. With conflicts, `content` has the user's values."""

    content: dict[str, Any]
    conflicts: Sequence[Conflict] = ()
    lost: Sequence[str] = ()
    """The paths of edits that were lost with their parents."""


def merge(
    before: Mapping[str, Any], mine: Mapping[str, Any], generated: Mapping[str, Any], *, keep: Keep | None = None
) -> Merged:
    """Merges three JSON values. With `keep`, that side wins all conflicts."""
    work = _Merge(keep)
    content = work.merge(before, mine, generated, "")
    return Merged(content, work.conflicts, work.lost)


class _Absent:
    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = _Absent()

# Fields of lists, and the members that name their elements.
_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "actionDescriptors": ("path",),
    "clusterPermissions": ("serviceAccountName",),
    "containers": ("name",),
    "deployments": ("name",),
    "env": ("name",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "installModes": ("type",),
    "links": ("name",),
    "maintainers": ("name",),
    "owned": ("name", "version"),
    "permissions": ("serviceAccountName",),
    "ports": ("containerPort", "protocol"),
    "relatedImages": ("name",),
    "required": ("name", "version"),
    "resources": ("kind", "name", "version"),
    "specDescriptors": ("path",),
    "statusDescriptors": ("path",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
    "webhookdefinitions": ("type", "generateName"),
    "alm-examples": ("apiVersion", "kind", "metadata"),
}
# Elements without a name, which are compared by value.
_WHOLE: Final = frozenset(["envFrom", "rules", "tolerations"])


@dataclass
class _Merge:
    keep: Keep | None
    conflicts: list[Conflict] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)

    def merge(self, before: Any, mine: Any, generated: Any, path: str) -> Any:
        if mine == generated or generated == before:
            return mine
        if mine == before:
            return generated
        if generated is ABSENT:
            self.lost.append(path)
            return ABSENT
        if mine is ABSENT:
            return ABSENT
        if isinstance(mine, Mapping) and isinstance(generated, Mapping):
            return self._mappings(before if isinstance(before, Mapping) else {}, mine, generated, path)
        if isinstance(mine, list) and isinstance(generated, list):
            merged = self._lists(before if isinstance(before, list) else [], mine, generated, path)
            if merged is not None:
                return merged
        if path.endswith(".alm-examples") and isinstance(mine, str) and isinstance(generated, str):
            merged_text = self._examples(before, mine, generated, path)
            if merged_text is not None:
                return merged_text
        return self._decide(before, mine, generated, path)

    def _decide(self, before: Any, mine: Any, generated: Any, path: str) -> Any:
        if self.keep is None:
            self.conflicts.append(Conflict(path.removeprefix("."), _plain(before), _plain(mine), _plain(generated)))
        return generated if self.keep == "generated" else mine

    def _mappings(
        self, before: Mapping[str, Any], mine: Mapping[str, Any], generated: Mapping[str, Any], path: str
    ) -> dict[str, Any]:
        merged = {}
        for name in dict.fromkeys([*mine, *generated]):
            sides = before.get(name, ABSENT), mine.get(name, ABSENT), generated.get(name, ABSENT)
            value = self.merge(*sides, f"{path}.{name}")
            if value is not ABSENT:
                merged[name] = value
        return merged

    def _lists(self, before: list[Any], mine: list[Any], generated: list[Any], path: str) -> list[Any] | None:
        """Returns the merged list in the user's order, followed by new elements; None if the elements have no names."""
        name_of = _naming(path)
        sides = [_by_name(side, name_of) for side in (before, mine, generated)]
        if any(side is None for side in sides):
            return None
        found: list[dict[Hashable, Any]] = [side or {} for side in sides]
        merged = []
        for name in dict.fromkeys([*found[1], *found[2]]):
            first, second, third = (side.get(name, ABSENT) for side in found)
            value = self.merge(first, second, third, f"{path}[{_shown(name)}]")
            if value is not ABSENT:
                merged.append(value)
        return merged

    def _examples(self, before: Any, mine: str, generated: str, path: str) -> str | None:
        """Merges the examples, which are JSON in a string."""
        try:
            was, edited, now = (json.loads(text) if isinstance(text, str) else [] for text in (before, mine, generated))
        except ValueError:
            return None
        if not (isinstance(was, list) and isinstance(edited, list) and isinstance(now, list)):
            return None
        merged = self.merge(was, edited, now, path)
        return json.dumps(merged, indent=2, sort_keys=True, ensure_ascii=False)


def _naming(path: str) -> Callable[[Any], Hashable | None]:
    under = path.rpartition(".")[2]
    members = _NAMES.get(under)

    def name_of(element: Any) -> Hashable | None:
        if not isinstance(element, Mapping):
            return element if isinstance(element, str | int | bool) else None
        if under in _WHOLE:
            return json.dumps(element, sort_keys=True)
        if members is None or any(member not in element for member in members if member != "protocol"):
            return None
        parts = tuple(_named(element.get(member)) for member in members)
        return None if any(isinstance(part, list | Mapping) for part in parts) else parts

    return name_of


def _named(value: Any) -> Any:
    """Returns a part of a name: of an example's metadata, its name."""
    return value.get("name") if isinstance(value, Mapping) else value


def _by_name(elements: list[Any], name_of: Callable[[Any], Hashable | None]) -> dict[Hashable, Any] | None:
    """Returns the elements by name; None if one has no name, or two have the same."""
    named = {}
    for element in elements:
        name = name_of(element)
        if name is None or name in named:
            return None
        named[name] = element
    return named


def _shown(name: Hashable) -> str:
    return "/".join(str(part) for part in name if part) if isinstance(name, tuple) else str(name)


def _plain(value: Any) -> Any:
    return None if value is ABSENT else value


def _short(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
