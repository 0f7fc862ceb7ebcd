"""Constraints on whole models: CEL rules, and how many of several fields are set.

@kw.constrain(kw.Rule("self.minimum <= self.maximum"), kw.ExactlyOneOf("secret", "configMap"))
class Source(kw.Model): ...
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar, Final, Literal, TypeVar

from kubewright.api._model import Model
from kubewright.api.schema._cel import Comparison
from kubewright.api.schema._constraints import (
    ALL_CATEGORIES,
    Constraint,
    Example,
    MapType,
    PreserveUnknown,
    Properties,
    Schema,
    StructConstraint,
    check_one_line,
    constraints_of,
)

__all__ = ["AtLeastOneOf", "AtMostOneOf", "ExactlyOneOf", "OneOf", "Rule", "constrain"]

ModelT = TypeVar("ModelT", bound="type[Model]")

RuleReason = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"]
_REASONS: Final = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")


class Rule(StructConstraint, frozen=True):
    """A CEL expression that must be true of `self`, and of changes if it uses `oldSelf`.

    The API server evaluates it. So does `validate`, if the extra `test` is installed.

    Args:
        rule: the CEL expression.
        message: the error message.
        message_expression: a CEL expression that returns the error message.
        reason: the machine-readable reason of the error.
        field_path: the member that the error names, such as `.spec.name`.
        optional_old_self: also evaluate a rule with `oldSelf` when an object is created.
    """

    rule: str
    message: str | None = None
    message_expression: str | None = None
    reason: RuleReason | None = None
    field_path: str | None = None
    optional_old_self: bool | None = None
    categories: ClassVar = ALL_CATEGORIES - {"any"}
    repeatable: ClassVar = True

    def __post_init__(self) -> None:
        if not self.rule.strip():
            raise ValueError("Rule needs a CEL expression")
        if self.message is not None:
            check_one_line("the message of a Rule", self.message)
        elif "\n" in self.rule.strip():
            raise ValueError("a Rule of several lines needs a message")
        if self.message_expression is not None and not self.message_expression.strip():
            raise ValueError("the message_expression of a Rule must not be empty")
        if self.reason is not None and self.reason not in _REASONS:
            raise ValueError(f"the reason of a Rule is one of {', '.join(_REASONS)}, not {self.reason!r}")
        if self.field_path is not None and not re.fullmatch(r"[.\[].+", self.field_path):
            raise ValueError(f"the field_path of a Rule starts with a dot, as in .name, not {self.field_path!r}")
        if self.optional_old_self is not None and not self.uses_old_self:
            raise ValueError(f"optional_old_self is only for a Rule that uses oldSelf: {self.rule}")

    @property
    def uses_old_self(self) -> bool:
        """Whether the rule compares with the previous object."""
        return re.search(r"\boldSelf\b", self.rule) is not None


class OneOf(Constraint):
    """The base of constraints on how many of several fields are set."""

    __slots__ = ("names",)
    categories: ClassVar = frozenset({"object"})
    repeatable: ClassVar = True
    words: ClassVar[str]
    comparison: ClassVar[Comparison]

    def __init__(self, *names: str) -> None:
        if len(set(names)) < max(2, len(names)):
            raise ValueError(f"{type(self).__name__} needs two or more different field names, not {names!r}")
        self.names = names

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.names))})"

    @property
    def message(self) -> str:
        """The error message of the server."""
        return f"{self.words} of {', '.join(self.names)} must be set"


class ExactlyOneOf(OneOf):
    """Exactly one of these fields is set. For `@constrain`."""

    __slots__ = ()
    words: ClassVar = "exactly one"
    comparison: ClassVar = "=="


class AtMostOneOf(OneOf):
    """At most one of these fields is set. For `@constrain`."""

    __slots__ = ()
    words: ClassVar = "at most one"
    comparison: ClassVar = "<="


class AtLeastOneOf(OneOf):
    """At least one of these fields is set. For `@constrain`."""

    __slots__ = ()
    words: ClassVar = "at least one"
    comparison: ClassVar = ">="


def constrain(*constraints: Constraint) -> Callable[[ModelT], ModelT]:
    """Adds constraints to a model as a whole: a class decorator, below `@resource` if the class is a kind.

    Accepts `Rule`, `ExactlyOneOf`, `AtMostOneOf`, `AtLeastOneOf`, `Properties`, `MapType`, `PreserveUnknown`,
    `Example` and `Schema`. Raises TypeError for others.
    """
    for constraint in constraints:
        if not isinstance(constraint, Constraint):
            raise TypeError(f"@constrain takes constraints such as Rule(...), not {constraint!r}")
        if not isinstance(constraint, Rule | OneOf | Properties | MapType | PreserveUnknown | Example | Schema):
            raise TypeError(f"{type(constraint).__name__} is a constraint for a field, not for a whole model")

    def decorate(model: ModelT) -> ModelT:
        given: object = model
        if not (isinstance(given, type) and issubclass(given, Model)):
            raise TypeError(f"@constrain is for classes that derive from Model, not for {model!r}")
        if "__resource__" in vars(model):
            raise TypeError(f"{model.__name__} is a kind already: put @constrain below @resource")
        for constraint in constraints:
            if isinstance(constraint, OneOf):
                for name in constraint.names:
                    if name not in model.__struct_encode_fields__:
                        raise TypeError(
                            f"{type(constraint).__name__} of {model.__name__} names {name!r},"
                            f" which is not one of its fields: {', '.join(model.__struct_encode_fields__)}"
                        )
        model.__constraints__ = (*constraints_of(model), *constraints)  # type: ignore[attr-defined]
        return model

    return decorate
