"""Checks of options at the call: a typo fails at import, with the list of valid options."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import ParamSpec, TypeVar

from kubewright.suggestions import nearest

__all__ = [
    "InvalidValue",
    "check_string",
    "is_string_collection",
    "is_string_mapping",
    "known_fields",
    "known_options",
    "unknown_name",
]

P = ParamSpec("P")
T = TypeVar("T")


class InvalidValue(ValueError):
    """An invalid value. The message describes a valid one: the words between "is" and "not" in an error."""


def check_string(what: str, given: object, example: str) -> str:
    """Returns a string. Raises TypeError, with an example, for anything else."""
    if not isinstance(given, str):
        raise TypeError(f"{what} must be a string, such as {example}, not {given!r}")
    return given


def is_string_collection(given: object) -> bool:
    """Whether it is a collection of strings. A single string is not: its characters are not meant as elements."""
    return isinstance(given, Collection) and not isinstance(given, str) and all(isinstance(one, str) for one in given)


def is_string_mapping(given: object) -> bool:
    """Whether it is a mapping of strings to strings."""
    return isinstance(given, Mapping) and is_string_collection(given) and is_string_collection(given.values())


def unknown_name(what: str, name: str, valid: Iterable[str]) -> str:
    """Returns the message for an unknown option: the closest one, and all of them."""
    names = sorted(valid)
    meant = nearest(name, names)
    hint = f" Did you mean {meant!r}?" if meant else ""
    return f"{what} has no option {name!r}.{hint} The options are: {', '.join(names)}"


def known_options(function: Callable[P, T]) -> Callable[P, T]:
    """Makes a function reject an unknown keyword argument with a message that lists the valid ones."""
    parameters = inspect.signature(function).parameters.values()
    valid = [parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY]
    accepted = {parameter.name for parameter in parameters}
    shown = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        for option in kwargs:
            if option not in accepted:
                raise TypeError(unknown_name(shown, option, valid))
        return function(*args, **kwargs)

    return call


def known_fields(cls: type[T]) -> type[T]:
    """Makes a dataclass reject an unknown field with a message that lists the valid ones."""
    cls.__init__ = known_options(cls.__init__)  # type: ignore[method-assign]
    return cls
