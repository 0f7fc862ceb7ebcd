"""Simulated nodes: the API side of a scheduler and of kubelets, without containers.

A `Scheduler` binds pods to a `FakeNode`, which gives them the status that a `PodPlan` describes: ready after a delay,
failing, or crash looping. Both record the events that a real scheduler and kubelet record. They only use the API, with
any client: on the embedded cluster, where `workloads` starts them, and on a real control plane, where tests start them
(`kubewright.testing` exports `FakeNode` as well).

`add_node_calls` adds the subresources of pods that need nodes to an embedded server: binding and eviction.

The remaining names are for the controllers of `workloads` (disruption budgets, taints, node affinity, pod status) and
for nodes that run processes (`PodRunner`, events, background tasks).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.cluster.nodes._addresses import PodAddresses
    from kubewright.cluster.nodes._budgets import DISRUPTION_ALLOWED, SYNC_FAILED, set_disruption_allowed
    from kubewright.cluster.nodes._calls import add_node_calls
    from kubewright.cluster.nodes._fake_node import HEARTBEAT_SECONDS, FakeNode
    from kubewright.cluster.nodes._placement import NAME_FIELD, is_selected, required_terms, toleration_of, untolerated
    from kubewright.cluster.nodes._plan import Plan, PodPlan
    from kubewright.cluster.nodes._pod_events import KubeletEvents
    from kubewright.cluster.nodes._runner import PodRunner
    from kubewright.cluster.nodes._runtime_classes import RuntimeClasses
    from kubewright.cluster.nodes._scheduler import Scheduler
    from kubewright.cluster.nodes._status_writing import write_status
    from kubewright.cluster.nodes._tasks import BackgroundTasks

__all__ = [
    "DISRUPTION_ALLOWED",
    "HEARTBEAT_SECONDS",
    "NAME_FIELD",
    "SYNC_FAILED",
    "BackgroundTasks",
    "FakeNode",
    "KubeletEvents",
    "Plan",
    "PodAddresses",
    "PodPlan",
    "PodRunner",
    "RuntimeClasses",
    "Scheduler",
    "add_node_calls",
    "is_selected",
    "required_terms",
    "set_disruption_allowed",
    "toleration_of",
    "untolerated",
    "write_status",
]

# Imported on first use: `add_node_calls` needs neither the client nor the API types.
_MODULES = {
    "DISRUPTION_ALLOWED": "_budgets",
    "HEARTBEAT_SECONDS": "_fake_node",
    "NAME_FIELD": "_placement",
    "SYNC_FAILED": "_budgets",
    "BackgroundTasks": "_tasks",
    "FakeNode": "_fake_node",
    "KubeletEvents": "_pod_events",
    "Plan": "_plan",
    "PodAddresses": "_addresses",
    "PodPlan": "_plan",
    "PodRunner": "_runner",
    "RuntimeClasses": "_runtime_classes",
    "Scheduler": "_scheduler",
    "add_node_calls": "_calls",
    "is_selected": "_placement",
    "required_terms": "_placement",
    "set_disruption_allowed": "_budgets",
    "toleration_of": "_placement",
    "untolerated": "_placement",
    "write_status": "_status_writing",
}

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = lazy_exports(__name__, _MODULES)
