"""Faults: which ones to try, in which order.

`plans_of` lists the plans for a story from its undisturbed run: faults at every write of the operator, at every step of
the user, and of every child. Faults that lead to the same situation occur once. Likely bugs come first.
"""

from __future__ import annotations

from kubewright.explore.faults._plans import crashes_of, late_faults_of, misses_of, outdated_of, pairs_of, plans_of

__all__ = ["crashes_of", "late_faults_of", "misses_of", "outdated_of", "pairs_of", "plans_of"]
