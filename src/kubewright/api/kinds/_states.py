"""`States`: the words by which the status of a kind names the state of an object."""

from __future__ import annotations

from typing import Final

import msgspec

from kubewright.api.schema._paths import parse_path

__all__ = ["STATES_ANNOTATION", "States"]

STATES_ANNOTATION: Final = "console.kubewright.dev/states"
"""The annotation of the CustomResourceDefinition that declares the states, as JSON."""


class States(msgspec.Struct, frozen=True):
    """The state of an object by the value of one field of its status. The console shows it instead of its own guess.

        @kw.resource("example.com/v1", states=kw.States(".status.state", ready=("InSync",), failing=("Broken",)))

    The values are those of the field, in the same case; a boolean is `true` or `false`. For any other value, the
    console derives the state from the rest of the status.

    Args:
        path: the path of the field, below `.status`.
        ready: the object works.
        progressing: the operator works on it.
        failing: it does not work, and needs attention.
        suspended: it is stopped on purpose.
        completed: its work is done. Failed reconciles do not make it failing.
    """

    path: str
    ready: tuple[str, ...] = ()
    progressing: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    suspended: tuple[str, ...] = ()
    completed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.path.startswith(".status."):
            raise ValueError(f"the path of States is below .status, not {self.path!r}")
        parse_path(self.path)
        seen: dict[str, str] = {}
        for state in self.__struct_fields__[1:]:
            words: object = getattr(self, state)
            if not isinstance(words, tuple) or not all(isinstance(word, str) and word for word in words):
                raise TypeError(f'{state} of States is a tuple of strings: {state}=("InSync",), not {words!r}')
            for word in words:
                if seen.setdefault(word, state) != state:
                    raise ValueError(f"{word!r} is both {seen[word]} and {state} in States")
        if not seen:
            raise ValueError(f'States of {self.path} names no value: States({self.path!r}, ready=("Ready",))')

    def annotation(self) -> str:
        """Returns the value of the annotation."""
        return msgspec.json.encode({key: value for key, value in msgspec.to_builtins(self).items() if value}).decode()
