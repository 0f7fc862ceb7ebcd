"""Readiness: whether an object has reached its desired state, by the rules of kstatus (sigs.k8s.io/cli-utils).

`readiness_of(obj)` is a pure function of one object. In order:

1. An object in deletion is `Terminating`.
2. A controller that has not observed the current generation makes it `InProgress`.
3. The conditions `Reconciling` and `Stalled` decide, if one is True.
4. Built-in kinds have their own rules: Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, Pod, Service,
   PersistentVolumeClaim, CustomResourceDefinition.
5. Of every other kind, the condition `Ready` decides if there is one. Objects without it are `Current`.

There are three differences from kstatus, because this decides what is applied next: a running Job is `InProgress`, a
failed Pod is `Failed`, and a workload that its controller has not observed yet is `InProgress`.
"""

from __future__ import annotations

from kubewright.controller.readiness._readiness import Readiness, ReadyState, readiness_of

__all__ = ["Readiness", "ReadyState", "readiness_of"]
