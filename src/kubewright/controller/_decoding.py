"""Objects that do not fit their model."""

from __future__ import annotations

from typing import Any, TypeVar

from kubewright.api import DecodeError, Object
from kubewright.cache import Snapshot
from kubewright.controller._reconcile import TerminalError

__all__ = ["FOR_GOOD", "Undecodable", "decoded"]

R = TypeVar("R", bound=Object)


class Undecodable(Exception):
    """The reconciled object does not fit its model. Other objects that the reconciler reads raise `DecodeError`."""

    def __init__(self, snapshot: Snapshot[Any], error: DecodeError) -> None:
        super().__init__(str(error))
        self.snapshot = snapshot
        self.error = error


FOR_GOOD = (TerminalError, Undecodable)
"""Errors after which a key is not retried."""


def decoded(snapshot: Snapshot[R]) -> R:
    """Returns the object. Raises `Undecodable` if it does not fit its model."""
    try:
        return snapshot.object()
    except DecodeError as error:
        raise Undecodable(snapshot, error) from error
