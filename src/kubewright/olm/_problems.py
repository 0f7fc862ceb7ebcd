"""`Problem`: what is wrong with a bundle, where, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Level", "Problem", "problem"]

Level = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. With an error OLM, or whoever asked for the check, refuses the bundle."""

    level: Level
    check: str
    """The check that found it, such as `csv` or `olm-spec-descriptors`."""
    file: str
    """The file below the bundle's folder; "" when none is to blame."""
    field: str
    """The field in it, such as `spec.installModes`; "" when it is the whole file."""
    message: str
    advice: str

    def __str__(self) -> str:
        where = ": ".join(part for part in (self.file, self.field) if part)
        return f"{where + ': ' if where else ''}{self.message}; {self.advice}"


def problem(level: Level, file: str, message: str, advice: str, *, field: str = "", check: str = "format") -> Problem:
    """A problem; of the files themselves unless a check is named."""
    return Problem(level, check, file, field, message, advice)
