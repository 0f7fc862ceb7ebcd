"""Calls with arguments of unknown types: the signatures are compared with the values at evaluation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kubewright.api.cel._declarations import Overload, functions
from kubewright.api.cel._types import Type
from kubewright.api.cel._values import EvaluationError, Struct, no_overload, type_of_value

__all__ = ["guarded"]

_SILENT: Final = frozenset({"contains", "startsWith", "endsWith", "matches", "find", "findAll"})
_NAMES: Final = {
    "null": "null_type",
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
}


def guarded(function: str, implementation: Callable[..., Any], *, is_member: bool) -> Callable[..., Any]:
    """Returns the function with a check that the arguments fit one of its signatures."""
    overloads = [overload for overload in functions()[function] if overload.is_member is is_member]

    def call(*values: Any) -> Any:
        # It also accepts a list that is already flat.
        flat = function == "flatten" and isinstance(values[0], list) and all(type(each) is int for each in values[1:])
        if not flat and not any(_accepts(overload, values) for overload in overloads):
            raise _refusal(function, values)
        return implementation(*values)

    return call


def _refusal(function: str, values: tuple[Any, ...]) -> EvaluationError:
    """Returns the error. Errors of CEL's own functions do not contain the argument types."""
    if function == "size":
        return EvaluationError("no such overload: size")
    if function in _SILENT or not function[0].isalpha():
        return no_overload()
    names = [_NAMES.get(type_of_value(value).name, type_of_value(value).name) for value in values]
    if function == "flatten":
        return EvaluationError(f"no such overload: {names[0]}.flatten({', '.join(names[1:])})")
    return EvaluationError(f"no such overload: {function}({', '.join(names)})")


def _accepts(overload: Overload, values: tuple[Any, ...]) -> bool:
    return len(values) == len(overload.arguments) and all(map(_fits, values, overload.arguments))


def _fits(value: Any, type_: Type) -> bool:
    match type_.kind:
        case "parameter" | "dyn":
            return True
        case "list":
            return isinstance(value, list) and all(_fits(element, type_.parameters[0]) for element in value)
        case "map":
            return isinstance(value, dict | Struct)
        case _:
            return type_of_value(value).name == type_.name
