"""`ControllerStats`: the counters of a controller, as plain numbers."""

from __future__ import annotations

from collections import Counter
from typing import Final, Literal, TypeAlias

import msgspec

from kubewright.queue import Durations

__all__ = ["BUGS", "FAILED", "RECONCILE_BUCKETS", "ControllerStats", "Ending"]

Ending: TypeAlias = Literal["success", "requeue", "requeue_after", "error", "terminal_error"]
"""How a reconcile ended; an undecodable object is a `terminal_error`."""

FAILED: Final[frozenset[Ending]] = frozenset(["error", "terminal_error"])
"""The endings that are failures."""

RECONCILE_BUCKETS: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0),
    *(40.0, 50.0, 60.0),
)
"""Upper bounds in seconds: those of controller-runtime."""

BUGS: Final[tuple[type[BaseException], ...]] = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    NotImplementedError,
    RecursionError,
    TypeError,
)
"""Errors that indicate a bug in the program, where a Go program would panic."""


class ControllerStats(msgspec.Struct):
    """The counters of a controller."""

    reconciles: Counter[str] = msgspec.field(default_factory=Counter)
    """The number of reconciles by `Ending`."""
    active: int = 0
    """Running reconciles."""
    interrupted: int = 0
    """Reconciles that were interrupted because the operator stopped."""
    timeouts: int = 0
    """Reconciles that exceeded their timeout."""
    bugs: int = 0
    """Reconciles that ended with an error that indicates a bug (`BUGS`)."""
    write_loops: int = 0
    """How often a key was slowed down because it keeps triggering itself."""
    durations: Durations = msgspec.field(default_factory=lambda: Durations(RECONCILE_BUCKETS))
    """How long reconciles took."""
