"""`Document`: one object that is edited path by path.

Absent, null and empty are distinct. Everything else stays unchanged, including fields that the schema does not contain.
Parents that `put` created are removed with their last child. Other parents stay.
"""

from __future__ import annotations

import copy
from typing import Any

from kubewright.console.forms._paths import MISSING, Path, format_path, value_at

__all__ = ["Document"]


class Document:
    """A JSON object with edits by path. Read the object from `value`, and change it only through the methods."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.value: dict[str, Any] = copy.deepcopy(value)
        self._made: set[Path] = set()

    def get(self, path: Path) -> Any:
        """Returns the value at a path, or `MISSING`."""
        return value_at(self.value, path)

    def has(self, path: Path) -> bool:
        """Whether there is a value at the path, including null."""
        return self.get(path) is not MISSING

    def replace(self, value: dict[str, Any]) -> None:
        """Replaces the whole object, after it was edited as YAML."""
        self.value = copy.deepcopy(value)
        self._made.clear()

    def put(self, path: Path, value: Any) -> None:
        """Sets the value at a path. Creates missing parents. An element can only be appended to its list."""
        *parents, last = path
        here: Any = self.value
        for depth, step in enumerate(parents):
            here = self._into(here, step, tuple(parents[: depth + 1]), path[depth + 1])
        self._forget_below(path)
        if isinstance(last, int):
            if not isinstance(here, list) or last > len(here):
                raise LookupError(f"{format_path(path)} is not an element of a list")
            here[last : last + 1] = [copy.deepcopy(value)]
        else:
            if not isinstance(here, dict):
                raise LookupError(f"{format_path(path)} is not a field of an object")
            here[last] = copy.deepcopy(value)

    def _into(self, here: Any, step: str | int, path: Path, after: str | int) -> Any:
        found = value_at(here, (step,))
        if found is MISSING or found is None:
            found = [] if isinstance(after, int) else {}
            if isinstance(step, int):
                if not isinstance(here, list) or step > len(here):
                    raise LookupError(f"{format_path(path)} is not an element of a list")
                here[step : step + 1] = [found]
            elif isinstance(here, dict):
                if step not in here:
                    self._made.add(path)
                here[step] = found
            else:
                raise LookupError(f"{format_path(path)} is not a field of an object")
        return found

    def remove(self, path: Path) -> None:
        """Removes the value at a path, if there is one."""
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
        """Appends a value to the list at a path. Creates a missing list. Returns the path of the new element."""
        found = self.get(path)
        place = (*path, len(found) if isinstance(found, list) else 0)
        self.put(place, value)
        return place

    def move(self, path: Path, to: int) -> None:
        """Moves an element within its list."""
        *parents, index = path
        elements = self.get(tuple(parents))
        if isinstance(elements, list) and isinstance(index, int) and 0 <= to < len(elements):
            elements.insert(to, elements.pop(index))
            self._forget_below(tuple(parents))

    def rename(self, path: Path, name: str) -> bool:
        """Renames a key of a map without moving it. Returns False if the new name exists."""
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
        """Forgets which parents below a path were created, because their values moved or were replaced."""
        self._made = {made for made in self._made if made[: len(path)] != path or len(made) < len(path)}
