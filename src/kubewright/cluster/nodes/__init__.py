"""Nodes without machines: what a scheduler and kubelets would do, as far as the API shows it.

`FakeNode` has a `Scheduler` bind pods to it and gives them the status that a `PodPlan` says: ready after a time,
failing, crashing again and again. In events they tell what a scheduler and a kubelet would tell of that. They work over
the API alone, with any client: on the embedded cluster, where `workloads` starts them, and on the real control plane,
where tests do (`kubewright.testing` exports `FakeNode`, too).

`add_node_calls` adds the calls about pods to an embedded server that only mean something where there are nodes: binding
and eviction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.cluster.nodes._calls import add_node_calls
    from kubewright.cluster.nodes._fakenode import FakeNode
    from kubewright.cluster.nodes._plan import Plan, PodPlan
    from kubewright.cluster.nodes._scheduler import Scheduler

__all__ = ["FakeNode", "Plan", "PodPlan", "Scheduler", "add_node_calls"]

# Behind a door that opens on first use: the server's own part needs none of the client's, nor of the kinds.
_HOMES = {
    "FakeNode": "_fakenode",
    "Plan": "_plan",
    "PodPlan": "_plan",
    "Scheduler": "_scheduler",
    "add_node_calls": "_calls",
}

if not TYPE_CHECKING:  # who checks types is told of names that are not there
    __getattr__ = lazy_exports(__name__, _HOMES)
