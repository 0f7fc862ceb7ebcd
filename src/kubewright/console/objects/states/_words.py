"""The words by which operators describe states: types of conditions, reasons, and phases."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from kubewright.console.objects.states._health import State

__all__ = ["BAD", "BUSY", "COMPLETED_REASON", "DONE", "FAILURE", "GOOD", "SUSPENDED_REASON", "Phase", "phase_of"]

GOOD: Final = (
    *("Ready", "Available", "Healthy", "Succeeded", "Complete", "Established", "Synced", "Accepted", "Programmed"),
    *("Deployed", "Running"),
)
"""Conditions that are true for a ready object."""

DONE: Final = frozenset(["Succeeded", "Complete", "Completed"])
"""Conditions that are true for a completed object."""

BAD: Final = ("Failed", "Degraded", "Stalled", "Error", "Failure", "ReplicaFailure", "Broken", "Unhealthy")
"""Conditions that are true for a failing object."""

BUSY: Final = ("Reconciling", "Progressing", "Issuing", "Installing", "Upgrading")
"""Conditions that are true while an operator works on the object."""

FAILURE: Final = re.compile(r"fail|error|invalid|crash|backoff|denied|forbidden|exceeded|unhealthy|conflict|lost", re.I)
SUSPENDED_REASON: Final = re.compile(r"suspended|paused|hibernat", re.I)
COMPLETED_REASON: Final = re.compile(r"^(pod|job)?(completed?|succeeded|finished)$", re.I)

_PHASES: Final = {
    State.READY: "ready running active bound available succeeded success complete completed healthy synced deployed "
    "established online ok true created up installed insync uptodate reconciled applied normal operational serving "
    "connected enabled green valid accepted configured finished done provisioned open good stable",
    State.PROGRESSING: "pending creating provisioning updating progressing initializing waiting "
    "reconciling starting scaling upgrading installing containercreating queued scheduled inprogress restarting "
    "bootstrapping synchronizing released stopping new outofsync syncing rotating deploying building cloning migrating "
    "restoring backingup joining recovering resizing rollingout notready yellow applying configuring switchover "
    "failingover failover podinitializing unbound processing validating preparing",
    State.FAILING: "failed failure error errored degraded crashloopbackoff lost unhealthy invalid broken "
    "imagepullbackoff errimagepull evicted rejected false down red timeout timedout aborted crashed stalled "
    "unavailable unreachable unschedulable missing expired conflict oomkilled syncfailed notsynced disconnected",
    State.SUSPENDED: "suspended paused hibernated hibernating stopped disabled sleeping inactive",
    State.TERMINATING: "terminating deleting deleted",
}
_STATE_OF_PHASE: Final = {word: state for state, words in _PHASES.items() for word in words.split()}
_COMPLETED: Final = frozenset(["succeeded", "complete", "completed", "finished", "done"])


class Phase(NamedTuple):
    """The meaning of a phase."""

    state: State
    completed: bool


def phase_of(phase: Any) -> Phase | None:
    """Returns the state that a phase names; None for other words and for values that are not strings."""
    if not isinstance(phase, str) or not phase:
        return None
    word = re.sub(r"[\s_-]", "", phase).lower().replace("ising", "izing")  # British spelling
    state = _STATE_OF_PHASE.get(word)
    return Phase(state, word in _COMPLETED) if state else None
