"""`PodPlan`: the simulated behavior of a pod."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from kubewright.api import core
from kubewright.backoff import doubled

__all__ = ["Plan", "PodPlan"]

_FIRST_BACKOFF: Final = 10.0
_LONGEST_BACKOFF: Final = 300.0
_TIMES: Final = ("schedule_delay", "start_delay", "ready_delay", "stop_delay", "restart_delay", "exit_after")


@dataclass(frozen=True, kw_only=True)
class PodPlan:
    """The simulated behavior of a pod. Default: ready immediately, runs indefinitely. Times are in seconds.

    With `exit_after`, its containers exit that long after their start, with `exit_code`. The pod's restart policy
    decides whether they restart, after `restart_delay`; with `crash_loop`, after a kubelet's backoff of 10 s, doubled
    each time, up to 5 minutes. `exits` limits the number of exits: afterwards the containers run indefinitely. With
    `image_missing` the pod stays Pending; with `unschedulable`, too, but without a node, for the given reason, such as
    "Insufficient cpu". Without `becomes_ready` it runs but is never ready. `stop_delay` is the time until a deleted pod
    ends, limited by its grace period.
    """

    schedule_delay: float = 0.0
    start_delay: float = 0.0
    ready_delay: float = 0.0
    stop_delay: float = 0.0
    restart_delay: float = 0.0
    crash_loop: bool = False
    exit_after: float | None = None
    exit_code: int = 0
    exits: int | None = None
    image_missing: bool = False
    becomes_ready: bool = True
    unschedulable: str = ""

    def __post_init__(self) -> None:
        for name in _TIMES:
            value: object = getattr(self, name)
            if value is None and name == "exit_after":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
                raise ValueError(f"{name} must be a number of seconds of at least 0, not {value!r}")

    def delay_before(self, restart: int) -> float:
        """Returns the seconds before the restart with that number; the first is 1."""
        return backoff(restart) if self.crash_loop else self.restart_delay


def backoff(attempt: int) -> float:
    """Returns a kubelet's backoff in seconds before the given attempt."""
    return doubled(attempt - 1, first=_FIRST_BACKOFF, longest=_LONGEST_BACKOFF)


Plan: TypeAlias = PodPlan | Callable[[core.Pod], PodPlan]
