"""The three durations of an election."""

from __future__ import annotations

import math

import msgspec

from kubewright.durations import format_duration

__all__ = ["JITTER", "LONGEST_LEASE", "Timing"]

JITTER = 1.2
"""A waiting candidate retries after 1 to 2.2 retry periods, at random, as in client-go."""

LONGEST_LEASE = 3600.0
"""A lease that was not renewed for an hour is free, whatever duration it has."""


class Timing(msgspec.Struct, frozen=True):
    """How long a lease lasts, how long its holder trusts it, and how often it is renewed or read. In seconds."""

    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0

    def __post_init__(self) -> None:
        lease, deadline = format_duration(self.lease_duration), format_duration(self.renew_deadline)
        if not 1 <= self.lease_duration <= LONGEST_LEASE:
            raise ValueError(f"lease_duration must be from 1s to {format_duration(LONGEST_LEASE)}, not {lease}")
        if self.renew_deadline >= self.lease_duration:
            raise ValueError(
                f"renew_deadline ({deadline}) must be shorter than lease_duration ({lease}): a leader must stop before"
                " another can start"
            )
        if self.retry_period * JITTER >= self.renew_deadline:
            raise ValueError(
                f"retry_period ({format_duration(self.retry_period)}) times {JITTER} must be shorter than"
                f" renew_deadline ({deadline}): a leader needs more than one attempt to renew"
            )

    @property
    def request_timeout(self) -> float:
        """Seconds for one attempt, so that a dead connection leaves time for another attempt."""
        return self.renew_deadline / 2

    @property
    def margin(self) -> float:
        """Seconds between the end of a leader's trust and the earliest start of another leader."""
        return self.lease_duration - self.renew_deadline

    @property
    def lease_seconds(self) -> int:
        """The duration as an integer for the Lease: rounded up, so that others do not wait too short."""
        return math.ceil(self.lease_duration)
