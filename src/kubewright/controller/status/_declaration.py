"""`Declaration`: the status fields that a controller has declared."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["Declaration", "FieldConflict"]


class FieldConflict(msgspec.Struct, frozen=True):
    """A status field that another field manager had set to another value."""

    field: str
    manager: str
    atomic: bool = False
    """Whether it is a list that each write replaces as a whole."""


class Declaration(msgspec.Struct, frozen=True, kw_only=True):
    """The status fields of one object that a controller has declared."""

    uid: str
    content: dict[str, Any] = {}
    seen: bytes | None = None
    """The digest of these fields as the server stored them; None if unknown."""
    atomic: frozenset[str] = frozenset()
    """The lists of the status that each write replaces as a whole."""
    taken_over: tuple[str, ...] = ()
    """The fields of an earlier release that were just taken over."""
