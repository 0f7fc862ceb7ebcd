"""Workloads in the embedded cluster: the work of kube-controller-manager, a scheduler and kubelets.

`Cluster(workloads=True)` starts them, or `Cluster(workloads=Workloads(plan=...))`, which sets how pods behave:

- Deployments create ReplicaSets, which create pods; rolling updates respect maxSurge and maxUnavailable;
- ReplicationControllers, StatefulSets, DaemonSets and Jobs create pods, and CronJobs create Jobs;
- pods are bound to simulated nodes and become ready, fail or crash, as their `PodPlan` describes;
- claims get volumes, and Services get Endpoints and EndpointSlices of their pods;
- Endpoints that users write for Services without a selector are mirrored to EndpointSlices;
- with `Workloads(processes=Images(...))`, pods with mapped images run as processes (`kubewright.cluster.processes`);
- the allowed disruptions of disruption budgets are computed, for evictions.

The controllers are an ordinary `Operator`: it runs in this process, with a client and the clock of the cluster.
Statuses, conditions, names and events match those of the real controllers; tests compare the results of both. Only the
hash in the names of ReplicaSets differs.

Not supported: HorizontalPodAutoscalers.
"""

from __future__ import annotations

from kubewright.cluster.workloads._bounded import REQUESTS_PER_TURN, workloads_transport
from kubewright.cluster.workloads._nodes import toleration_seconds
from kubewright.cluster.workloads._workloads import RunningWorkloads, Workloads, controller_manager, usual_plan

__all__ = [
    "REQUESTS_PER_TURN",
    "RunningWorkloads",
    "Workloads",
    "controller_manager",
    "toleration_seconds",
    "usual_plan",
    "workloads_transport",
]
