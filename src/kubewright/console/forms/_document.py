"""`Document`: one object, changed place by place.

Absent, null and empty are three things. What nobody touches stays as it is, also what the schema does not know. Parents
that a `put` had to make go again when the last thing in them is removed; parents that were there stay.
"""

from __future__ import annotations

import copy
from typing import Any

from kubewright.console.forms._paths import MISSING, Path, format_path, value_at

__all__ = ["Document"]


class Document:
    """A JSON object with edits by path. `value` is the object itself: read it, and change it only through here."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value: dict[str, Any] = copy.deepcopy(value)
        self._made: set[Path] = set()

    def get(self, path: Path) -> Any:
        """What stands there, or `MISSING`."""
        return value_at(self.value, path)

    def has(self, path: Path) -> bool:
        """Whether anything stands there, be it null."""
        return self.get(path) is not MISSING

    def replace(self, value: dict[str, Any]) -> None:
        """Another object in place of this one: somebody wrote it as text."""
        self.value = copy.deepcopy(value)
        self._made.clear()

    def put(self, path: Path, value: Any) -> None:
        """Let a value stand there. Missing parents are made; an element is added only at the end of its list."""
        *parents, last = path
        here: Any = self.value
        for depth, step in enumerate(parents):
            here = self._into(here, step, tuple(parents[: depth + 1]), path[depth + 1])
        self._forget_below(path)
        if isinstance(last, int):
            if not isinstance(here, list) or last > len(here):
                raise LookupError(f"{format_path(path)} is no place in a list")
            here[last : last + 1] = [copy.deepcopy(value)]
        else:
            if not isinstance(here, dict):
                raise LookupError(f"{format_path(path)} is no place in an object")
            here[last] = copy.deepcopy(value)

    def _into(self, here: Any, step: str | int, path: Path, after: str | int) -> Any:
        found = value_at(here, (step,))
        if found is MISSING or found is None:
            found = [] if isinstance(after, int) else {}
            if isinstance(step, int):
                if not isinstance(here, list) or step > len(here):
                    raise LookupError(f"{format_path(path)} is no place in a list")
                here[step : step + 1] = [found]
            elif isinstance(here, dict):
                if step not in here:
                    self._made.add(path)
                here[step] = found
            else:
                raise LookupError(f"{format_path(path)} is no place in an object")
        return found

    def remove(self, path: Path) -> None:
        """Give up what stands there; nothing happens where nothing stands."""
        if not path or not self.has(path):
            return
        *parents, last = path
        here = self.get(tuple(parents))
        del here[last]
        self._forget_below(path if isinstance(last, str) else tuple(parents))
        parent = tuple(parents)
        if not here and parent in self._made:
            self._made.discard(parent)
            self.remove(parent)

    def add(self, path: Path, value: Any) -> Path:
        """Put a value at the end of the list there, which is made if need be. Gives the place of the new element."""
        found = self.get(path)
        place = (*path, len(found) if isinstance(found, list) else 0)
        self.put(place, value)
        return place

    def move(self, path: Path, to: int) -> None:
        """Move an element of a list to another place in it."""
        *parents, index = path
        elements = self.get(tuple(parents))
        if isinstance(elements, list) and isinstance(index, int) and 0 <= to < len(elements):
            elements.insert(to, elements.pop(index))
            self._forget_below(tuple(parents))

    def rename(self, path: Path, name: str) -> bool:
        """Give a member of a map another name, at the same place; False when there is one of that name already."""
        *parents, old = path
        members = self.get(tuple(parents))
        if not isinstance(members, dict) or old not in members:
            return False
        if name == old:
            return True
        if name in members:
            return False
        renamed = {name if one == old else one: value for one, value in members.items()}
        members.clear()
        members.update(renamed)
        self._forget_below(path)
        return True

    def _forget_below(self, path: Path) -> None:
        """Places below have moved or are gone: what stands there now is somebody's, and stays."""
        self._made = {made for made in self._made if made[: len(path)] != path or len(made) < len(path)}
