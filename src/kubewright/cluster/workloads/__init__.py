"""Workloads in the embedded cluster: what kube-controller-manager, a scheduler and kubelets would do.

`Cluster(workloads=True)` starts them, or `Cluster(workloads=Workloads(plan=...))`, which says what becomes of pods:

- Deployments make ReplicaSets, and those pods; rolling updates keep to maxSurge and maxUnavailable;
- StatefulSets, DaemonSets and Jobs make pods as theirs do, and CronJobs make Jobs;
- pods are bound to nodes without machines and become ready, fail or crash, as their `PodPlan` says;
- claims get volumes, and Services get Endpoints and EndpointSlices of their pods;
- disruption budgets are counted, for the evictions that spend them.

The controllers are an operator, written with the same `Operator` as everybody's: it runs in this process, on a client
of the cluster, by the cluster's clock. Statuses, conditions, names and events are those of the real controllers; the
tests compare what both leave. The hash in the names of ReplicaSets is another one.

Not there: HorizontalPodAutoscalers, and everything that needs machines.
"""

from __future__ import annotations

from kubewright.cluster.workloads._signing import SigningTransport
from kubewright.cluster.workloads._workloads import RunningWorkloads, Workloads, usual_plan

__all__ = ["RunningWorkloads", "SigningTransport", "Workloads", "usual_plan"]
