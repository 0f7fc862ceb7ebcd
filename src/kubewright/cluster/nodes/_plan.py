"""`PodPlan`: what becomes of a pod on a node without a machine."""

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
    """What becomes of a pod. Times are in seconds; the default pod runs and is ready at once, and for ever.

    With `exit_after`, its containers end that long after their start, with `exit_code`; the pod's restart policy
    says whether they are started again, after `restart_delay`; with `crash_loop`, which is how kubelets do it, after
    10 s at first and twice as long each time, up to 5 minutes. `exits` bounds how often that happens: afterwards they
    run for ever. With `image_missing` the pod stays Pending; with `unschedulable`, too, but without a node, for
    this reason, such as "Insufficient cpu"; without `becomes_ready` it runs and is never ready.
    `stop_delay` is how long its end takes when it is deleted, at most the grace period of the deletion.
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
                raise ValueError(f"{name} is a number of seconds, from 0 on, not {value!r}")

    def delay_before(self, restart: int) -> float:
        """Seconds from the end of a container to its restart with that number; the first is 1."""
        return backoff(restart) if self.crash_loop else self.restart_delay


def backoff(attempt: int) -> float:
    """Seconds that a kubelet waits before it does something for another time that has failed so often."""
    return doubled(attempt - 1, first=_FIRST_BACKOFF, longest=_LONGEST_BACKOFF)


Plan: TypeAlias = PodPlan | Callable[[core.Pod], PodPlan]
