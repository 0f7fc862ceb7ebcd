"""`explore`, `run_exploration` and `replay`: the functions behind the command and the pytest marker."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from kubewright.explore.model import Finding, Report
from kubewright.explore.reports import load_plan
from kubewright.explore.runner import Pool, RunnerError
from kubewright.explore.search import Budget, Exploration, fingerprint, load_saved, save
from kubewright.explore.workloads import SampleError, read_operations, read_subjects
from kubewright.operator import Operator
from kubewright.operator.loading import load_operator

__all__ = ["ExploreError", "Progress", "explore", "replay", "run_exploration", "target_of"]

Progress: TypeAlias = Callable[[Report], None]
"""Called from time to time with the report so far."""


class ExploreError(Exception):
    """The operator cannot be explored. The message says why."""


async def explore(
    operator: Operator | str | os.PathLike[str],
    samples: Sequence[str | os.PathLike[str]],
    *,
    minutes: float = 5,
    runs: int = 0,
    seed: int = 0,
    workers: int = 2,
) -> Report:
    """Explores an operator, and returns the findings: `assert (await explore(operator, samples=[...])).findings == []`.

    The arguments are those of `run_exploration`. An `Operator` must be a variable of an imported module, because each
    run imports its program again.
    """
    return await asyncio.to_thread(
        run_exploration, operator, samples, minutes=minutes, runs=runs, seed=seed, workers=workers
    )


def target_of(operator: Operator) -> str:
    """Returns the program of an operator: `foo.py:operator`, or `package:operator` if a package exports it.

    Raises `ExploreError` if no imported module has it as a variable.
    """
    files: list[str] = []
    for module in list(sys.modules.values()):
        file: str | None = getattr(module, "__file__", None)
        if file is None or _is_test(file):
            continue
        for name, value in vars(module).items():
            if value is operator and hasattr(module, "__path__"):
                return f"{module.__name__}:{name}"  # the modules of a package register their reconcilers
            if value is operator:
                files.append(f"{file}:{name}")
    if files:
        return files[0]
    raise ExploreError(f"{operator!r} is not a variable of an imported module: pass the path of its program")


def _is_test(file: str) -> bool:
    """Returns whether a module only imports the operator, as tests do."""
    return Path(file).name.startswith(("test_", "conftest"))


def run_exploration(
    target: Operator | str | os.PathLike[str],
    samples: Sequence[str | os.PathLike[str]],
    *,
    minutes: float = 5,
    runs: int = 0,
    seed: int = 0,
    workers: int = 2,
    operations: Sequence[str | os.PathLike[str]] = (),
    resume: str | os.PathLike[str] | None = None,
    progress: Progress = lambda report: None,
) -> Report:
    """Explores the operator in a file or module, and returns the findings.

    Args:
        target: the file or module of the operator; `foo.py:name` selects one of several. Or the operator itself.
        samples: YAML files or folders with at least one object that the operator reconciles.
        minutes: how long to explore.
        runs: the maximum number of runs. Default: no limit.
        seed: varies the circumstances of the runs. The same seed yields the same findings, if there is enough time.
        workers: processes that run in parallel.
        operations: YAML files with additional user steps.
        resume: a file that stores the progress. The next exploration with this file continues, unless the program, the
        samples or the seed have changed.
        progress: called with the report so far.

    Raises `ExploreError` if the operator or its samples cannot be used, and `LoadError` if there is no operator.
    """
    if isinstance(target, Operator):
        operator, where = target, target_of(target)
    else:
        operator, where = load_operator(target), os.fspath(target)
    try:
        subjects = read_subjects(operator, [Path(sample) for sample in samples])
        named = read_operations([Path(each) for each in operations])
        path = None if resume is None else Path(resume)
        saved = None if path is None else load_saved(path, fingerprint(where, [*samples, *operations], seed))
        with Pool(where, workers=workers) as pool:
            exploration = Exploration(pool, subjects, Budget(minutes * 60, runs, seed), progress, saved, named)
            try:
                report = exploration.explore()
            finally:
                if path is not None:
                    save(path, exploration.saved, exploration.report)
    except (SampleError, RunnerError, ValueError) as error:
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
