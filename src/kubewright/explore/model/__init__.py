"""The plain values of an exploration: stories, faults, plans, outcomes and findings.

A `Story` is a list of steps of a user. A `Plan` is a story with faults. A run of a plan has an `Outcome`: the requests
of the operator, the writes of all clients, the objects at each `Wait`, and the errors. Oracles compare outcomes and
return `Finding`s. Plans are JSON, so that they can be saved and replayed.
"""

from __future__ import annotations

from kubewright.explore.model._findings import Finding
from kubewright.explore.model._outcomes import Checkpoint, Failure, Outcome, Sent, Write
from kubewright.explore.model._plans import (
    MISSING_IMAGE,
    Apply,
    Conditions,
    Create,
    Delete,
    Fault,
    Pause,
    Plan,
    Restart,
    Revise,
    Step,
    Story,
    Wait,
)
from kubewright.explore.model._reports import Report

__all__ = [
    "MISSING_IMAGE",
    "Apply",
    "Checkpoint",
    "Conditions",
    "Create",
    "Delete",
    "Failure",
    "Fault",
    "Finding",
    "Outcome",
    "Pause",
    "Plan",
    "Report",
    "Restart",
    "Revise",
    "Sent",
    "Step",
    "Story",
    "Wait",
    "Write",
]
