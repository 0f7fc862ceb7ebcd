"""The declarations of an operator on its CustomResourceDefinition: `@resource(states=..., form=...)`.

The annotations are untrusted input: an invalid one counts as absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec

from kubewright.api.kinds import FORM_ANNOTATION, STATES_ANNOTATION, DeletionConfirmation
from kubewright.api.schema import parse_path as parse_members
from kubewright.columns import PathError, parse_path

__all__ = ["DeclaredForm", "DeclaredSection", "DeclaredStates", "declared_form", "declared_states"]

_LENGTH: Final = 16_384
_FORM_LENGTH: Final = 65_536


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
    text = _annotation(definition, STATES_ANNOTATION, _LENGTH)
    if text is None:
        return None
    try:
        found = msgspec.json.decode(text, type=_Annotation)
        parse_path(found.path)
    except (msgspec.DecodeError, PathError, RecursionError):
        return None
    words = {word: state for state in _Annotation.__struct_fields__[1:] for word in getattr(found, state)}
    return DeclaredStates(found.path, words)


def _annotation(definition: Mapping[str, Any], name: str, longest: int) -> str | None:
    text = ((definition.get("metadata") or {}).get("annotations") or {}).get(name)
    return text if isinstance(text, str) and len(text) <= longest else None


class DeclaredSection(NamedTuple):
    """A part of a form, with the paths of its fields."""

    title: str
    fields: tuple[tuple[str, ...], ...]
    description: str = ""
    collapsed: bool = False


class DeclaredForm(NamedTuple):
    """The form of a kind. Paths are tuples of members; the schema may not have all of them."""

    sections: tuple[DeclaredSection, ...] = ()
    initial: Mapping[tuple[str, ...], Any] = MappingProxyType({})
    newest: tuple[tuple[str, ...], ...] = ()
    labels: Mapping[tuple[str, ...], str] = MappingProxyType({})
    confirm_deletion: DeletionConfirmation = "name"


class _Section(msgspec.Struct):
    title: str
    fields: list[str] = []
    description: str = ""
    collapsed: bool = False


class _Form(msgspec.Struct):
    sections: list[_Section] = []
    initial: dict[str, Any] = {}
    newest: list[str] = []
    labels: dict[str, str] = {}
    confirm_deletion: DeletionConfirmation = "name"


def declared_form(definition: Mapping[str, Any]) -> DeclaredForm:
    """Returns the form of a definition; an empty one if it declares none, or an invalid one."""
    text = _annotation(definition, FORM_ANNOTATION, _FORM_LENGTH)
    if text is None:
        return DeclaredForm()
    try:
        found = msgspec.json.decode(text, type=_Form)
        return DeclaredForm(
            tuple(
                DeclaredSection(one.title, tuple(map(_members, one.fields)), one.description, one.collapsed)
                for one in found.sections
            ),
            {_members(path): value for path, value in found.initial.items()},
            tuple(map(_members, found.newest)),
            {_members(path): label for path, label in found.labels.items()},
            found.confirm_deletion,
        )
    except (msgspec.DecodeError, ValueError, RecursionError):
        return DeclaredForm()


def _members(path: str) -> tuple[str, ...]:
    """Returns the members of a path. Raises ValueError for a path into a list, and outside of the form."""
    members = tuple(step.member for step in parse_members(path) if step.member is not None)
    if len(members) != len(parse_members(path)) or members[0] in ("apiVersion", "kind", "metadata", "status"):
        raise ValueError(f"{path} is not a path of a form")
    return members
