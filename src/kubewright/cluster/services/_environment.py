"""`service_environment`: the variables that tell a container where Services are, as the kubelet makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from kubewright.api import core

__all__ = ["PortAddress", "service_environment"]

PortAddress: TypeAlias = Callable[[core.Service, core.ServicePort], tuple[str, int]]
"""Returns host and port at which a port of a Service is reached."""

_API_SERVER: Final = ("default", "kubernetes")
_TCP: Final = "TCP"


def service_environment(
    services: Iterable[core.Service],
    namespace: str,
    *,
    enable_service_links: bool = True,
    address_of: PortAddress | None = None,
) -> dict[str, str]:
    """Returns the variables for pods of a namespace: `FOO_SERVICE_HOST`, `FOO_SERVICE_PORT`, `FOO_PORT`, and so on.

    These are the variables of all Services of the namespace that have a cluster IP, and of `default/kubernetes`; only
    the latter if the pod has `enableServiceLinks: false`. A Service `kubernetes` of the namespace takes precedence.

    Args:
        services: the Services of the cluster.
        namespace: of the pod.
        enable_service_links: `spec.enableServiceLinks` of the pod.
        address_of: where each port is reached, if not at its cluster IP: see `ServiceForwarder.address_of`.
    """
    chosen: dict[str, core.Service] = {}
    for service in services:
        metadata = service.metadata
        if service.spec.cluster_ip in (None, "", "None"):
            continue
        if metadata.namespace == namespace and enable_service_links:
            chosen[metadata.name] = service
        elif (metadata.namespace, metadata.name) == _API_SERVER:
            chosen.setdefault(metadata.name, service)
    made: dict[str, str] = {}
    for service in chosen.values():
        made |= _variables(service, address_of or _cluster_address)
    return made


def _cluster_address(service: core.Service, port: core.ServicePort) -> tuple[str, int]:
    return service.spec.cluster_ip or "", port.port


def _variables(service: core.Service, address_of: PortAddress) -> dict[str, str]:
    prefix, made = _variable_name(service.metadata.name), dict[str, str]()
    for index, port in enumerate(service.spec.ports or ()):
        host, number = address_of(service, port)
        protocol = port.protocol or _TCP
        url = f"{protocol.lower()}://{f'[{host}]' if ':' in host else host}:{number}"
        if index == 0:
            made |= {f"{prefix}_SERVICE_HOST": host, f"{prefix}_SERVICE_PORT": str(number), f"{prefix}_PORT": url}
        if port.name:
            made[f"{prefix}_SERVICE_PORT_{_variable_name(port.name)}"] = str(number)
        link = f"{prefix}_PORT_{port.port}_{protocol.upper()}"
        made |= {link: url, f"{link}_PROTO": protocol.lower(), f"{link}_PORT": str(number), f"{link}_ADDR": host}
    return made


def _variable_name(name: str) -> str:
    return name.replace("-", "_").upper()
