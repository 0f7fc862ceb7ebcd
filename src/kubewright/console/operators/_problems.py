"""`operator_problems`: what needs attention in an operator, worst first, from its report."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from typing import NamedTuple

from kubewright.console.operators._watched import WatchedOperator
from kubewright.observe import OperatorReport

__all__ = ["OperatorProblem", "operator_problems"]


class OperatorProblem(NamedTuple):
    """One problem. `kind` is the path of the kind whose failing objects it is about, or empty."""

    text: str
    kind: str = ""


def operator_problems(operator: WatchedOperator, report: OperatorReport | None) -> list[OperatorProblem]:
    """Returns the problems of an operator. `report` is the part of its report that the viewer may see."""
    return list(_problems(operator, report))


def _problems(operator: WatchedOperator, report: OperatorReport | None) -> Iterator[OperatorProblem]:
    if operator.unavailable_since is not None:
        since = operator.unavailable_since.astimezone(UTC).strftime("%H:%M:%S UTC")
        yield OperatorProblem(f"Unavailable since {since}. {operator.problem}")
        return
    if report is None:
        return
    for controller in report.controllers:
        failing = len(operator.failures(controller.name))
        if failing:
            path = f"{controller.group or 'core'}/{controller.plural}" if controller.plural else ""
            objects = f"{failing} {controller.kind} object{'s fail' if failing > 1 else ' fails'}"
            yield OperatorProblem(f"{objects} to reconcile (controller {controller.name})", path)
        if controller.write_loops:
            yield OperatorProblem(f"Controller {controller.name} has {controller.write_loops} write loops")
    for cache in report.caches:
        if cache.last_error and (not cache.synced or cache.state != "watching"):
            yield OperatorProblem(f"The watch of {cache.kind} fails: {cache.last_error}")
    if report.leader is not None and report.leader.last_error:
        yield OperatorProblem(f"Leader election fails: {report.leader.last_error}")
