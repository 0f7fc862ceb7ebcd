"""The explorer: finds crash, staleness and misoperation bugs of an operator, without any code for tests.

    report = await explore(operator, samples=["example-foo.yaml"], minutes=5)
    assert report.findings == []

`run_exploration` is the same without an event loop.

It runs the operator thousands of times on embedded clusters in virtual time: stories from the samples and the schema,
undisturbed and with faults at every write. Oracles compare the final states of the runs. Each finding has a plan, which
`replay` runs again.

The rooms below this one, in the order of their imports: `model` (plans, outcomes, findings), `worlds` (comparable
objects, masks), `oracles`, `workloads` (stories), `faults` (plans), `runner` (processes that run plans), `reports`,
and `search`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.explore._explore import ExploreError, Progress, explore, replay, run_exploration, target_of
    from kubewright.explore.model import Finding, Report

__all__ = ["ExploreError", "Finding", "Progress", "Report", "explore", "replay", "run_exploration", "target_of"]

_MODULES = {
    "ExploreError": "_explore",
    "Finding": "kubewright.explore.model",
    "Progress": "_explore",
    "Report": "kubewright.explore.model",
    "explore": "_explore",
    "replay": "_explore",
    "run_exploration": "_explore",
    "target_of": "_explore",
}

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
