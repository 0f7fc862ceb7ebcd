"""`Problem`: a problem of a bundle, its location, and the fix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Level", "Problem", "problem"]

Level = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem. An error means that OLM, or the requested check, rejects the bundle."""

    level: Level
    check: str
    """The check that found it, such as `csv` or `olm-spec-descriptors`."""
    file: str
    """The file below the bundle's folder; empty if the problem is not about a file."""
    field: str
    """The field, such as `spec.installModes`; empty for the whole file."""
    message: str
    advice: str

    def __str__(self) -> str:
        where = ": ".join(part for part in (self.file, self.field) if part)
        return f"{where + ': ' if where else ''}{self.message}; {self.advice}"


def problem(level: Level, file: str, message: str, advice: str, *, field: str = "", check: str = "format") -> Problem:
    """Returns a problem, by default of the files themselves."""
    return Problem(level, check, file, field, message, advice)
