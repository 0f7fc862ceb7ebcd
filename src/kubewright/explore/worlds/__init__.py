"""Objects that can be compared between runs: without times, uids, versions and generated names.

`canonical` returns the comparable form of the objects of a checkpoint. `learn` finds the leaf fields that differ
between undisturbed runs; `Masks` hides them. `differences` lists what differs between two canonical worlds.
"""

from __future__ import annotations

from kubewright.explore.worlds._canonical import (
    DATA,
    EXTERNAL,
    Canonical,
    canonical,
    creators,
    decoded,
    scrubbed,
    unlike,
)
from kubewright.explore.worlds._differences import Difference, differences
from kubewright.explore.worlds._masks import Masks, TooManyMasks, learn, learn_identifiers
from kubewright.explore.worlds._schedules import IDLE_SECONDS, scheduled

__all__ = [
    "DATA",
    "EXTERNAL",
    "IDLE_SECONDS",
    "Canonical",
    "Difference",
    "Masks",
    "TooManyMasks",
    "canonical",
    "creators",
    "decoded",
    "differences",
    "learn",
    "learn_identifiers",
    "scheduled",
    "scrubbed",
    "unlike",
]
