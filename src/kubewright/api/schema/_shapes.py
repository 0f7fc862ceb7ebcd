"""The meaning of annotations in JSON, one level at a time.

`shape_of` reads `Annotated[list[Port], ListType(...)] | None` as an optional array of Port with a constraint. Schemas,
JSON paths and the checks of constraints are built on it.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, NewType, TypeVar, Union, get_args, get_origin
from uuid import UUID

import msgspec

from kubewright.api._model import Model, fields_of
from kubewright.api._pydantic import is_pydantic
from kubewright.api._quantity import Quantity
from kubewright.api._time import MicroTime
from kubewright.api._untyped import Untyped
from kubewright.api.schema._constraints import Constraint, ListType

__all__ = [
    "NotExpressible",
    "NotReadable",
    "Shape",
    "declared_keys",
    "fields_of",
    "is_builtin",
    "list_keys_of",
    "shape_of",
]


class NotExpressible(TypeError):
    """A type that the schema of a CRD cannot express."""


class NotReadable(NotExpressible):
    """A type that cannot be part of a model: no JSON can be decoded into it."""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """A type in JSON. `category` decides which constraints apply, `type` is the type in the schema."""

    category: str
    model: builtins.type[Model] | None = None
    pydantic_model: Any = None  # a pydantic model
    variants: tuple[builtins.type[Model], ...] = ()
    type: str | None = None
    format: str | None = None
    enum: tuple[str | int | bool, ...] = ()
    element: Any = None
    optional: bool = False
    constraints: tuple[Constraint, ...] = ()


_SCALARS: Final[dict[Any, dict[str, str]]] = {
    str: {"category": "string", "type": "string"},
    int: {"category": "integer", "type": "integer", "format": "int64"},
    float: {"category": "number", "type": "number", "format": "double"},
    bool: {"category": "boolean", "type": "boolean"},
    bytes: {"category": "formatted", "type": "string", "format": "byte"},
    datetime: {"category": "formatted", "type": "string", "format": "date-time"},
    MicroTime: {"category": "formatted", "type": "string", "format": "date-time"},
    date: {"category": "formatted", "type": "string", "format": "date"},
    UUID: {"category": "formatted", "type": "string", "format": "uuid"},
    Quantity: {"category": "quantity"},
    Any: {"category": "any"},
    msgspec.Raw: {"category": "any"},
}
_HINTS: Final[dict[Any, str]] = {
    timedelta: 'use a string: Annotated[str, Format("duration")]',
    set: 'use a list: Annotated[list[...], ListType("set")]',
    frozenset: 'use a list: Annotated[list[...], ListType("set")]',
    tuple: "use a list",
    bytearray: "use bytes",
}
_ABSENT: Final = (NoneType, msgspec.UnsetType)
_BY_TYPE: Final = ListType("map", keys=["type"])
_VALIDATING_META: Final = ("gt", "ge", "lt", "le", "multiple_of", "pattern", "min_length", "max_length")


def shape_of(hint: Any, where: str) -> Shape:
    """Returns the shape of an annotation.

    Raises TypeError for an invalid constraint, and `NotExpressible` for a type without a schema.
    """
    plain, optional, metadata = _unwrap(hint)
    constraints = tuple(_constraints(metadata, where))
    if _is_conditions(plain) and not any(isinstance(found, ListType) for found in constraints):
        constraints = (_BY_TYPE, *constraints)
    return Shape(**_shape(plain, metadata, where), optional=optional, constraints=constraints)


def list_keys_of(model: type[Model]) -> dict[str, tuple[str, ...]]:
    """Returns the keys that identify the elements of a model's lists, by JSON name; () for sets."""
    declared: dict[str, tuple[str, ...]] = dict(getattr(model, "__list_keys__", {}))
    for field_ in fields_of(model):
        if (keys := declared_keys(field_.type)) is not None:
            declared[field_.encode_name] = keys
    return declared


def declared_keys(hint: Any) -> tuple[str, ...] | None:
    """Returns the keys that a `ListType` in an annotation declares; () for sets. Conditions are identified by type."""
    plain, _, metadata = _unwrap(hint)
    for found in metadata:
        if isinstance(found, ListType):
            return found.keys if found.type != "atomic" else None
    return _BY_TYPE.keys if _is_conditions(plain) else None


def _is_conditions(plain: Any) -> bool:
    """Whether this is `list[Condition]`: by Kubernetes' conventions a map by type."""
    if get_origin(plain) is not list:
        return False
    element = _unwrap(get_args(plain)[0])[0]
    return getattr(element, "__name__", "") == "Condition" and element.__module__ == "kubewright.api.meta.v1"


def is_builtin(model: type) -> bool:
    """Whether the model is one of Kubernetes' own."""
    return model.__module__.startswith("kubewright.api.")


def _unwrap(hint: Any) -> tuple[Any, bool, list[Any]]:
    """Returns the plain type, whether None is allowed, and the annotations."""
    optional = False
    metadata: list[Any] = []
    while True:
        if get_origin(hint) is Annotated:
            hint, *found = get_args(hint)
            metadata += found
        elif get_origin(hint) in (Union, UnionType):
            others = [argument for argument in get_args(hint) if argument not in _ABSENT]
            optional = optional or len(others) < len(get_args(hint))
            if len(others) != 1:
                return Union[tuple(others)], optional, metadata  # noqa: UP007
            hint = others[0]
        elif isinstance(hint, NewType):
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":  # `type Port = ...`, Python 3.12
            hint = hint.__value__
        elif get_origin(hint) is Literal and None in get_args(hint):
            optional = True
            hint = Literal[tuple(value for value in get_args(hint) if value is not None)]
        else:
            return hint, optional, metadata


def _constraints(metadata: list[Any], where: str) -> Iterator[Constraint]:
    seen: set[type] = set()
    for found in metadata:
        if isinstance(found, type) and issubclass(found, Constraint):
            raise TypeError(f"{where}: write {found.__name__}(...), not the class {found.__name__}")
        if isinstance(found, msgspec.Meta) and any(getattr(found, name) is not None for name in _VALIDATING_META):
            raise TypeError(
                f"{where}: msgspec.Meta with constraints would make stored objects unreadable;"
                " use Range, Length or Pattern"
            )
        if isinstance(found, Constraint):
            if type(found) in seen and not found.repeatable:
                raise TypeError(f"{where}: {type(found).__name__} is given twice")
            seen.add(type(found))
            yield found


def _shape(plain: Any, metadata: list[Any], where: str) -> dict[str, Any]:
    origin, arguments = get_origin(plain), get_args(plain)
    try:
        if plain in _SCALARS:
            return dict(_SCALARS[plain])
    except TypeError:  # not hashable, so not a known scalar
        pass
    if origin is Union:
        return _union(arguments, where)
    if origin is Literal:
        return _enum(arguments, where)
    if plain is list or origin is list:
        return {"category": "array", "type": "array", "element": arguments[0] if arguments else Any}
    if plain is dict or origin is dict:
        key, element = arguments or (str, Any)
        if key is not str:
            raise NotExpressible(f"{where}: the keys of a map are strings: dict[str, ...], not {_name(plain)}")
        return {"category": "object", "type": "object", "element": element}
    if isinstance(plain, type):
        if issubclass(plain, Enum):
            return _enum(tuple(member.value for member in plain), where)
        if issubclass(plain, Untyped):
            raise NotExpressible(
                f"{where}: an Untyped cannot be part of another object: "
                "use Annotated[dict[str, JSON], EmbeddedResource()]"
            )
        if issubclass(plain, Model):
            return {"category": "object", "type": "object", "model": plain}
        if is_pydantic(plain):
            return {"category": "object", "type": "object", "pydantic_model": plain}
    if isinstance(plain, TypeVar):
        raise NotExpressible(f"{where}: the type variable {plain} has no value here")
    if _is_unsupported(plain):
        raise NotReadable(
            f"{where}: a field of a Kubernetes object cannot be a {_name(plain)}; use str, int, float, bool, datetime,"
            " Quantity, a list or dict of these, a Model, or JSON"
        )
    hint = _HINTS.get(origin or plain, "") or _hint_for_class(plain)
    raise NotExpressible(f"{where}: a CRD has no schema for {_name(plain)}{'; ' + hint if hint else ''}")


def _hint_for_class(plain: Any) -> str:
    """Returns the fix for a class with fields that is not a model, such as a dataclass or a TypedDict."""
    if isinstance(plain, type) and getattr(plain, "__annotations__", None):
        return f"make it a model: class {plain.__name__}(kw.Model)"
    return ""


def _is_unsupported(plain: Any) -> bool:
    """Whether msgspec cannot decode the type."""
    from msgspec.inspect import CustomType, type_info

    try:
        return isinstance(type_info(plain), CustomType)
    except TypeError:
        return False


def _union(arguments: tuple[Any, ...], where: str) -> dict[str, Any]:
    kinds = set(arguments)
    if kinds == {int, str}:
        return {"category": "int-or-string"}
    if kinds == {int, float}:
        return dict(_SCALARS[float])
    models = [kind for kind in arguments if isinstance(kind, type) and issubclass(kind, Model)]
    if len(models) == len(arguments):
        configs = [model.__struct_config__ for model in models]
        if all(isinstance(config.tag, str) for config in configs) and len({c.tag_field for c in configs}) == 1:
            return {"category": "object", "type": "object", "variants": tuple(models)}
        raise NotExpressible(
            f"{where}: a union of models needs a tag that identifies the model:"
            f' class {models[0].__name__}(Model, tag="...", tag_field="type")'
        )
    names = " | ".join(map(_name, arguments))
    raise NotExpressible(f"{where}: a CRD cannot express the union {names}; use JSON, or one field for each")


def _enum(values: tuple[Any, ...], where: str) -> dict[str, Any]:
    for type_, name in ((str, "string"), (int, "integer")):
        if values and all(isinstance(value, type_) and not isinstance(value, bool) for value in values):
            return {"category": "enum", "type": name, "enum": tuple(type_(value) for value in values)}
    raise NotExpressible(f"{where}: the values of an enum are all strings or all integers, not {values!r}")


def _name(type_: Any) -> str:
    return getattr(type_, "__name__", None) if isinstance(type_, type) and not get_args(type_) else str(type_)  # type: ignore[return-value]
