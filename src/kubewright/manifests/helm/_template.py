"""Helm templates from plain dicts and lists, in which Helm fills in some values.

One function writes a template, with correct indentation and quotes. These nodes are left to Helm:

- a `hole` in a string: a name that only Helm knows, such as that of the release; it may be part of a longer string;
- `Value(expression)`: a number or a string, written so that YAML reads it as such;
- `Structure(expression)`: a list or a mapping from the values;
- `When(condition, node)`: a member, or several elements of a list, under a condition;
- `Splice(expression)`: in a list, the elements of another list from the values.

Everything else is written as it is. Text that looks like a template is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kubewright.api import to_yaml

__all__ = ["Splice", "Structure", "Value", "When", "hole", "template"]

# Private-use characters, so that no user's text looks like a hole.
_OPEN, _CLOSE = "\ue000", "\ue001"
_HOLE: Final = re.compile(f"{_OPEN}([a-z]+){_CLOSE}")


def hole(name: str) -> str:
    """Returns a part of a string that Helm fills in, by the expression that `template` gets for its name."""
    return f"{_OPEN}{name}{_CLOSE}"


@dataclass(frozen=True)
class Value:
    """A number, a boolean or a string. The expression of a string ends with `| quote`."""

    expression: str


@dataclass(frozen=True)
class Structure:
    """A list or a mapping. Use `When` for a member whose structure may be empty."""

    expression: str


@dataclass(frozen=True)
class When:
    """As the value of a member: the member exists under the condition. In a list: the elements of `node` do.

    A member may have another value otherwise; None for no value.
    """

    condition: str
    node: Any
    otherwise: Any = None


@dataclass(frozen=True)
class Splice:
    """In a list: the elements of a list that may be empty."""

    expression: str


def template(tree: Mapping[str, Any], holes: Mapping[str, str], *, when: str = "") -> str:
    """Returns the template of one document, with sorted members. `when` is a condition for all of it.

    `holes` contains the expression for each hole.
    """
    text = "".join(f"{line}\n" for line in _Writer(holes).members(tree, ""))
    return f"{{{{- if {when} }}}}\n{text}{{{{- end }}}}\n" if when else text


class _Writer:
    def __init__(self, holes: Mapping[str, str]) -> None:
        self._holes = holes

    def members(self, mapping: Mapping[str, Any], indent: str) -> Iterator[str]:
        for name in sorted(mapping):
            value = mapping[name]
            if isinstance(value, When):
                yield f"{indent}{{{{- if {value.condition} }}}}"
                yield from self._member(name, value.node, indent)
                if value.otherwise is not None:
                    yield f"{indent}{{{{- else }}}}"
                    yield from self._member(name, value.otherwise, indent)
                yield f"{indent}{{{{- end }}}}"
            else:
                yield from self._member(name, value, indent)

    def _member(self, name: str, value: Any, indent: str) -> Iterator[str]:
        if not _is_template(value):
            yield from _plain({name: value}, indent)
        elif isinstance(value, Structure):
            yield f"{indent}{name}:"
            yield f"{indent}  {{{{- toYaml {value.expression} | nindent {len(indent) + 2} }}}}"
        elif isinstance(value, Mapping):
            yield f"{indent}{name}:"
            yield from self.members(value, f"{indent}  ")
        elif isinstance(value, Sequence) and not isinstance(value, str):
            yield f"{indent}{name}:"
            yield from self._elements(value, indent)
        else:
            yield f"{indent}{name}: {self._scalar(value)}"

    def _elements(self, elements: Sequence[Any], indent: str) -> Iterator[str]:
        for element in elements:
            if isinstance(element, When):
                yield f"{indent}{{{{- if {element.condition} }}}}"
                yield from self._elements(element.node, indent)
                yield f"{indent}{{{{- end }}}}"
            elif isinstance(element, Splice):
                yield f"{indent}{{{{- with {element.expression} }}}}"
                yield f"{indent}{{{{- toYaml . | nindent {len(indent)} }}}}"
                yield f"{indent}{{{{- end }}}}"
            elif not _is_template(element):
                yield from list(_plain({"-": [element]}, indent))[1:]
            elif isinstance(element, Mapping):
                first, *others = self.members(element, f"{indent}  ")
                if "{{- " in first:
                    raise ValueError(f"the first member of an element of a list cannot be left to Helm: {first}")
                yield f"{indent}- {first.removeprefix(f'{indent}  ')}"
                yield from others
            else:
                yield f"{indent}- {self._scalar(element)}"

    def _scalar(self, value: Any) -> str:
        if isinstance(value, Value):
            return f"{{{{ {value.expression} }}}}"
        # In quotes, whatever fills the hole: a namespace called 42 is not a number.
        pieces = _HOLE.split(value)
        for position, piece in enumerate(pieces):
            is_hole = position % 2
            pieces[position] = f"{{{{ {self._holes[piece]} }}}}" if is_hole else _escaped(_in_quotes(piece))
        return f'"{"".join(pieces)}"'


def _is_template(value: Any) -> bool:
    if isinstance(value, str):
        return _HOLE.search(value) is not None
    if isinstance(value, Mapping):
        return any(_is_template(member) for member in value.values())
    if isinstance(value, Sequence):
        return any(_is_template(element) for element in value)
    return isinstance(value, Value | Structure | When | Splice)


def _plain(tree: Mapping[str, Any], indent: str) -> Iterator[str]:
    for line in to_yaml(tree).splitlines():
        yield _escaped(f"{indent}{line}" if line else "")


def _escaped(text: str) -> str:
    return text.replace("{{", '{{ "{{" }}')


def _in_quotes(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
