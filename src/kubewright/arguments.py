"""Options that are checked where they are written: a typo fails at import, and the error names the valid ones."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import ParamSpec, TypeVar

from kubewright.suggestions import nearest

__all__ = ["Unsuitable", "are_texts", "are_texts_by_name", "check_text", "known_options", "unknown_name"]

P = ParamSpec("P")
T = TypeVar("T")


class Unsuitable(ValueError):
    """What the value should have been: the words between "is" and "not"."""


def check_text(what: str, given: object, such_as: str) -> str:
    """A text; anything else is refused with what would be one."""
    if not isinstance(given, str):
        raise TypeError(f"{what} is a text, such as {such_as}, not {given!r}")
    return given


def are_texts(given: object) -> bool:
    """Whether it is a list of texts, or the like. A text alone is none: its letters are not what was meant."""
    return isinstance(given, Collection) and not isinstance(given, str) and all(isinstance(one, str) for one in given)


def are_texts_by_name(given: object) -> bool:
    """Whether it is a dict of texts, or the like."""
    return isinstance(given, Mapping) and are_texts(given) and are_texts(given.values())


def unknown_name(what: str, name: str, valid: Iterable[str]) -> str:
    """The sentence for a name that does not exist: the nearest one, and all of them."""
    names = sorted(valid)
    meant = nearest(name, names)
    hint = f" Did you mean {meant!r}?" if meant else ""
    return f"{what} has no option {name!r}.{hint} The options are: {', '.join(names)}"


def known_options(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function answer an unknown keyword with the valid ones, where Python would only say that it is unknown."""
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
