"""Tests against a real Kubernetes control plane, without a cluster.

`ControlPlane` runs etcd, kube-apiserver and, optionally, kube-controller-manager of a pinned Kubernetes version as
local processes, and injects faults. `FakeNode` acts as scheduler and kubelet, so that pods become Running and Ready.
The pytest plugin, which is active if Kubewright is installed, has the fixtures `control_plane`, `namespace` and
`client`.

`verified_rbac` and `pytest --kubewright-rbac` compare the API calls of operators with their roles (`rbac`).
`add_operator_account` and `operator_client` run an operator with only the permissions of its roles.

`check_round_trips` checks that conversions between versions lose nothing; `objects_of` is a Hypothesis strategy for
objects of a kind.

`setup_binaries` finds, downloads or builds the binaries, once per machine (`binaries`). Every failure is a
`ControlPlaneError` whose message has the fix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.cluster.nodes import FakeNode, PodPlan
    from kubewright.testing._controlplane import ControlPlane
    from kubewright.testing._errors import ControlPlaneError, SetupError
    from kubewright.testing._gateway import Exchange, Fault, Gateway, Refusal, every
    from kubewright.testing._objects import objects_of
    from kubewright.testing._proxy import Proxy
    from kubewright.testing._real_cluster import RealCluster
    from kubewright.testing._round_trips import check_round_trips
    from kubewright.testing._service_account import ServiceAccount
    from kubewright.testing.binaries import ETCD_VERSION, KUBERNETES_VERSION, find_binaries, setup_binaries
    from kubewright.testing.rbac import (
        ApiCall,
        CallRecorder,
        RbacError,
        RbacReport,
        add_operator_account,
        operator_client,
        verified_rbac,
    )

__all__ = [
    "ETCD_VERSION",
    "KUBERNETES_VERSION",
    "ApiCall",
    "CallRecorder",
    "ControlPlane",
    "ControlPlaneError",
    "Exchange",
    "FakeNode",
    "Fault",
    "Gateway",
    "PodPlan",
    "Proxy",
    "RbacError",
    "RbacReport",
    "RealCluster",
    "Refusal",
    "ServiceAccount",
    "SetupError",
    "add_operator_account",
    "check_round_trips",
    "every",
    "find_binaries",
    "objects_of",
    "operator_client",
    "setup_binaries",
    "verified_rbac",
]

# Imported on first use: the plugin and the command line are loaded far more often than these are used.
_MODULES = {
    "ETCD_VERSION": "kubewright.testing.binaries",
    "KUBERNETES_VERSION": "kubewright.testing.binaries",
    "ApiCall": "kubewright.testing.rbac",
    "CallRecorder": "kubewright.testing.rbac",
    "ControlPlane": "_controlplane",
    "ControlPlaneError": "_errors",
    "Exchange": "_gateway",
    "FakeNode": "kubewright.cluster.nodes",
    "Fault": "_gateway",
    "Gateway": "_gateway",
    "PodPlan": "kubewright.cluster.nodes",
    "Proxy": "_proxy",
    "RealCluster": "_real_cluster",
    "RbacError": "kubewright.testing.rbac",
    "RbacReport": "kubewright.testing.rbac",
    "Refusal": "_gateway",
    "ServiceAccount": "_service_account",
    "SetupError": "_errors",
    "add_operator_account": "kubewright.testing.rbac",
    "check_round_trips": "_round_trips",
    "every": "_gateway",
    "find_binaries": "kubewright.testing.binaries",
    "objects_of": "_objects",
    "operator_client": "kubewright.testing.rbac",
    "setup_binaries": "kubewright.testing.binaries",
    "verified_rbac": "kubewright.testing.rbac",
}

if not TYPE_CHECKING:  # type checkers report unknown names
    __getattr__ = lazy_exports(__name__, _MODULES)
