"""Rules for the values of fields, as typed values inside `Annotated[...]`, and for whole models.

    class FooSpec(kw.Model):
        replicas: Annotated[int, kw.Range(1, 10)] | None = None
        ports: Annotated[list[Port], kw.ListType("map", keys=["name"])]

    @kw.constrain(kw.Rule("self.minimum <= self.maximum"), kw.ExactlyOneOf("secret", "configMap"))
    class Source(kw.Model): ...

Rules say what the API server must refuse, and `kubewright.crd` writes them into the schema. They do not change how an
object decodes: one that breaks a rule (it was stored before the rule was made) can still be read. Names inside the
texts of rules, keys and paths are the names on the wire: `configMap`, not `config_map`.

A rule that makes no sense is an error as early as possible: a value that cannot be meant (a minimum above the maximum)
when it is made, a rule at a place where it means nothing (a `Range` of a text) when `@resource` makes the class a kind.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, Literal, TypeVar

import msgspec

from kubewright.api._model import Model
from kubewright.api.schema._cel import Comparison
from kubewright.regex import InvalidPattern, check_pattern
from kubewright.structs import ExplainingStructMeta

__all__ = [
    "AtLeastOneOf",
    "AtMostOneOf",
    "Choices",
    "Constraint",
    "EmbeddedResource",
    "ExactlyOneOf",
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
    "Rule",
    "Schema",
    "constrain",
    "constraints_of",
]

ModelT = TypeVar("ModelT", bound="type[Model]")

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
    """The base of every rule. `places` are the types of JSON at which it has a meaning."""

    __slots__ = ()
    places: ClassVar[frozenset[str]]
    repeatable: ClassVar[bool] = False


class _WithFields(Constraint, msgspec.Struct, frozen=True, metaclass=ExplainingStructMeta):
    """A rule with fields, which says what is wrong with those it is given."""


def _count(name: str, value: object) -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise ValueError(f"{name} must be a whole number that is not negative, not {value!r}")


def _bounds(constraint: object, minimum: Any, maximum: Any) -> None:
    if minimum is None and maximum is None:
        raise ValueError(f"{type(constraint).__name__} needs a minimum, a maximum or both")
    if minimum is not None and maximum is not None and minimum > maximum:
        raise ValueError(f"{type(constraint).__name__}: the minimum {minimum} is above the maximum {maximum}")


class Range(_WithFields, frozen=True):
    """The least and the greatest number. Both belong to the range unless they are called exclusive."""

    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    places: ClassVar = frozenset({"integer", "number", "int-or-string"})

    def __post_init__(self) -> None:
        for name, bound in (("minimum", self.minimum), ("maximum", self.maximum)):
            if bound is not None and (not _is_number(bound) or not math.isfinite(bound)):
                raise ValueError(f"the {name} of a Range must be a number, not {bound!r}")
        _bounds(self, self.minimum, self.maximum)
        if (self.exclusive_minimum and self.minimum is None) or (self.exclusive_maximum and self.maximum is None):
            raise ValueError("a Range can exclude only a bound that it has")
        if self.minimum == self.maximum and (self.exclusive_minimum or self.exclusive_maximum):
            raise ValueError(f"no number is in a Range that excludes its only one, {self.minimum}")


class MultipleOf(_WithFields, frozen=True):
    """The number is a multiple of this one: a whole number, because with a fraction the server refuses too much."""

    factor: int
    places: ClassVar = frozenset({"integer", "number"})

    def __post_init__(self) -> None:
        factor: object = self.factor
        if not isinstance(factor, int) or isinstance(factor, bool) or factor <= 0:
            raise ValueError(f"MultipleOf needs a whole number above 0, not {factor!r}")


class Length(_WithFields, frozen=True):
    """How many characters a text has."""

    minimum: int | None = None
    maximum: int | None = None
    places: ClassVar = frozenset({"string", "int-or-string"})

    def __post_init__(self) -> None:
        _count("the minimum of a Length", self.minimum)
        _count("the maximum of a Length", self.maximum)
        _bounds(self, self.minimum, self.maximum)


class Pattern(_WithFields, frozen=True):
    """A regular expression that is found in the text; anchor it with `^` and `$` to mean the whole text.

    The syntax is Go's (RE2): no look-around, no back references.
    """

    regex: str
    places: ClassVar = frozenset({"string", "int-or-string"})

    def __post_init__(self) -> None:
        try:
            check_pattern(self.regex)
        except InvalidPattern as error:
            raise ValueError(f"{self.regex!r} is not a pattern that the API server understands: {error}") from None


class Format(_WithFields, frozen=True):
    """What a text or a number stands for: `uri`, `ipv4`, `cidr`, `uuid`, `duration`, `int32`, ...

    Only formats that the API server checks are taken; others it would ignore. None takes away the format that a number
    has by itself.
    """

    name: str | None
    places: ClassVar = frozenset({"string", "integer", "number"})

    def __post_init__(self) -> None:
        known = STRING_FORMATS | NUMBER_FORMATS.keys()
        if self.name is not None and self.name not in known:
            raise ValueError(
                f"the API server does not know the format {self.name!r}; it knows {', '.join(sorted(known))}"
            )


class Items(_WithFields, frozen=True):
    """How many elements a list has."""

    minimum: int | None = None
    maximum: int | None = None
    places: ClassVar = frozenset({"array"})

    def __post_init__(self) -> None:
        _count("the minimum of Items", self.minimum)
        _count("the maximum of Items", self.maximum)
        _bounds(self, self.minimum, self.maximum)


class Properties(_WithFields, frozen=True):
    """How many members a map or a model has."""

    minimum: int | None = None
    maximum: int | None = None
    places: ClassVar = frozenset({"object"})

    def __post_init__(self) -> None:
        _count("the minimum of Properties", self.minimum)
        _count("the maximum of Properties", self.maximum)
        _bounds(self, self.minimum, self.maximum)


class Choices(Constraint):
    """The only values that are allowed. Unlike a `Literal` or an `Enum`, an object with another value still decodes."""

    __slots__ = ("values",)
    places: ClassVar = frozenset({"string", "integer", "number", "boolean"})

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
    """How the server merges a list: `atomic` as one value, `set` by its elements, `map` by keys of its elements.

    A set has no element twice, a map no two elements with the same keys; this is how CRDs say "unique". The client's
    `update` tells the elements apart by the same keys.
    """

    __slots__ = ("keys", "type")
    places: ClassVar = frozenset({"array"})

    def __init__(self, type: Literal["atomic", "set", "map"], keys: Sequence[str] = ()) -> None:  # noqa: A002
        if type not in ("atomic", "set", "map"):
            raise ValueError(f'a list is of type "atomic", "set" or "map", not {type!r}')
        if isinstance(keys, str):
            raise TypeError(f"the keys of a list are a list of names: keys=[{keys!r}]")
        if (type == "map") != bool(keys):
            raise ValueError('a list of type "map" needs keys, and only such a list has them')
        if len(set(keys)) < len(keys):
            raise ValueError(f"a key is named twice: {', '.join(keys)}")
        self.type = type
        self.keys = tuple(keys)

    def __repr__(self) -> str:
        return f"ListType({self.type!r}, keys={list(self.keys)!r})" if self.keys else f"ListType({self.type!r})"


class MapType(_WithFields, frozen=True):
    """How the server merges a map or a model: `granular` by its members (as it does anyway), `atomic` as one value."""

    type: Literal["granular", "atomic"]
    places: ClassVar = frozenset({"object"})

    def __post_init__(self) -> None:
        if self.type not in ("granular", "atomic"):
            raise ValueError(f'a map is of type "granular" or "atomic", not {self.type!r}')


_ANYWHERE: Final = frozenset(
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


class Example(_WithFields, frozen=True, eq=False):  # an annotation must be hashable
    """An example of a value, for those who read the schema."""

    value: Any
    places: ClassVar = _ANYWHERE


class Nullable(_WithFields, frozen=True):
    """The server accepts null for this field. Without it, a field that may be None may be absent, but not null.

    `Nullable(False)` is for `JSON`, which accepts null by itself.
    """

    allowed: bool = True
    places: ClassVar = _ANYWHERE


class Immutable(_WithFields, frozen=True):
    """The field keeps the value it was created with: it can be neither changed, nor added or removed later."""

    message: str = "is immutable"
    places: ClassVar = _ANYWHERE - {"any"}

    def __post_init__(self) -> None:
        _one_line("the message of Immutable", self.message)


class EmbeddedResource(_WithFields, frozen=True):
    """The value is a whole Kubernetes object: the server checks its apiVersion, kind and metadata."""

    places: ClassVar = frozenset({"object", "any"})


class PreserveUnknown(_WithFields, frozen=True):
    """The server keeps members that the model does not have, instead of dropping them."""

    places: ClassVar = frozenset({"object", "any"})


class Schema(_WithFields, frozen=True, eq=False):  # an annotation must be hashable
    """What the schema says here beyond, or other than, what follows from the type: for what no other rule can say.

    Each member replaces that of the schema, and None takes it away; `properties` are changed one by one in the same
    way. It has the last word, and nobody checks it but the server: prefer the other rules where they can say it.
    """

    members: dict[str, Any]
    places: ClassVar = _ANYWHERE

    def __post_init__(self) -> None:
        members: object = self.members
        if not isinstance(members, dict) or not members or not all(isinstance(name, str) for name in members):
            raise ValueError(f"a Schema needs members by their names in the schema, not {members!r}")


RuleReason = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"]
_REASONS: Final = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")


class Rule(_WithFields, frozen=True):
    """A CEL expression that must be true of `self`; with `oldSelf` in it, of a change.

    The API server checks it; so does `validate`, where the extra `cel` is installed. `message` is what is said when the
    expression is false, `message_expression` a CEL expression that makes that text, `field_path` the member to blame
    (`.spec.name`), `optional_old_self` lets a rule with `oldSelf` also run when an object is created.
    """

    rule: str
    message: str | None = None
    message_expression: str | None = None
    reason: RuleReason | None = None
    field_path: str | None = None
    optional_old_self: bool | None = None
    places: ClassVar = _ANYWHERE - {"any"}
    repeatable: ClassVar = True

    def __post_init__(self) -> None:
        if not self.rule.strip():
            raise ValueError("a Rule needs a CEL expression")
        if self.message is not None:
            _one_line("the message of a Rule", self.message)
        elif "\n" in self.rule.strip():
            raise ValueError("a Rule of several lines needs a message, because its text cannot serve as one")
        if self.message_expression is not None and not self.message_expression.strip():
            raise ValueError("the message_expression of a Rule must not be empty")
        if self.reason is not None and self.reason not in _REASONS:
            raise ValueError(f"the reason of a Rule is one of {', '.join(_REASONS)}, not {self.reason!r}")
        if self.field_path is not None and not re.fullmatch(r"[.\[].+", self.field_path):
            raise ValueError(f"the field_path of a Rule begins with a dot, as in .name, not {self.field_path!r}")
        if self.optional_old_self is not None and not self.uses_old_self:
            raise ValueError(f"optional_old_self has a meaning only for a rule that uses oldSelf: {self.rule}")

    @property
    def uses_old_self(self) -> bool:
        """Whether the rule compares with the object as it was."""
        return re.search(r"\boldSelf\b", self.rule) is not None


class _OneOf(Constraint):
    __slots__ = ("names",)
    places: ClassVar = frozenset({"object"})
    repeatable: ClassVar = True
    words: ClassVar[str]
    comparison: ClassVar[Comparison]

    def __init__(self, *names: str) -> None:
        if len(set(names)) < max(2, len(names)):
            raise ValueError(f"{type(self).__name__} needs two or more different names of fields, not {names!r}")
        self.names = names

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.names))})"

    @property
    def message(self) -> str:
        """What the server says when the rule is broken."""
        return f"{self.words} of {', '.join(self.names)} must be set"


class ExactlyOneOf(_OneOf):
    """One of these fields is set, and only one. For `@constrain`."""

    __slots__ = ()
    words: ClassVar = "exactly one"
    comparison: ClassVar = "=="


class AtMostOneOf(_OneOf):
    """No two of these fields are set together. For `@constrain`."""

    __slots__ = ()
    words: ClassVar = "at most one"
    comparison: ClassVar = "<="


class AtLeastOneOf(_OneOf):
    """One of these fields is set, or more of them. For `@constrain`."""

    __slots__ = ()
    words: ClassVar = "at least one"
    comparison: ClassVar = ">="


def constrain(*constraints: Constraint) -> Callable[[ModelT], ModelT]:
    """Rules for a model as a whole, wherever it is used: a decorator of its class, below `@resource` if it is a kind.

    Takes `Rule`, `ExactlyOneOf`, `AtMostOneOf`, `AtLeastOneOf`, `Properties`, `MapType`, `PreserveUnknown`, `Example`,
    `Schema`.
    """
    for constraint in constraints:
        if not isinstance(constraint, Constraint):
            raise TypeError(f"@constrain takes rules such as Rule(...), not {constraint!r}")
        if not isinstance(constraint, Rule | _OneOf | Properties | MapType | PreserveUnknown | Example | Schema):
            raise TypeError(f"{type(constraint).__name__} is a rule for a field, not for a whole model")

    def decorate(model: ModelT) -> ModelT:
        given: object = model
        if not (isinstance(given, type) and issubclass(given, Model)):
            raise TypeError(f"@constrain is for classes that derive from Model, not for {model!r}")
        if "__resource__" in vars(model):
            raise TypeError(f"{model.__name__} is a kind already: put @constrain below @resource")
        for constraint in constraints:
            if isinstance(constraint, _OneOf):
                for name in constraint.names:
                    if name not in model.__struct_encode_fields__:
                        raise TypeError(
                            f"{type(constraint).__name__} of {model.__name__} names {name!r}, which is no field of it;"
                            f" it has {', '.join(model.__struct_encode_fields__)}"
                        )
        model.__constraints__ = (*constraints_of(model), *constraints)  # type: ignore[attr-defined]
        return model

    return decorate


def constraints_of(model: type) -> tuple[Constraint, ...]:
    """The rules that `@constrain` gave to a model, those of its bases included."""
    return getattr(model, "__constraints__", ())


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _one_line(what: str, text: object) -> None:
    if not isinstance(text, str) or not text.strip() or "\n" in text:
        raise ValueError(f"{what} must be one line of text, not {text!r}")
