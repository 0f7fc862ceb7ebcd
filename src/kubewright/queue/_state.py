"""`KeyState`: the state of one key in a queue."""

from __future__ import annotations

import msgspec

from kubewright.counts import counted
from kubewright.durations import format_duration

__all__ = ["KeyState"]


class KeyState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one key. A running key can also wait, or be delayed, for its next run.

    `str()` returns a description for people: "running for 2s; runs again in 5s; 3 retries".
    """

    running_for: float | None = None
    """Seconds since a worker took it."""
    waiting_for: float | None = None
    """Seconds since it became ready."""
    ready_in: float | None = None
    """Seconds until its delay is over."""
    priority: int | None = None
    """The priority with which it waits or is delayed. If it only runs, the priority with which it was taken."""
    retries: int = 0
    """Rate-limited adds since it was last forgotten."""

    @property
    def known(self) -> bool:
        """Whether the key is in the queue."""
        return self.running_for is not None or self.waiting_for is not None or self.ready_in is not None

    def __str__(self) -> str:
        parts = []
        running = self.running_for is not None
        if self.running_for is not None:
            parts.append(f"running for {format_duration(self.running_for)}")
        if self.waiting_for is not None:
            parts.append("runs again afterwards" if running else f"waiting for {format_duration(self.waiting_for)}")
        if self.ready_in is not None:
            parts.append(
                f"runs again in {format_duration(self.ready_in)}"
                if running
                else f"ready in {format_duration(self.ready_in)}"
            )
        if not parts:
            parts.append("not queued")
        elif self.priority:
            parts.append(f"priority {self.priority}")
        if self.retries:
            parts.append(counted(self.retries, "retry", "retries"))
        return "; ".join(parts)
