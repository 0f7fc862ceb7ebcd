"""Oracles: pure functions that find what is wrong with a run, without code of the user.

The docstring of an oracle states the property that it checks: every correct operator has it. An oracle takes outcomes
and returns findings. `kubewright.explore.search` selects the oracles that apply to a run.
"""

from __future__ import annotations

from kubewright.explore.oracles._bystanders import bystanders_kept
from kubewright.explore.oracles._deletions import deleted_alive, deleted_by_outdated, orphans
from kubewright.explore.oracles._ends import compared, converged, fields_kept
from kubewright.explore.oracles._errors import broken_invariants, exceptions, undeclared
from kubewright.explore.oracles._isolation import collisions, deleted_of_another, made_by_operator
from kubewright.explore.oracles._postponed import actions_after_a_time, postponed
from kubewright.explore.oracles._readiness import (
    ready_too_early,
    ready_while_children_are_not,
    recovered,
    refuses,
    unobserved_generation,
)
from kubewright.explore.oracles._regenerated import regenerated
from kubewright.explore.oracles._rest import written_at_rest
from kubewright.explore.oracles._stability import created_again, generated_again, ran_again

__all__ = [
    "actions_after_a_time",
    "broken_invariants",
    "bystanders_kept",
    "collisions",
    "compared",
    "converged",
    "created_again",
    "deleted_alive",
    "deleted_by_outdated",
    "deleted_of_another",
    "exceptions",
    "fields_kept",
    "generated_again",
    "made_by_operator",
    "orphans",
    "postponed",
    "ran_again",
    "ready_too_early",
    "ready_while_children_are_not",
    "recovered",
    "refuses",
    "regenerated",
    "undeclared",
    "unobserved_generation",
    "written_at_rest",
]
