"""The results of applying files, and the report of what failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from kubewright.api import Object, ResourceInfo
from kubewright.redaction import one_line

__all__ = ["Action", "AppliedObject", "ApplyFileError", "Failure", "SourceLocation"]

Action: TypeAlias = Literal["created", "configured", "unchanged", "skipped"]
"""The effect on an object. Only a dry run skips objects: those whose kind or namespace the same files would create."""


class SourceLocation(msgspec.Struct, frozen=True):
    """The location of an object: file, document and line, both counted from 1. `-` is a stream."""

    file: str
    document: int = 0
    line: int = 0

    def __str__(self) -> str:
        parts = [self.file]
        if self.document:
            parts.append(f"document {self.document}")
        if self.line:
            parts.append(f"line {self.line}")
        return ", ".join(parts)


class AppliedObject(msgspec.Struct, frozen=True):
    """The result for one object. `str()` is the line that kubectl prints: `deployment.apps/web created`."""

    action: Action
    info: ResourceInfo
    name: str
    namespace: str
    location: SourceLocation
    object: Object | None = None
    """The object as the server returned it, typed if its class is known. None if it was skipped."""
    dry_run: bool = False

    @property
    def title(self) -> str:
        """The object as kubectl names it: `deployment.apps/web`."""
        return title_of(self.info, self.name)

    def __str__(self) -> str:
        return one_line(f"{self.title} {self.action}{' (server dry run)' if self.dry_run else ''}")


class Failure(msgspec.Struct, frozen=True):
    """One problem and its location."""

    location: SourceLocation
    message: str

    def __str__(self) -> str:
        return one_line(f"{self.location}: {self.message}")


class ApplyFileError(Exception):
    """Some objects of the files were not applied.

    `failures` has the problems, in the order of the files. `applied` has the results of the other objects. `sent` is
    false if nothing was sent, because a file could not be read or has an unknown kind. `untried` objects were not sent
    because the server could not be reached.
    """

    def __init__(
        self,
        failures: Sequence[Failure],
        applied: Sequence[AppliedObject] = (),
        *,
        untried: int = 0,
        sent: bool = False,
    ) -> None:
        super().__init__(failures, applied)
        self.failures = tuple(failures)
        self.applied = tuple(applied)
        self.untried = untried
        self.sent = sent

    @property
    def summary(self) -> str:
        """The number of objects that were not applied."""
        if not self.sent:
            return "nothing was applied"
        total = len(self.failures) + len(self.applied) + self.untried
        untried = f", {self.untried} of them were not tried" if self.untried else ""
        return f"{total - len(self.applied)} of {total} objects were not applied{untried}"

    def __str__(self) -> str:
        if len(self.failures) == 1:
            return f"{self.summary}: {self.failures[0]}"
        return "\n".join([f"{self.summary}:", *(f"  {failure}" for failure in self.failures)])


def title_of(info: ResourceInfo, name: str) -> str:
    """Returns an object as kubectl names it: `deployment.apps/web`."""
    return f"{info.kind.lower()}{f'.{info.group}' if info.group else ''}/{name}"
