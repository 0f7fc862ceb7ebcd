"""`Scope`: something that lasts until `end`, or until the end of a `with` block."""

from __future__ import annotations

from types import TracebackType
from typing import Self

__all__ = ["Scope"]


class Scope:
    """A context manager that calls `end`, also as `async with`."""

    def end(self) -> None:
        """Ends the scope. May be called more than once."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
