"""The search: baselines, plans, verdicts, confirmation and minimization of findings.

`Exploration` explores one operator with a pool. It first runs the story of each subject undisturbed, learns masks, and
then runs further stories and faults until the time or the number of runs is used up. `judge_undisturbed`, `judge_scene`
and `judge_plan` are the verdicts; they select the oracles.
"""

from __future__ import annotations

from kubewright.explore.search._baseline import CIRCUMSTANCES, Baseline, judge_undisturbed, learn_masks
from kubewright.explore.search._exploration import Budget, Exploration
from kubewright.explore.search._hash_seeds import judge_hash_seed
from kubewright.explore.search._judges import judge_plan, judge_scene
from kubewright.explore.search._novelty import Novelty, unreached
from kubewright.explore.search._saved import Saved, fingerprint, load_saved, save

__all__ = [
    "CIRCUMSTANCES",
    "Baseline",
    "Budget",
    "Exploration",
    "Novelty",
    "Saved",
    "fingerprint",
    "judge_hash_seed",
    "judge_plan",
    "judge_scene",
    "judge_undisturbed",
    "learn_masks",
    "load_saved",
    "save",
    "unreached",
]
