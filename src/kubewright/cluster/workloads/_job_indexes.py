"""Indexes of an Indexed Job's pods, and their format in the status: "0-2,5"."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kubewright.api import core

__all__ = ["of", "parse", "put", "text"]

_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_VARIABLE: Final = "JOB_COMPLETION_INDEX"


def of(pod: core.Pod) -> int | None:
    """Returns the index of a pod."""
    number = pod.metadata.annotations.get(_INDEX, "")
    return int(number) if number.isdigit() else None


def put(pod: core.Pod, number: int, job: str) -> None:
    """Sets the index of a new pod: annotation, label, host name and environment variable."""
    pod.metadata.annotations[_INDEX] = pod.metadata.labels[_INDEX] = str(number)
    pod.spec.hostname = f"{job}-{number}"
    source = core.EnvVarSource(field_ref=core.ObjectFieldSelector(field_path=f"metadata.labels['{_INDEX}']"))
    for container in (*(pod.spec.init_containers or ()), *pod.spec.containers):
        variables = container.env or []
        if not any(each.name == _VARIABLE for each in variables):
            container.env = [*variables, core.EnvVar(name=_VARIABLE, value_from=source)]


def parse(given: str | None) -> set[int | None]:
    """Parses a list of indexes."""
    numbers: set[int | None] = set()
    for part in (given or "").split(","):
        first, _, last = part.partition("-")
        if first:
            numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


def text(numbers: Iterable[int | None]) -> str:
    """Formats indexes; consecutive ones become a range."""
    ordered = sorted(number for number in numbers if number is not None)
    runs: list[list[int]] = []
    for number in ordered:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(_run(run) for run in runs)


def _run(run: list[int]) -> str:
    if len(run) == 1:
        return str(run[0])
    return f"{run[0]},{run[1]}" if len(run) == 2 else f"{run[0]}-{run[-1]}"
