"""Differences between comparable worlds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kubewright.explore.model._outcomes import Key
from kubewright.explore.worlds._canonical import Canonical
from kubewright.explore.worlds._masks import Masks, pointer

__all__ = ["Difference", "differences"]

_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Difference:
    """An object or a value that two worlds do not share. `path` is empty for a whole object."""

    key: Key
    path: str
    expected: Any
    actual: Any
    missing: bool = False
    """Whether the object, or the value, does not exist in the second world."""
    extra: bool = False
    """Whether it does not exist in the first world."""

    @property
    def subject(self) -> str:
        """The location of the difference, without values: equal for the same bug."""
        return f"{self.key[0]} {self.path}".rstrip()

    def __str__(self) -> str:
        resource, namespace, name = self.key
        target = f"{resource} {namespace}/{name}" if namespace else f"{resource} {name}"
        if not self.path:
            return f"{target} is missing" if self.missing else f"{target} exists, but should not"
        if self.missing:
            return f"{target}: {self.path} is not set, expected {_shown(self.expected)}"
        if self.extra:
            return f"{target}: {self.path} is {_shown(self.actual)}, expected to be unset"
        return f"{target}: {self.path} is {_shown(self.actual)}, expected {_shown(self.expected)}"


def differences(expected: Canonical, actual: Canonical, masks: Masks) -> list[Difference]:
    """Returns the differences, in the order of the keys."""
    found = []
    for key in sorted({*expected, *actual}):
        if masks.hides_object(key):
            continue
        if key not in actual:
            found.append(Difference(key, "", expected[key], None, missing=True))
        elif key not in expected:
            found.append(Difference(key, "", None, actual[key], extra=True))
        else:
            found += _inside(key, (), expected[key], actual[key], masks)
    return found


def _inside(key: Key, path: tuple[str | int, ...], before: Any, after: Any, masks: Masks) -> Iterator[Difference]:
    if before == after or masks.hides(key, path):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for name in {**before, **after}:
            place = (*path, name)
            if name not in after:
                if not masks.hides(key, place):
                    yield Difference(key, pointer(place), before[name], None, missing=True)
            elif name not in before:
                if not masks.hides(key, place):
                    yield Difference(key, pointer(place), None, after[name], extra=True)
            else:
                yield from _inside(key, place, before[name], after[name], masks)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _inside(key, (*path, index), old, new, masks)
    else:
        yield Difference(key, pointer(path), before, after)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
