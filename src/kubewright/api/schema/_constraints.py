"""Constraints on fields: typed values inside `Annotated[...]`.

    class FooSpec(kw.Model):
        replicas: Annotated[int, kw.Range(1, 10)] | None = None
        ports: Annotated[list[Port], kw.ListType("map", keys=["name"])]

A constraint says what the API server rejects; `kubewright.crd` writes it into the schema. Constraints do not change
decoding: an object that was stored before a constraint existed can still be read. Names in keys, paths and CEL
expressions are JSON names: `configMap`, not `config_map`.

An invalid constraint raises as early as possible: in its constructor (a minimum above the maximum), or in `@resource`
if it does not apply to the type of its field (a `Range` of a string).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Final, Literal

import msgspec

from kubewright.regex import InvalidPattern, check_pattern
from kubewright.structs import ExplainingStructMeta

__all__ = [
    "ALL_CATEGORIES",
    "Choices",
    "Constraint",
    "EmbeddedResource",
    "Example",
    "Format",
    "Immutable",
    "Items",
    "Length",
    "ListType",
    "MapType",
    "MultipleOf",
    "Nullable",
    "Pattern",
    "PreserveUnknown",
    "Properties",
    "Range",
    "Schema",
    "StructConstraint",
    "check_one_line",
    "constraints_of",
]

STRING_FORMATS: Final = frozenset(
    [
        "bsonobjectid",
        "uri",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "cidr",
        "mac",
        "uuid",
        "uuid3",
        "uuid4",
        "uuid5",
        "isbn",
        "isbn10",
        "isbn13",
        "creditcard",
        "ssn",
        "hexcolor",
        "rgbcolor",
        "byte",
        "password",
        "date",
        "duration",
        "date-time",
        "k8s-short-name",
        "k8s-long-name",
    ]
)
NUMBER_FORMATS: Final = {"int32": "integer", "int64": "integer", "float": "number", "double": "number"}


class Constraint:
    """The base of every constraint. `categories` are the kinds of JSON that it applies to."""

    __slots__ = ()
    categories: ClassVar[frozenset[str]]
    repeatable: ClassVar[bool] = False


class StructConstraint(Constraint, msgspec.Struct, frozen=True, metaclass=ExplainingStructMeta):
    """The base of constraints with fields."""


def _count(name: str, value: object) -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise ValueError(f"{name} must be an integer of at least 0, not {value!r}")


def _bounds(constraint: object, minimum: Any, maximum: Any) -> None:
    if minimum is None and maximum is None:
        raise ValueError(f"{type(constraint).__name__} needs a minimum, a maximum or both")
    if minimum is not None and maximum is not None and minimum > maximum:
        raise ValueError(f"{type(constraint).__name__}: the minimum {minimum} is above the maximum {maximum}")


class Range(StructConstraint, frozen=True):
    """The smallest and the largest number. Both bounds are inclusive by default."""

    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    categories: ClassVar = frozenset({"integer", "number", "int-or-string"})

    def __post_init__(self) -> None:
        for name, bound in (("minimum", self.minimum), ("maximum", self.maximum)):
            if bound is not None and (not _is_number(bound) or not math.isfinite(bound)):
                raise ValueError(f"the {name} of a Range must be a number, not {bound!r}")
        _bounds(self, self.minimum, self.maximum)
        if (self.exclusive_minimum and self.minimum is None) or (self.exclusive_maximum and self.maximum is None):
            raise ValueError("Range: an exclusive bound needs that bound: minimum or maximum is missing")
        if self.minimum == self.maximum and (self.exclusive_minimum or self.exclusive_maximum):
            raise ValueError(f"Range is empty: it excludes its only number, {self.minimum}")


class MultipleOf(StructConstraint, frozen=True):
    """The number is a multiple of `factor`, which is an integer: with a fraction, the server rejects valid values."""

    factor: int
    categories: ClassVar = frozenset({"integer", "number"})

    def __post_init__(self) -> None:
        factor: object = self.factor
        if not isinstance(factor, int) or isinstance(factor, bool) or factor <= 0:
            raise ValueError(f"MultipleOf needs an integer above 0, not {factor!r}")


class Length(StructConstraint, frozen=True):
    """The number of characters of a string."""

    minimum: int | None = None
    maximum: int | None = None
    categories: ClassVar = frozenset({"string", "int-or-string"})

    def __post_init__(self) -> None:
        _count("the minimum of a Length", self.minimum)
        _count("the maximum of a Length", self.maximum)
        _bounds(self, self.minimum, self.maximum)


class Pattern(StructConstraint, frozen=True):
    """A regular expression that occurs in the string. Anchor it with `^` and `$` to match the whole string.

    The syntax is RE2: no look-around, no backreferences.
    """

    regex: str
    categories: ClassVar = frozenset({"string", "int-or-string"})

    def __post_init__(self) -> None:
        try:
            check_pattern(self.regex)
        except InvalidPattern as error:
            raise ValueError(f"Pattern {self.regex!r} is not valid for the API server: {error}") from None


class Format(StructConstraint, frozen=True):
    """The format of a string or a number: `uri`, `ipv4`, `cidr`, `uuid`, `duration`, `int32`, ...

    Rejects formats that the API server does not check, because it would ignore them. None removes the default format
    of a number.
    """

    name: str | None
    categories: ClassVar = frozenset({"string", "integer", "number"})

    def __post_init__(self) -> None:
        known = STRING_FORMATS | NUMBER_FORMATS.keys()
        if self.name is not None and self.name not in known:
            raise ValueError(
                f"the API server does not know the format {self.name!r}; known formats: {', '.join(sorted(known))}"
            )


class Items(StructConstraint, frozen=True):
    """The number of elements of a list."""

    minimum: int | None = None
    maximum: int | None = None
    categories: ClassVar = frozenset({"array"})

    def __post_init__(self) -> None:
        _count("the minimum of Items", self.minimum)
        _count("the maximum of Items", self.maximum)
        _bounds(self, self.minimum, self.maximum)


class Properties(StructConstraint, frozen=True):
    """The number of members of a map or a model."""

    minimum: int | None = None
    maximum: int | None = None
    categories: ClassVar = frozenset({"object"})

    def __post_init__(self) -> None:
        _count("the minimum of Properties", self.minimum)
        _count("the maximum of Properties", self.maximum)
        _bounds(self, self.minimum, self.maximum)


class Choices(Constraint):
    """The allowed values. Unlike with `Literal` or `Enum`, an object with another value still decodes."""

    __slots__ = ("values",)
    categories: ClassVar = frozenset({"string", "integer", "number", "boolean"})

    def __init__(self, *values: str | int | float | bool) -> None:
        if not values:
            raise ValueError("Choices needs at least one value")
        if any(isinstance(value, list | tuple | set | dict) for value in values):
            raise TypeError(f"Choices takes the values one by one, Choices('a', 'b'), not {values[0]!r}")
        if len({(type(value), value) for value in values}) < len(values):
            raise ValueError(f"Choices names a value twice: {', '.join(map(repr, values))}")
        self.values = values

    def __repr__(self) -> str:
        return f"Choices({', '.join(map(repr, self.values))})"


class ListType(Constraint):
    """How the server merges a list: `atomic` as one value, `set` by element, `map` by the keys of its elements.

    The elements of a set, and the keys of a map, are unique; CRDs have no other way to require that. The client's
    `update` identifies elements by the same keys. Server-side apply supports sets of scalars only: for lists of models
    use `map` or `atomic`. Kubernetes 1.37 warns of other sets.
    """

    __slots__ = ("keys", "type")
    categories: ClassVar = frozenset({"array"})

    def __init__(self, type: Literal["atomic", "set", "map"], keys: Sequence[str] = ()) -> None:  # noqa: A002
        if type not in ("atomic", "set", "map"):
            raise ValueError(f'the type of a ListType is "atomic", "set" or "map", not {type!r}')
        if isinstance(keys, str):
            raise TypeError(f"the keys of a ListType are a list of names: keys=[{keys!r}]")
        if (type == "map") != bool(keys):
            raise ValueError('a ListType of "map" needs keys, and the other types have none')
        if len(set(keys)) < len(keys):
            raise ValueError(f"ListType names a key twice: {', '.join(keys)}")
        self.type = type
        self.keys = tuple(keys)

    def __repr__(self) -> str:
        return f"ListType({self.type!r}, keys={list(self.keys)!r})" if self.keys else f"ListType({self.type!r})"


class MapType(StructConstraint, frozen=True):
    """How the server merges a map or a model: `granular` by member (the default), `atomic` as one value."""

    type: Literal["granular", "atomic"]
    categories: ClassVar = frozenset({"object"})

    def __post_init__(self) -> None:
        if self.type not in ("granular", "atomic"):
            raise ValueError(f'the type of a MapType is "granular" or "atomic", not {self.type!r}')


ALL_CATEGORIES: Final = frozenset(
    {
        "string",
        "integer",
        "number",
        "boolean",
        "array",
        "object",
        "int-or-string",
        "quantity",
        "enum",
        "formatted",
        "any",
    }
)


class Example(StructConstraint, frozen=True, eq=False):  # an annotation must be hashable
    """An example value, for readers of the schema."""

    value: Any
    categories: ClassVar = ALL_CATEGORIES


class Nullable(StructConstraint, frozen=True):
    """The server accepts null for this field. Without it, an optional field can be absent but not null.

    `Nullable(False)` is for `JSON`, which accepts null by default.
    """

    allowed: bool = True
    categories: ClassVar = ALL_CATEGORIES


class Immutable(StructConstraint, frozen=True):
    """The field keeps its first value: it cannot be changed, added or removed after creation."""

    message: str = "is immutable"
    categories: ClassVar = ALL_CATEGORIES - {"any"}

    def __post_init__(self) -> None:
        check_one_line("the message of Immutable", self.message)


class EmbeddedResource(StructConstraint, frozen=True):
    """The value is a complete Kubernetes object: the server checks its apiVersion, kind and metadata."""

    categories: ClassVar = frozenset({"object", "any"})


class PreserveUnknown(StructConstraint, frozen=True):
    """The server keeps members that the model does not declare, instead of dropping them."""

    categories: ClassVar = frozenset({"object", "any"})


class Schema(StructConstraint, frozen=True, eq=False):  # an annotation must be hashable
    """Members that replace those of the generated schema, for what no other constraint expresses.

    None removes a member. `properties` are replaced one by one in the same way. `Schema` is applied last, and only the
    server checks it: prefer the other constraints where they suffice.
    """

    members: dict[str, Any]
    categories: ClassVar = ALL_CATEGORIES

    def __post_init__(self) -> None:
        members: object = self.members
        if not isinstance(members, dict) or not members or not all(isinstance(name, str) for name in members):
            raise ValueError(f"Schema needs a dict of schema members by name, not {members!r}")


def constraints_of(model: type) -> tuple[Constraint, ...]:
    """Returns the constraints that `@constrain` added to a model and to its bases."""
    return getattr(model, "__constraints__", ())


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_one_line(what: str, text: object) -> None:
    """Raises ValueError unless the value is a non-empty string without line breaks."""
    if not isinstance(text, str) or not text.strip() or "\n" in text:
        raise ValueError(f"{what} must be one line of text, not {text!r}")
