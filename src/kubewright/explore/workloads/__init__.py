"""Stories from samples and schemas.

`read_subjects` reads the samples and matches them with the kinds of the operator. `values_of` draws changes of a spec
from its schema. `stories_of` returns the stories about a subject, with the references that judge them.
"""

from __future__ import annotations

from kubewright.explore.workloads._ages import RESTARTS, aging_of, postponed_of
from kubewright.explore.workloads._operations import Operation, operation_of, read_operations
from kubewright.explore.workloads._samples import SampleError, Subject, read_subjects
from kubewright.explore.workloads._stories import (
    BYSTANDER,
    Judged,
    Scene,
    bystanders_of,
    fresh_of,
    hasty_life_of,
    life_of,
    rebirth_of,
    scenes_of,
)
from kubewright.explore.workloads._values import Change, changed, changes_of, entries_of, missing_images_of

__all__ = [
    "BYSTANDER",
    "RESTARTS",
    "Change",
    "Judged",
    "Operation",
    "SampleError",
    "Scene",
    "Subject",
    "aging_of",
    "bystanders_of",
    "changed",
    "changes_of",
    "entries_of",
    "fresh_of",
    "hasty_life_of",
    "life_of",
    "missing_images_of",
    "operation_of",
    "postponed_of",
    "read_operations",
    "read_subjects",
    "rebirth_of",
    "scenes_of",
]
