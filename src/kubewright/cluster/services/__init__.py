"""Services on loopback: how programs that run as pods on this machine reach each other, without root.

Pods have loopback addresses (`LoopbackAddresses`), and so have Services, whose range of cluster IPs is a
`LoopbackBlock`. `ServiceForwarder` listens there and forwards connections to pods. `service_environment` has the
variables of Services. `Listener` forwards the connections of one port. `port_conflicts` and `wildcard_ports` describe
programs that take each other's ports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.cluster.services._environment import service_environment
    from kubewright.cluster.services._forwarder import ServiceForwarder
    from kubewright.cluster.services._listener import Limit, Listener
    from kubewright.cluster.services._loopback import LoopbackAddresses, LoopbackBlock, NoLoopback
    from kubewright.cluster.services._ports import PodPorts, pod_target, port_conflicts, wildcard_ports
    from kubewright.cluster.services._shared_ports import PORTS_ANNOTATION, shared_port
    from kubewright.cluster.services._targets import Target, target_port

__all__ = [
    "PORTS_ANNOTATION",
    "Limit",
    "Listener",
    "LoopbackAddresses",
    "LoopbackBlock",
    "NoLoopback",
    "PodPorts",
    "ServiceForwarder",
    "Target",
    "pod_target",
    "port_conflicts",
    "service_environment",
    "shared_port",
    "target_port",
    "wildcard_ports",
]

# Imported on first use: a cluster needs the range of cluster IPs alone, without the API types.
_MODULES = {
    "PORTS_ANNOTATION": "_shared_ports",
    "Limit": "_listener",
    "Listener": "_listener",
    "LoopbackAddresses": "_loopback",
    "LoopbackBlock": "_loopback",
    "NoLoopback": "_loopback",
    "PodPorts": "_ports",
    "ServiceForwarder": "_forwarder",
    "Target": "_targets",
    "pod_target": "_ports",
    "port_conflicts": "_ports",
    "service_environment": "_environment",
    "shared_port": "_shared_ports",
    "target_port": "_targets",
    "wildcard_ports": "_ports",
}

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = lazy_exports(__name__, _MODULES)
