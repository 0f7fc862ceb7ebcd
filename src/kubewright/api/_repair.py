"""Fills in Go's zero values where a required field of a built-in kind is null or missing.

In the OpenAPI document, a field is required if Go always writes it. But Go writes a nil list as null, and older objects
lack fields that newer servers require. Go's clients read such fields as zero values, and so does Kubewright. Models of
users are not repaired: there, a missing field is an error.
"""

from __future__ import annotations

from datetime import datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from kubewright.api._model import Model, fields_of

__all__ = ["repair", "without_none"]

_ZEROS: dict[Any, object] = {str: "", int: 0, float: 0.0, bool: False, datetime: "0001-01-01T00:00:00Z", bytes: ""}


def repair(type_: Any, content: Any) -> Any:
    """Returns the content with zero values filled in, inside built-in models only."""
    type_, optional = without_none(type_)
    if isinstance(type_, type) and issubclass(type_, Model):
        if content is None and not optional:
            content = {}
        return _repair_model(type_, content) if isinstance(content, dict) else content
    if content is None:
        return None if optional else _zero(type_)
    arguments = get_args(type_)
    if get_origin(type_) is list and isinstance(content, list):
        return [repair(arguments[0], item) for item in content]
    if get_origin(type_) is dict and isinstance(content, dict):
        return {key: repair(arguments[1], item) for key, item in content.items()}
    return content


def _repair_model(model: type[Model], content: dict[str, Any]) -> dict[str, Any]:
    lenient = model.__module__.startswith("kubewright.api.")
    repaired = dict(content)
    for field in fields_of(model):
        name = field.encode_name
        _, optional = without_none(field.type)
        if name in content:
            if content[name] is None and not optional:
                if lenient or not field.required:
                    repaired.pop(name)
                    if field.required:
                        repaired[name] = repair(field.type, None)
                continue
            repaired[name] = repair(field.type, content[name])
        elif field.required and lenient:
            repaired[name] = repair(field.type, None)
    return repaired


def without_none(type_: Any) -> tuple[Any, bool]:
    """Returns the type without Annotated and None, and whether None was allowed."""
    if get_origin(type_) is Annotated:
        return without_none(get_args(type_)[0])
    if get_origin(type_) in (Union, UnionType):
        others = [argument for argument in get_args(type_) if argument is not NoneType]
        optional = len(others) < len(get_args(type_))
        return (without_none(others[0])[0], optional) if len(others) == 1 else (Union[tuple(others)], optional)  # noqa: UP007
    return type_, type_ is Any or type_ is NoneType


def _zero(type_: Any) -> object:
    if get_origin(type_) is list:
        return []
    if get_origin(type_) is dict:
        return {}
    if get_origin(type_) is Union:  # int-or-string
        return 0
    return _ZEROS.get(type_, "0" if getattr(type_, "__name__", "") == "Quantity" else None)
