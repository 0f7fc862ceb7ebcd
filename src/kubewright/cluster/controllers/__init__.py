"""The controllers that every cluster has: garbage collection, the emptying of namespaces, service accounts and Secrets
with their tokens, the protection of volumes that are in use, and cluster roles that are made of others.

They react to writes, a turn of the event loop later, and write themselves in the name of `kube-controller-manager`. So
an answer never contains what they do, and whoever watches sees it as on a real cluster, only sooner. Between two
requests of one client in the same process at least one turn passes, so that their work is usually done by then;
`Controllers.settled` waits until it is.

Workloads (Deployments that get pods, and so on) are not among them: see `kubewright.cluster.workloads`.
"""

from __future__ import annotations

from kubewright.cluster.controllers._controllers import Controllers

__all__ = ["Controllers"]
