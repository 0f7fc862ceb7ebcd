"""`explore` and `replay`: the functions behind the command and the pytest marker."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from kubewright.explore.model import Finding, Report
from kubewright.explore.reports import load_plan
from kubewright.explore.runner import Pool, RunnerError
from kubewright.explore.search import Budget, Exploration
from kubewright.explore.workloads import SampleError, read_subjects
from kubewright.operator import Operator
from kubewright.operator.loading import load_operator

__all__ = ["ExploreError", "Progress", "explore", "replay"]

Progress: TypeAlias = Callable[[Report], None]
"""Called from time to time with the report so far."""


class ExploreError(Exception):
    """The operator cannot be explored. The message says why."""


def explore(
    target: str | os.PathLike[str],
    samples: Sequence[str | os.PathLike[str]],
    *,
    minutes: float = 5,
    runs: int = 0,
    seed: int = 0,
    workers: int = 2,
    progress: Progress = lambda report: None,
) -> Report:
    """Explores the operator in a file or module, and returns the findings.

    Args:
        target: the file or module of the operator; `foo.py:name` selects one of several.
        samples: YAML files or folders with at least one object that the operator reconciles.
        minutes: how long to explore.
        runs: the most runs. Default: no limit.
        seed: varies the circumstances of the runs. The same seed has the same findings, if the time suffices.
        workers: processes that run in parallel.
        progress: called with the report so far.

    Raises `ExploreError` if the operator or its samples cannot be used, and `LoadError` if there is no operator.
    """
    operator: Operator = load_operator(os.fspath(target))
    try:
        subjects = read_subjects(operator, [Path(sample) for sample in samples])
        with Pool(os.fspath(target), workers=workers) as pool:
            report = Exploration(pool, subjects, Budget(minutes * 60, runs, seed), progress).explore()
    except (SampleError, RunnerError) as error:
        raise ExploreError(str(error)) from error
    if report.error and not report.findings:
        raise ExploreError(report.error)
    return report


def replay(plan: str | os.PathLike[str], *, target: str = "") -> list[Finding]:
    """Runs a saved plan again, and returns the findings: none if the bug is fixed.

    Args:
        plan: the file that `kubewright explore` wrote.
        target: the file or module of the operator. Default: the one in the plan.
    """
    saved = load_plan(Path(plan))
    where = target or saved.target
    try:
        subjects = read_subjects(load_operator(where), [Path(sample) for sample in saved.samples])
        with Pool(where, workers=1) as pool:
            return Exploration(pool, subjects, Budget()).replay(saved.plan, saved.oracle)
    except (SampleError, RunnerError) as error:
        raise ExploreError(str(error)) from error
