"""The controllers of every cluster: garbage collection, namespace deletion, service accounts and their token Secrets,
protection of volumes in use, and aggregated cluster roles.

They react to writes in a later turn of the event loop and write as `kube-controller-manager`. A response therefore
never contains their changes, and watches see them as on a real cluster, only sooner. At least one turn passes between
two requests of a client in this process, so their work is usually done by then; `Controllers.settled` waits for it.

Controllers of workloads (Deployments and so on) are in `kubewright.cluster.workloads`.
"""

from __future__ import annotations

from kubewright.cluster.controllers._controllers import Controllers

__all__ = ["Controllers"]
