r"""Field selectors: `metadata.name=web-1,status.phase!=Running`.

Requirements are `field=value`, `field==value` or `field!=value`, joined by commas. All of them must hold. In a value,
`\`, `,` and `=` are escaped as `\\`, `\,` and `\=`, and white space counts. The server decides which fields can be
selected: `metadata.name` and `metadata.namespace` for every kind, and the selectable fields of a custom resource.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, Self

import msgspec

from kubewright.api._selectors import SelectorError

__all__ = ["FieldRequirement", "FieldSelector"]

_TERM: Final = re.compile(r"(?:[^,\\]|\\.|\\\Z)+", re.DOTALL)  # up to an unescaped comma
_OPERATOR: Final = re.compile(r"!=|==?")
_BACKSLASH_OR_EQUALS: Final = re.compile(r"\\(?P<escaped>.?)|=", re.DOTALL)
_SPECIAL: Final = re.compile(r"[\\,=]")
_NOT_IN_A_FIELD: Final = re.compile(r"[\\,=!\s]")


class FieldRequirement(msgspec.Struct, frozen=True):
    """A field has this value or, if `equal` is False, any other."""

    field: str
    value: str
    equal: bool = True

    def __post_init__(self) -> None:
        if not self.field or _NOT_IN_A_FIELD.search(self.field):
            raise SelectorError(f"expected a field such as metadata.name, found {self.field!r}")

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether the fields meet the requirement. A missing field has an empty value."""
        return (fields.get(self.field, "") == self.value) is self.equal

    def __str__(self) -> str:
        escaped = _SPECIAL.sub(r"\\\g<0>", self.value)
        return f"{self.field}{'=' if self.equal else '!='}{escaped}"


class FieldSelector(msgspec.Struct, frozen=True):
    """A field selector: requirements that must all hold, sorted. Immutable and hashable."""

    requirements: tuple[FieldRequirement, ...] = ()

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "requirements", tuple(sorted(self.requirements, key=str)))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parses a selector. Raises SelectorError with the position and what was expected."""
        return cls(tuple(_requirements(text)))

    @classmethod
    def from_fields(cls, fields: Mapping[str, str]) -> Self:
        """Returns the selector for objects whose fields have all these values."""
        return cls(tuple(FieldRequirement(field, value) for field, value in fields.items()))

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether these fields, by path, meet every requirement."""
        return all(requirement.matches(fields) for requirement in self.requirements)

    @property
    def selects_everything(self) -> bool:
        """Whether the selector has no requirements."""
        return not self.requirements

    def __and__(self, other: FieldSelector) -> FieldSelector:
        if not isinstance(other, FieldSelector):
            return NotImplemented
        return FieldSelector(self.requirements + other.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def _requirements(text: str) -> Iterable[FieldRequirement]:
    for term in _TERM.finditer(text):
        operator = _OPERATOR.search(term[0])
        if operator is None:
            raise _error(text, "expected one of = == !=", term.end())
        value = _unescaped(text, term[0][operator.end() :], term.start() + operator.end())
        try:
            yield FieldRequirement(term[0][: operator.start()], value, equal=operator[0] != "!=")
        except SelectorError as error:
            raise _error(text, str(error), term.start()) from None


def _unescaped(text: str, value: str, offset: int) -> str:
    def plain(match: re.Match[str]) -> str:
        if match["escaped"] in ("\\", ",", "="):
            return str(match["escaped"])
        problem = r"expected \\, \, or \=" if match["escaped"] is not None else r"expected \= for an = inside a value"
        raise _error(text, problem, offset + match.start())

    return _BACKSLASH_OR_EQUALS.sub(plain, value)


def _error(text: str, problem: str, position: int) -> SelectorError:
    return SelectorError(f"field selector {text!r}: {problem} (at position {position})", position)
