"""The types of CEL, and their compatibility.

`Substitutions` holds the known values of type parameters. `fits` and `fit_all` add to them only if the types fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

__all__ = [
    "ANY_LIST",
    "BOOL",
    "BYTES",
    "CIDR",
    "DOUBLE",
    "DURATION",
    "DYN",
    "ERROR",
    "FORMAT",
    "INT",
    "IP",
    "NULL",
    "QUANTITY",
    "SEMVER",
    "STRING",
    "TIMESTAMP",
    "UINT",
    "URL",
    "Substitutions",
    "Type",
    "list_of",
    "map_of",
    "most_general",
    "optional_of",
    "parameter",
    "signature",
    "struct",
    "type_of",
]

Kind: TypeAlias = Literal["simple", "dyn", "error", "null", "list", "map", "struct", "opaque", "type", "parameter"]


@dataclass(frozen=True, slots=True)
class Type:
    """A type. Simple types (`int`, `string`, `timestamp`) and structs are identified by name."""

    kind: Kind
    name: str
    parameters: tuple[Type, ...] = ()

    def __str__(self) -> str:
        if not self.parameters:
            return self.name
        return f"{self.name}({', '.join(map(str, self.parameters))})"

    @property
    def is_dyn(self) -> bool:
        """Whether the type accepts any value."""
        return self.kind == "dyn"

    @property
    def is_optional(self) -> bool:
        """Whether it is an `optional_type`."""
        return self.kind == "opaque" and self.name == "optional_type"

    @property
    def unwrapped(self) -> Type:
        """Returns the element type of an optional; any other type unchanged."""
        return self.parameters[0] if self.is_optional else self

    @property
    def is_scalar(self) -> bool:
        """Whether its values have one size."""
        return self.unwrapped.name in _SCALARS and self.unwrapped.kind == "simple"


BOOL: Final = Type("simple", "bool")
INT: Final = Type("simple", "int")
UINT: Final = Type("simple", "uint")
DOUBLE: Final = Type("simple", "double")
STRING: Final = Type("simple", "string")
BYTES: Final = Type("simple", "bytes")
DURATION: Final = Type("simple", "duration")
TIMESTAMP: Final = Type("simple", "timestamp")
DYN: Final = Type("dyn", "dyn")
ERROR: Final = Type("error", "!error!")
NULL: Final = Type("null", "null")
# Types of Kubernetes.
URL: Final = Type("struct", "kubernetes.URL")
QUANTITY: Final = Type("struct", "kubernetes.Quantity")
SEMVER: Final = Type("struct", "kubernetes.Semver")
FORMAT: Final = Type("struct", "kubernetes.NamedFormat")
IP: Final = Type("opaque", "net.IP")
CIDR: Final = Type("opaque", "net.CIDR")

_SCALARS: Final = frozenset({"bool", "int", "uint", "double", "duration", "timestamp"})
_NULLABLE: Final = ("opaque", "struct")


def list_of(element: Type) -> Type:
    """Returns the type of a list."""
    return Type("list", "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """Returns the type of a map."""
    return Type("map", "map", (key, value))


def optional_of(value: Type) -> Type:
    """Returns the type of an optional value."""
    return Type("opaque", "optional_type", (value,))


def type_of(value: Type) -> Type:
    """Returns the type of a type."""
    return Type("type", "type", (value,))


def parameter(name: str) -> Type:
    """Returns a type parameter."""
    return Type("parameter", name)


def struct(name: str) -> Type:
    """Returns the type of a struct, by its name."""
    return Type("struct", name)


ANY_LIST: Final = list_of(DYN)


def signature(arguments: Sequence[Type], *, is_member: bool) -> str:
    """Returns the types of a call, as messages show them: `string.(int)` for a member, `(string, int)` otherwise."""
    if is_member:
        return f"{arguments[0]}.({', '.join(map(str, arguments[1:]))})"
    return f"({', '.join(map(str, arguments))})"


def most_general(one: Type, other: Type) -> Type:
    """Returns the less specific of two types that fit each other."""
    return one if _is_no_more_specific(one, other) else other


def _is_no_more_specific(one: Type, other: Type) -> bool:
    if one.is_dyn or one.kind == "parameter":
        return True
    if other.is_dyn or other.kind == "parameter" or one.kind != other.kind:
        return False
    if one.kind == "type":
        return True
    if one.name != other.name or len(one.parameters) != len(other.parameters):
        return False
    return all(map(_is_no_more_specific, one.parameters, other.parameters))


class Substitutions:
    """The known values of type parameters."""

    def __init__(self) -> None:
        self._known: dict[str, Type] = {}

    def fits(self, one: Type, other: Type) -> bool:
        """Whether a value of one type is accepted where the other is expected. If so, binds type parameters."""
        return self.fit_all((one,), (other,))

    def fit_all(self, given: Sequence[Type], expected: Sequence[Type]) -> bool:
        """Whether each type fits the expected one at its position. If so, binds type parameters."""
        before = dict(self._known)
        if self._all(given, expected):
            return True
        self._known = before
        return False

    def applied(self, type_: Type, *, free_to_dyn: bool = False) -> Type:
        """Returns the type with its parameters replaced by their values."""
        if type_.kind == "parameter":
            known = self._known.get(type_.name)
            if known is not None:
                return self.applied(known, free_to_dyn=free_to_dyn)
            return DYN if free_to_dyn else type_
        if not type_.parameters:
            return type_
        made = tuple(self.applied(each, free_to_dyn=free_to_dyn) for each in type_.parameters)
        return Type(type_.kind, type_.name, made)

    def _all(self, given: Sequence[Type], expected: Sequence[Type]) -> bool:
        return len(given) == len(expected) and all(map(self._fits, given, expected))

    def _fits(self, one: Type, other: Type) -> bool:
        if other.kind == "parameter":
            valid, known = self._substitute(one, other)
            if valid or known:
                return valid
        if one.kind == "parameter":
            return self._substitute(other, one)[0]
        if {one.kind, other.kind} & {"dyn", "error"}:
            return True
        if one.kind == "null":
            return other.kind == "null" or _is_nullable(other)
        if other.kind == "null":
            return _is_nullable(one)
        if one.kind in ("simple", "struct"):
            return one == other
        if one.kind == "type":
            return other.kind == "type"
        return one.kind == other.kind and one.name == other.name and self._all(one.parameters, other.parameters)

    def _substitute(self, type_: Type, free: Type) -> tuple[bool, bool]:
        """Returns whether the parameter can be bound to the type, and whether it was bound before."""
        if type_ == free:
            return True, True
        known = self._known.get(free.name)
        if known is not None:
            if type_ == known:
                return True, True
            if not self._fits(type_, known):
                return False, True
            general = most_general(type_, known)
            if not self._occurs(free, general):
                self._known[free.name] = general
            return True, True
        if self._occurs(free, type_):
            return False, False
        self._known[free.name] = type_
        return True, False

    def _occurs(self, free: Type, within: Type) -> bool:
        if free == within:
            return True
        if within.kind == "parameter":
            known = self._known.get(within.name)
            return known is not None and self._occurs(free, known)
        return any(self._occurs(free, each) for each in within.parameters)


def _is_nullable(type_: Type) -> bool:
    return type_.kind in _NULLABLE or type_ in (DURATION, TIMESTAMP)
