"""Finalizers that an operator once had: an object in deletion keeps them for ever, since nobody takes them off."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from kubewright.cache import Snapshot

__all__ = ["FormerFinalizers"]

_PATIENCE: Final = timedelta(minutes=10)
_TOLD_AT_MOST: Final = 1_000


class _Deletion(msgspec.Struct, rename="camel"):
    deletion_timestamp: datetime | None = None
    finalizers: list[str] | None = None


class _Header(msgspec.Struct):
    metadata: _Deletion


_header_decoder = msgspec.json.Decoder(_Header)


class FormerFinalizers:
    """Finds the finalizers of objects in deletion that look like the operator's own and are none of them.

    That is what remains after an operator or a finalizer was renamed. Looking like its own is having the domain of one
    of its finalizers, `example.com/`. Another operator of the same kind has that as well, and takes its own off when it
    has cleaned up; so they are told after ten minutes of deletion. Each is told once for each object; whether it may
    go, only a person can know.
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

    def news(self, snapshot: Snapshot[Any], now: datetime) -> tuple[list[str], float]:
        """Those of an object that are to be told, and in how many seconds to look at it again; 0 is never."""
        if not self._known or not snapshot.deleting:
            return [], 0
        deletion = _header_decoder.decode(snapshot.raw).metadata
        found = [
            name
            for name in deletion.finalizers or ()
            if name not in self._known and _domain(name) in self._domains and (snapshot.uid, name) not in self._told
        ]
        if not found or deletion.deletion_timestamp is None:
            return [], 0
        wait = (deletion.deletion_timestamp + _PATIENCE - now).total_seconds()
        if wait > 0:
            return [], wait
        if len(self._told) >= _TOLD_AT_MOST:
            self._told.clear()
        self._told.update((snapshot.uid, name) for name in found)
        return found, 0


def _domain(name: str) -> str:
    return name.rpartition("/")[0]
