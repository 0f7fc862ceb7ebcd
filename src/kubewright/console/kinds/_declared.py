"""`declared_states`: the states that an operator declares on its CustomResourceDefinition, `@resource(states=...)`.

The annotation is untrusted input: an invalid one counts as absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from kubewright.api.kinds import STATES_ANNOTATION
from kubewright.columns import PathError, parse_path

__all__ = ["DeclaredStates", "declared_states"]

_LENGTH: Final = 16_384


class DeclaredStates(NamedTuple):
    """The path of a field, and the state that each of its values means."""

    path: str
    states: Mapping[str, str]
    """`ready`, `progressing`, `failing`, `suspended` or `completed`, by value."""


class _Annotation(msgspec.Struct):
    path: str
    ready: list[str] = []
    progressing: list[str] = []
    failing: list[str] = []
    suspended: list[str] = []
    completed: list[str] = []


def declared_states(definition: Mapping[str, Any]) -> DeclaredStates | None:
    """Returns the states of a definition; None if it declares none, or invalid ones."""
    text = ((definition.get("metadata") or {}).get("annotations") or {}).get(STATES_ANNOTATION)
    if not isinstance(text, str) or len(text) > _LENGTH:
        return None
    try:
        found = msgspec.json.decode(text, type=_Annotation)
        parse_path(found.path)
    except (msgspec.DecodeError, PathError, RecursionError):
        return None
    words = {word: state for state in _Annotation.__struct_fields__[1:] for word in getattr(found, state)}
    return DeclaredStates(found.path, words)
