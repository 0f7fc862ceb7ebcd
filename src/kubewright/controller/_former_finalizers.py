"""Finalizers that an operator once had: an object in deletion keeps them for ever, since nobody takes them off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubewright.cache import Snapshot

__all__ = ["FormerFinalizers"]

_TOLD_AT_MOST = 1_000


class FormerFinalizers:
    """Finds the finalizers of objects in deletion that look like the operator's own and are none of them.

    That is what remains after an operator or a finalizer was renamed. Looking like its own is having the domain of one
    of its finalizers, `example.com/`. Each is told once for each object; whether it may go, only a person can know.
    """

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._domains: set[str] = set()
        self._told: set[tuple[str, str]] = set()

    def know(self, names: Iterable[str]) -> None:
        """Take note of finalizers that one of the operator's controllers calls."""
        for name in names:
            self._known.add(name)
            self._domains.add(_domain(name))

    def news(self, snapshot: Snapshot[Any]) -> list[str]:
        """Those of an object, where they were not told yet."""
        if not self._known or not snapshot.deleting:
            return []
        found = [
            name
            for name in snapshot.finalizers
            if name not in self._known and _domain(name) in self._domains and (snapshot.uid, name) not in self._told
        ]
        if found and len(self._told) >= _TOLD_AT_MOST:
            self._told.clear()
        self._told.update((snapshot.uid, name) for name in found)
        return found


def _domain(name: str) -> str:
    return name.rpartition("/")[0]
