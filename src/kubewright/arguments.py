"""Checks of options at the call: a typo fails at import, with the list of valid options."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import ParamSpec, TypeVar

from kubewright.suggestions import nearest

__all__ = [
    "LONGEST_FIELD_MANAGER",
    "InvalidValue",
    "check_field_manager",
    "check_string",
    "check_word",
    "first_bytes",
    "is_string_collection",
    "is_string_mapping",
    "known_fields",
    "known_options",
    "unknown_name",
]

P = ParamSpec("P")
T = TypeVar("T")

LONGEST_FIELD_MANAGER = 128
"""The API server's limit for the name of a field manager, in bytes, not characters."""


class InvalidValue(ValueError):
    """An invalid value. The message describes a valid one: the words between "is" and "not" in an error."""


def check_string(what: str, given: object, example: str) -> str:
    """Returns a string. Raises TypeError, with an example, for anything else."""
    if not isinstance(given, str):
        raise TypeError(f"{what} must be a string, such as {example}, not {given!r}")
    return given


def check_word(what: str, given: object, example: str) -> str:
    """Returns a string without spaces and unprintable characters. Raises ValueError for another one, also for ""."""
    word = check_string(what, given, example)
    if not word or not word.isprintable() or any(letter.isspace() for letter in word):
        raise ValueError(f"{what} must be one word without spaces, such as {example}, not {given!r}")
    return word


def check_field_manager(given: object, what: str = "field_manager") -> str:
    """Returns the name of a field manager. Raises ValueError for one that the API server rejects."""
    name = check_string(what, given, "site-operator")
    if not name or not name.isprintable():
        raise ValueError(f"{what} must be printable characters, such as site-operator, not {name!r}")
    if (size := len(name.encode())) > LONGEST_FIELD_MANAGER:
        shown = f"{name[:40]}..."
        raise ValueError(
            f"{what} must be at most {LONGEST_FIELD_MANAGER} bytes, and {shown!r} has {size}: use a shorter name"
        )
    return name


def first_bytes(text: str, size: int) -> str:
    """Returns the longest beginning of a string that takes at most `size` bytes."""
    return text.encode()[:size].decode(errors="ignore")


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
    """Makes a function reject wrong arguments with a message that lists the valid ones."""
    parameters = inspect.signature(function).parameters.values()
    valid = [parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY]
    accepted = {parameter.name for parameter in parameters}
    has_rest = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    positional = [one for one in parameters if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    shown = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        for option in kwargs:
            if option not in accepted and not has_rest:
                unset = [one.name for one in positional[len(args) :] if one.name not in ("self", *kwargs)]
                raise TypeError(unknown_name(shown, option, [*unset, *valid]))
        if len(args) > len(positional):
            raise TypeError(_too_many(shown, positional, valid))
        required = [one.name for one in positional[len(args) :] if one.default is one.empty and one.name not in kwargs]
        if required:
            raise TypeError(f"{shown} needs {' and '.join(required)}: {_usage(shown, positional, valid)}")
        return function(*args, **kwargs)

    return call


def _too_many(shown: str, positional: Sequence[inspect.Parameter], options: Sequence[str]) -> str:
    hint = f"; pass options by name: {', '.join(options)}" if options else ""
    return f"too many positional arguments for {shown}: {_usage(shown, positional, options)}{hint}"


def _usage(shown: str, positional: Sequence[inspect.Parameter], options: Sequence[str]) -> str:
    names = [one.name for one in positional if one.name != "self"]
    return f"{shown}({', '.join([*names, '...'] if options else names)})"


def known_fields(cls: type[T]) -> type[T]:
    """Makes a dataclass reject an unknown field with a message that lists the valid ones."""
    cls.__init__ = known_options(cls.__init__)  # type: ignore[method-assign]
    return cls
