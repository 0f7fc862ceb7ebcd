"""The targets of a port of a Service: the addresses of its pods, or of its EndpointSlices."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import NamedTuple

from kubewright.api import Selector, core, discovery
from kubewright.cluster.services._ports import pod_target

__all__ = ["Target", "selected_targets", "slice_targets", "target_port"]

_ENDED = ("Succeeded", "Failed")


class Target(NamedTuple):
    """An address that accepts connections."""

    host: str
    port: int


def target_port(port: core.ServicePort, pod: core.Pod) -> int | None:
    """Returns the port of a pod that a port of a Service leads to; None if the pod has no port of that name."""
    target = port.target_port or port.port
    if isinstance(target, int):
        return target
    sidecars = [each for each in pod.spec.init_containers or () if each.restart_policy == "Always"]
    named = (each for container in (*pod.spec.containers, *sidecars) for each in container.ports or ())
    protocol = port.protocol or "TCP"
    return next(
        (each.container_port for each in named if each.name == target and (each.protocol or "TCP") == protocol), None
    )


def selected_targets(service: core.Service, port: core.ServicePort, pods: Iterable[core.Pod]) -> list[Target]:
    """Returns the targets of a port of a Service with a selector, by the state of its pods.

    These are the ready pods on loopback; if there are none, those that are ready but being deleted, as in kube-proxy.
    Pods with other addresses are simulated ones: there is nothing to connect to.
    """
    selector = Selector.from_labels(service.spec.selector or {})
    ready: list[Target] = []
    ending: list[Target] = []
    for pod in pods:
        if pod.metadata.namespace != service.metadata.namespace or not selector.matches(pod.metadata.labels):
            continue
        number = target_port(port, pod)
        target = None if number is None else pod_target(pod, number)
        if target is None or not _is_loopback(target[0]) or pod.status.phase in _ENDED:
            continue
        if _is_ready(pod) or service.spec.publish_not_ready_addresses:
            (ready if pod.metadata.deletion_timestamp is None else ending).append(Target(*target))
    return sorted(ready or ending)


def slice_targets(
    service: core.Service, port: core.ServicePort, slices: Iterable[discovery.EndpointSlice]
) -> list[Target]:
    """Returns the targets of a port of a Service without a selector: the ready endpoints of its EndpointSlices.

    As in kube-proxy, endpoints that serve until they are deleted are used if there are no others.
    """
    ready: set[Target] = set()
    ending: set[Target] = set()
    for piece in slices:
        labels = piece.metadata.labels or {}
        if piece.metadata.namespace != service.metadata.namespace or piece.address_type == "FQDN":
            continue
        if labels.get("kubernetes.io/service-name") != service.metadata.name:
            continue
        numbers = [each.port for each in piece.ports or () if (each.name or "") == (port.name or "")]
        number = next((each for each in numbers if each), None)
        if number is None:
            continue
        for endpoint in piece.endpoints or ():
            conditions = endpoint.conditions
            target = Target(endpoint.addresses[0], number)
            if conditions is None or conditions.ready is not False:
                ready.add(target)
            elif conditions.serving and conditions.terminating:
                ending.add(target)
    return sorted(ready or ending)


def _is_ready(pod: core.Pod) -> bool:
    return any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions or ())


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
