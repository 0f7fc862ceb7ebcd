"""Generated values, such as passwords, that change although the user changes something else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kubewright.explore.model import Finding, Outcome
from kubewright.explore.model._outcomes import Key, World
from kubewright.explore.worlds import Masks, decoded, unlike

__all__ = ["regenerated"]

_NOT_CHANCE: Final = re.compile(
    r"\b10\.\d{1,3}\.\d{1,3}\.\d{1,3}\b|(?<!\d)20[3-9]\d(?!\d)|^(1[89]|2[0-3])\d{8}(\d{3})?$"
)
"""Addresses, dates and times in virtual time, which change without a decision of the operator."""
_RENEWING: Final = re.compile(
    "rotat|renew|regenerat|reissu|refresh|reset|seed|nonce|epoch|version|revision|serial|trigger|restart|issu", re.I
)
"""Fields with which a user asks for a new value."""
_SECRET: Final = re.compile("passw|token|secret|api_?key|credential", re.I)


def regenerated(
    outcome: Outcome, usual: Outcome, fresh: Outcome, masks: Masks, field: Sequence[str | int]
) -> list[Finding]:
    """A generated value stays when the user changes a field that does not concern it.

    All runs have the same seed. A field concerns a generated value if a start with another value of the field generates
    another one from the same randomness, such as a longer password, or if the user requests a new value with the field.

    Args:
        outcome: the run with the change. Its first two checkpoints are before and after the change.
        usual: a start with the value of the field before the change.
        fresh: a start with the value after the change.
        masks: the learned masks. They contain the generated values.
        field: the path of the field.
    """
    before, after = (checkpoint.world for checkpoint in outcome.checkpoints[:2])
    first, second = usual.checkpoints[-1].world, fresh.checkpoints[-1].world
    title = ".".join(str(part) for part in field)
    if _RENEWING.search(title):
        return []
    for key, path in _generated(before, masks):
        old, new = (_at(world.get(key), path) for world in (before, after))
        if new is None or new == old or before[key]["metadata"]["uid"] != after[key]["metadata"]["uid"]:
            continue
        if not old == _at(first.get(key), path) == _at(second.get(key), path) or _is_concerned(title, path):
            continue
        if _is_changed_elsewhere(key, before, after, masks) and not _SECRET.search(path[-1]):
            continue
        resource, namespace, name = key
        where = "/".join(path)
        return [
            Finding(
                "generated-again",
                f"the operator generated {where} of {resource} {namespace}/{name} again when the user changed {title}",
                subject=f"{resource} {where}",
            )
        ]
    return []


def _generated(world: World, masks: Masks) -> Iterator[tuple[Key, tuple[str, ...]]]:
    """Yields the masked values in objects that are strings and depend on randomness."""
    for resource, path in sorted(masks.leaves):
        if path[0] in ("status", "metadata"):
            continue
        for key in sorted(world):
            if masks.exempts(key, path):
                continue
            value = _at(world[key], path) if key[0] == resource else None
            if isinstance(value, str) and not _NOT_CHANCE.search(decoded(value, 4) or value):
                yield key, path


def _is_concerned(title: str, path: Sequence[str]) -> bool:
    """Returns whether a word of a field's name occurs in the name of the value: `tokenLength` and `token`."""
    words = {word.lower() for word in re.findall("[A-Z]?[a-z]{3,}", title)} - {"spec"}
    return any(word in path[-1].lower() for word in words)


def _is_changed_elsewhere(key: Key, before: World, after: World, masks: Masks) -> bool:
    """Returns whether the object has changed in more than generated values."""
    one, other = (_without(world[key], masks, key, ()) for world in (before, after))
    return unlike(one, other)


def _without(value: Any, masks: Masks, key: Key, path: tuple[str | int, ...]) -> Any:
    if masks.hides(key, path) or path == ("metadata", "generation"):
        return None
    if isinstance(value, dict):
        return {name: _without(inner, masks, key, (*path, name)) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without(inner, masks, key, (*path, number)) for number, inner in enumerate(value)]
    return value


def _at(value: Any, path: Sequence[str]) -> Any:
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value
