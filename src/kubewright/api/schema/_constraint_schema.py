"""Writes constraints into schemas, and checks that they apply to the type of their field."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from kubewright.api._object import Object
from kubewright.api._values import JSON, enc_hook
from kubewright.api.schema._cel import cel_name, one_of
from kubewright.api.schema._constraints import (
    NUMBER_FORMATS,
    Choices,
    Constraint,
    EmbeddedResource,
    Example,
    Format,
    Immutable,
    Items,
    Length,
    ListType,
    MapType,
    MultipleOf,
    Nullable,
    Pattern,
    PreserveUnknown,
    Properties,
    Range,
    Schema,
)
from kubewright.api.schema._model_constraints import OneOf, Rule
from kubewright.api.schema._paths import shape_at
from kubewright.api.schema._shapes import NotExpressible, Shape

__all__ = ["add_constraint", "amend", "check_rule", "immutable_rule", "plain_json"]

_NAMES: Final = {"formatted": "a string with its own format", "any": "any JSON", "int-or-string": "IntOrString"}


def add_constraint(schema: dict[str, Any], shape: Shape, constraint: Constraint, where: str, *, old_self: bool) -> None:
    """Writes a constraint into a schema. Raises TypeError if it does not apply to the shape."""
    name = type(constraint).__name__
    if shape.category not in constraint.categories:
        meant = ", ".join(sorted(constraint.categories))
        here = _NAMES.get(shape.category, shape.category)
        raise TypeError(f"{where}: {name} is for {meant}; this is {here}")
    match constraint:
        case Range():
            _set(schema, minimum=_number(constraint.minimum), maximum=_number(constraint.maximum))
            _set(schema, exclusiveMinimum=constraint.exclusive_minimum or None)
            _set(schema, exclusiveMaximum=constraint.exclusive_maximum or None)
        case MultipleOf():
            schema["multipleOf"] = constraint.factor
        case Length():
            _set(schema, minLength=constraint.minimum, maxLength=constraint.maximum)
        case Pattern():
            schema["pattern"] = constraint.regex
        case Format(name=None):
            schema.pop("format", None)
        case Format():
            if NUMBER_FORMATS.get(str(constraint.name), "string") != shape.type:
                raise TypeError(f"{where}: the format {constraint.name} is not for {shape.type}")
            schema["format"] = constraint.name
        case Items():
            _set(schema, minItems=constraint.minimum, maxItems=constraint.maximum)
        case Properties():
            _set(schema, minProperties=constraint.minimum, maxProperties=constraint.maximum)
        case Choices():
            _add_choices(schema, shape, constraint, where)
        case ListType():
            schema["x-kubernetes-list-type"] = constraint.type
            if constraint.keys:
                schema["x-kubernetes-list-map-keys"] = list(constraint.keys)
        case MapType():
            schema["x-kubernetes-map-type"] = constraint.type
        case Example():
            schema["example"] = plain_json(constraint.value)
        case Nullable():
            _allow_null(schema, constraint, where)
        case EmbeddedResource():
            _embed(schema, shape, where)
        case PreserveUnknown():
            schema["x-kubernetes-preserve-unknown-fields"] = True
            if shape.element in (Any, JSON):
                del schema["additionalProperties"]  # it would be redundant
        case Schema():
            pass  # `amend` applies it last
        case Immutable():
            check_old_self(where, old_self=old_self)
            add_rule(schema, {"rule": "self == oldSelf", "message": constraint.message})
        case Rule():
            check_rule(constraint, shape, where, old_self=old_self)
            add_rule(schema, _rule(constraint))
        case OneOf():
            rule = one_of(constraint.names, constraint.comparison)
            add_rule(schema, {"rule": rule, "message": constraint.message})
        case _:
            raise TypeError(f"{where}: {name} cannot be written into a schema")


def amend(schema: dict[str, Any], constraints: Iterable[Constraint]) -> None:
    """Applies each `Schema` among the constraints. Call it last."""
    for constraint in constraints:
        if isinstance(constraint, Schema):
            _amend(schema, constraint.members)


def _amend(schema: dict[str, Any], members: Mapping[str, Any]) -> None:
    for name, value in members.items():
        if value is None:
            schema.pop(name, None)
        elif name == "properties":
            properties = schema.setdefault(name, {})
            for field, wanted in value.items():
                if wanted is None:
                    properties.pop(field, None)
                else:
                    _amend(properties.setdefault(field, {}), wanted)
        else:
            schema[name] = plain_json(value)


def check_rule(rule: Rule, shape: Shape, where: str, *, old_self: bool) -> None:
    """Raises TypeError for a CEL rule that cannot work at its position."""
    if rule.uses_old_self:
        check_old_self(where, old_self=old_self)
    if rule.field_path is not None and shape.model is not None:
        with contextlib.suppress(NotExpressible):
            shape_at(shape.model, rule.field_path, f"{where}: the field_path of a Rule")


def check_old_self(where: str, *, old_self: bool) -> None:
    """Raises TypeError if the server cannot know the previous value at this position."""
    if not old_self:
        raise TypeError(
            f"{where}: a rule about changes (oldSelf, Immutable) cannot be below a list that is not of type "
            '"map", nor below an atomic map: the server cannot identify the previous element'
        )


def add_rule(schema: dict[str, Any], rule: dict[str, Any]) -> None:
    """Adds a CEL rule to a schema."""
    schema.setdefault("x-kubernetes-validations", []).append(rule)


def immutable_rule(field: str, message: str) -> dict[str, Any]:
    """Returns the rule that a field of a model is neither added nor removed."""
    name = cel_name(field)
    return {
        "rule": f"has(self.{name}) == has(oldSelf.{name})",
        "message": message,
        "fieldPath": f".{field}" if re.fullmatch(r"[A-Za-z_]\w*", field) else f"['{field}']",
    }


def plain_json(value: object) -> Any:
    """Returns the value as plain JSON."""
    return msgspec.json.decode(msgspec.json.encode(value, enc_hook=enc_hook))


def _allow_null(schema: dict[str, Any], nullable: Nullable, where: str) -> None:
    if nullable.allowed:
        schema["nullable"] = True
    elif schema.pop("nullable", None) is None:
        raise TypeError(f"{where}: Nullable(False) is for JSON; other types reject null by default")


def _rule(rule: Rule) -> dict[str, Any]:
    made: dict[str, Any] = {"rule": rule.rule.strip()}
    _set(made, message=rule.message, messageExpression=rule.message_expression, reason=rule.reason)
    _set(made, fieldPath=rule.field_path, optionalOldSelf=rule.optional_old_self)
    return made


def _add_choices(schema: dict[str, Any], shape: Shape, choices: Choices, where: str) -> None:
    expected: tuple[type, ...] = {"string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,)}[
        shape.category
    ]
    for value in choices.values:
        if not isinstance(value, expected) or (isinstance(value, bool) and shape.category != "boolean"):
            raise TypeError(f"{where}: Choices has {value!r}, which is not of type {shape.category}")
    schema["enum"] = list(choices.values)


def _embed(schema: dict[str, Any], shape: Shape, where: str) -> None:
    schema["x-kubernetes-embedded-resource"] = True
    if shape.variants:
        raise TypeError(f"{where}: EmbeddedResource is for one kind or for any JSON, not for a union")
    if shape.model is not None:
        if not issubclass(shape.model, Object):
            raise TypeError(
                f"{where}: EmbeddedResource is for a kind or for any JSON; {shape.model.__name__} is not a kind"
            )
        return
    # The server knows the schema of an embedded object's metadata, and keeps everything else.
    schema.pop("additionalProperties", None)
    schema.pop("nullable", None)
    schema["type"] = "object"
    schema["x-kubernetes-preserve-unknown-fields"] = True


def _number(value: float | None) -> float | None:
    """Returns 10 for 10.0."""
    return int(value) if value is not None and value == int(value) else value


def _set(schema: dict[str, Any], **members: object) -> None:
    schema.update({name: value for name, value in members.items() if value is not None})
