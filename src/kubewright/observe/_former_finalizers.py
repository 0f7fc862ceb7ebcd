"""`FormerFinalizers`: finds finalizers that a previous version of the operator used and that block deletion now."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from kubewright.cache import Snapshot
from kubewright.lru import LRUMemory

__all__ = ["FormerFinalizers"]

_REPORT_AFTER: Final = timedelta(minutes=10)
_REMEMBERED: Final = 1_000


class _Deletion(msgspec.Struct, rename="camel"):
    deletion_timestamp: datetime | None = None
    finalizers: list[str] | None = None


class _Header(msgspec.Struct):
    metadata: _Deletion


_header_decoder = msgspec.json.Decoder(_Header)


class FormerFinalizers:
    """Finds finalizers that look like the operator's own but that none of its controllers handles.

    They are left over after an operator or a finalizer was renamed, and block the deletion of the object indefinitely.
    A finalizer looks like the operator's own if it has the domain of one of its finalizers, such as `example.com/`.
    Another operator may use the same domain and removes its finalizer when it has cleaned up, so they are reported only
    after ten minutes of deletion, once per object. Only a person can decide whether they may be removed.
    """

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._domains: set[str] = set()
        self._reported: LRUMemory[tuple[str, str], bool] = LRUMemory(_REMEMBERED)

    def add_known(self, names: Iterable[str]) -> None:
        """Adds finalizers that a controller of the operator handles."""
        for name in names:
            self._known.add(name)
            self._domains.add(_domain(name))

    def check(self, snapshot: Snapshot[Any], now: datetime) -> tuple[list[str], float]:
        """Returns the finalizers to report, and the seconds until the object should be checked again; 0 for never."""
        if not self._known or not snapshot.deleting:
            return [], 0
        deletion = _header_decoder.decode(snapshot.raw).metadata
        found = [
            name
            for name in deletion.finalizers or ()
            if name not in self._known
            and _domain(name) in self._domains
            and self._reported.get((snapshot.uid, name)) is None
        ]
        if not found or deletion.deletion_timestamp is None:
            return [], 0
        wait = (deletion.deletion_timestamp + _REPORT_AFTER - now).total_seconds()
        if wait > 0:
            return [], wait
        for name in found:
            self._reported.put((snapshot.uid, name), True)
        return found, 0


def _domain(name: str) -> str:
    return name.rpartition("/")[0]
