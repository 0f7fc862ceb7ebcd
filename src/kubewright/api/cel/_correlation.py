"""Finds the previous value: fields of objects by name, elements of lists by their keys.

The API server tolerates violations by unchanged values (ratcheting): a rule that became stricter does not prevent
writes to objects that violated it before.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from kubewright.api.wire import equal_json

__all__ = ["Correlated"]


class Correlated:
    """A value and its previous value."""

    def __init__(self, schema: dict[str, Any], new: Any, old: Any) -> None:
        self.schema = schema
        self.new = new
        self.old = old

    def key(self, name: str) -> Correlated | None:
        """Returns a member with its previous value; None if it is new, or has no schema."""
        if not isinstance(self.new, dict) or not isinstance(self.old, dict):
            return None
        if name not in self.new or name not in self.old:
            return None
        others = self.schema.get("additionalProperties")
        schema = (self.schema.get("properties") or {}).get(name) or (others if isinstance(others, dict) else None)
        return None if schema is None else Correlated(schema, self.new[name], self.old[name])

    def index(self, place: int) -> Correlated | None:
        """Returns an element with its previous value; None if keys do not identify it."""
        before = self.by_keys.get(self._identity(self.new[place])) if self.by_keys else None
        return None if before is None else Correlated(self.schema.get("items") or {}, self.new[place], before)

    @cached_property
    def by_keys(self) -> dict[tuple[Any, ...], Any]:
        """The previous elements by their keys."""
        if self.schema.get("x-kubernetes-list-type") != "map" or not isinstance(self.old, list):
            return {}
        return {self._identity(element): element for element in self.old if isinstance(element, dict)}

    def _identity(self, element: Any) -> tuple[Any, ...]:
        keys = self.schema.get("x-kubernetes-list-map-keys") or ()
        return tuple(repr(element.get(key)) for key in keys) if isinstance(element, dict) else ()

    @cached_property
    def is_unchanged(self) -> bool:
        """Whether the value is unchanged. The order of elements with keys does not matter."""
        new, old = self.new, self.old
        if isinstance(new, dict) and isinstance(old, dict):
            members = [self.key(name) for name in new]
            return len(new) == len(old) and all(member is not None and member.is_unchanged for member in members)
        if isinstance(new, list) and isinstance(old, list) and self.by_keys:
            elements = [self.index(place) for place in range(len(new))]
            return len(new) == len(old) and all(each is not None and each.is_unchanged for each in elements)
        return equal_json(new, old)
