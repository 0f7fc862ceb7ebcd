"""Daemons: the state of a call that lasts as long as its object."""

from __future__ import annotations

from typing import Final, TypeVar

from kubewright.api import Object
from kubewright.controller._context_backend import ContextBackend

__all__ = ["RESET_AFTER", "DaemonBackend", "DaemonEnded"]

R = TypeVar("R", bound=Object)

RESET_AFTER: Final = 60.0
"""A daemon that ran for this many seconds before it failed restarts with the shortest backoff."""


class DaemonEnded(Exception):
    """Cancels a daemon whose object is being deleted, or whose operator stops."""


class DaemonBackend(ContextBackend[R]):
    """The state of a daemon. Its status writes start from the newest known state, not from the first one."""

    @property
    def raw(self) -> bytes:
        """The object as it is in the cache, with own writes."""
        return self._cached().raw
