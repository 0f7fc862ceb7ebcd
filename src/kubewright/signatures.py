"""Inspects functions that users pass: their arguments, and whether they are async."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

__all__ = [
    "Signature",
    "can_take",
    "check_keywords",
    "is_async",
    "is_generator",
    "location_of",
    "method_of",
    "name_of",
    "return_annotation_of",
    "signature_of",
]


class Signature(msgspec.Struct, frozen=True):
    """The positional parameters of a function."""

    whole: inspect.Signature
    parameters: list[inspect.Parameter]
    required: int
    """The number of parameters without a default."""


def signature_of(function: Callable[..., Any]) -> Signature:
    """Returns the signature of a function."""
    whole = _evaluated(function)
    parameters = [
        parameter
        for parameter in whole.parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    return Signature(whole, parameters, sum(parameter.default is parameter.empty for parameter in parameters))


def check_keywords(name: str, signature: Signature) -> None:
    """Raises TypeError for a function with a required keyword argument: it is called with positional ones only."""
    parameters = signature.whole.parameters.values()
    needed = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY and one.default is one.empty]
    if needed:
        raise TypeError(
            f"{name} requires the keyword argument {' and '.join(needed)}, which Kubewright does not pass: give"
            f" {needed[0]} a default, or pass functools.partial(..., {needed[0]}=...)"
        )


def is_async(function: Any) -> bool:
    """Whether it is a coroutine function, an async generator function, or an object with such a `__call__`."""
    call = getattr(function, "__call__", None)  # noqa: B004  # the method, to check whether it is async
    return any(inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in (function, call))


def is_generator(function: Any) -> bool:
    """Whether it has a `yield`, so that a call does not run its body."""
    call = getattr(function, "__call__", None)  # noqa: B004
    return any(inspect.isgeneratorfunction(one) or inspect.isasyncgenfunction(one) for one in (function, call))


def can_take(function: Callable[..., Any], count: int) -> bool:
    """Whether it can be called with this number of positional arguments. True if Python does not know."""
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # a built-in function
        return True
    return True


def method_of(given: Any, name: str) -> Callable[..., Any]:
    """Returns a method of an instance, or of a class as its instances have it: plain, static or class method."""
    if isinstance(given, type):
        found = inspect.getattr_static(given, name)
        found = found.__get__(object(), given) if hasattr(type(found), "__get__") else found
        owner = given
    else:
        found, owner = getattr(given, name), type(given)
    if not callable(found):
        raise TypeError(f"{owner.__name__}.{name} must be a method, def {name}(self, ...), not {found!r}")
    method: Callable[..., Any] = found
    return method


def name_of(function: Any) -> str:
    """Returns the name of a function for messages."""
    return getattr(function, "__qualname__", None) or repr(function)


def location_of(function: Any) -> str:
    """Returns where a function is defined, as ` (foo.py:12)`; empty if Python does not know."""
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return f" ({Path(code.co_filename).name}:{code.co_firstlineno})" if code is not None else ""


def return_annotation_of(function: Callable[..., Any]) -> Any:
    """Returns the type that a function is annotated to return; `inspect.Signature.empty` if there is none."""
    try:
        return _evaluated(function).return_annotation
    except (TypeError, ValueError):  # a built-in function
        return inspect.Signature.empty


def _evaluated(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function, eval_str=True)
    except Exception:  # an annotation can name something that only type checkers import
        return inspect.signature(function)
