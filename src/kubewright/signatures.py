"""What Python knows of a function that a user hands in: what it takes, and whether it is async."""

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
    "method_of",
    "name_of",
    "place_of",
    "return_annotation_of",
    "signature_of",
]


class Signature(msgspec.Struct, frozen=True):
    """What a function takes by position."""

    whole: inspect.Signature
    parameters: list[inspect.Parameter]
    required: int
    """How many of them have no default."""


def signature_of(function: Callable[..., Any]) -> Signature:
    """What a function takes."""
    whole = _evaluated(function)
    parameters = [
        parameter
        for parameter in whole.parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    return Signature(whole, parameters, sum(parameter.default is parameter.empty for parameter in parameters))


def check_keywords(name: str, signature: Signature) -> None:
    """Refuse a function that needs an argument by name: it is called by position alone."""
    parameters = signature.whole.parameters.values()
    needed = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY and one.default is one.empty]
    if needed:
        raise TypeError(
            f"{name} needs {' and '.join(needed)}, which nobody gives it: give {needed[0]} a default, or hand in"
            f" functools.partial(..., {needed[0]}=...)"
        )


def is_async(function: Any) -> bool:
    """Whether it is a coroutine function or an async generator, or an object that is called like one."""
    call = getattr(function, "__call__", None)  # noqa: B004  # its own method, to see whether that is async
    return any(inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in (function, call))


def is_generator(function: Any) -> bool:
    """Whether it has a `yield`, so that calling it, or awaiting that, does nothing yet."""
    call = getattr(function, "__call__", None)  # noqa: B004
    return any(inspect.isgeneratorfunction(one) or inspect.isasyncgenfunction(one) for one in (function, call))


def can_take(function: Callable[..., Any], count: int) -> bool:
    """Whether it can be called with so many arguments by position; so it is where Python does not know."""
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:  # a function that is built in
        return True
    return True


def method_of(given: Any, name: str) -> Callable[..., Any]:
    """A method of an instance; of a class, as its instances will have it, plain, static or of the class."""
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
    """What to call it in a message."""
    return getattr(function, "__qualname__", None) or repr(function)


def place_of(function: Any) -> str:
    """Returns where a function is defined, ` (foo.py:12)`, to stand behind its name; empty if Python does not know."""
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return f" ({Path(code.co_filename).name}:{code.co_firstlineno})" if code is not None else ""


def return_annotation_of(function: Callable[..., Any]) -> Any:
    """Returns the type that a function is annotated to return; `inspect.Signature.empty` if there is none."""
    try:
        return _evaluated(function).return_annotation
    except (TypeError, ValueError):  # a function that is built in
        return inspect.Signature.empty


def _evaluated(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function, eval_str=True)
    except Exception:  # an annotation may name what exists for type checkers alone
        return inspect.signature(function)
