"""`ServiceForwarder`: makes the Services of a cluster reachable on this machine, as kube-proxy does on a node."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
from collections.abc import Iterator
from typing import Final, NamedTuple, Self, TypeVar
from urllib.parse import urlsplit

from kubewright.api import Object, core, discovery
from kubewright.client import Client
from kubewright.clock import Clock, SystemClock
from kubewright.cluster.nodes._following import follow
from kubewright.cluster.nodes._tasks import BackgroundTasks
from kubewright.cluster.services._environment import service_environment
from kubewright.cluster.services._listener import Limit, Listener
from kubewright.cluster.services._targets import Target, selected_targets, slice_targets
from kubewright.events import EventRecorder

__all__ = ["ServiceForwarder"]

logger = logging.getLogger("kubewright.services")
R = TypeVar("R", bound=Object)

_COMPONENT: Final = "kubewright-services"
_API_SERVER: Final = ("default", "kubernetes")
_HOST: Final = "127.0.0.1"
_TCP: Final = "TCP"
_PORTS: Final = {"http": 80, "https": 443}
_AFFINITY_SECONDS: Final = 10_800
_RETRY_SECONDS: Final = 5.0
_MAX_PORTS: Final = 5000


class _ListenAddress(NamedTuple):
    """The address at which a port of a Service must listen."""

    host: str
    port: int
    affinity: float | None


class _Key(NamedTuple):
    """A port of a Service: at its cluster IP, or at its node port."""

    uid: str
    port: int
    node_port: bool


class ServiceForwarder:
    """Listens at the cluster IPs and node ports of all Services, and forwards TCP connections to their pods.

        async with ServiceForwarder(client) as forwarder:
            host, port = forwarder.address("default", "web", 80)

    It uses the API alone, on the embedded cluster and on a real API server. A Service with a selector leads to its
    ready pods on loopback, because a real API server accepts no loopback addresses in EndpointSlices. One without a
    selector leads to its EndpointSlices, and `default/kubernetes` to the API server.

    Cluster IPs must be loopback addresses of this machine: start the cluster with such a range, see `LoopbackBlock`. If
    an address or port is not available, the forwarder listens on another port, records a warning event of the Service,
    and tries again. `address` returns the actual one. Node ports are on 127.0.0.1.

    Args:
        client: may list and watch Services, Pods and EndpointSlices, and create events.
        api_server: host and port for `default/kubernetes`. Default: those of the client's configuration.
        max_connections: at most this many at a time; more are reset.
        clock: for retries.
    """

    def __init__(
        self,
        client: Client,
        *,
        api_server: tuple[str, int] | None = None,
        max_connections: int = 2000,
        clock: Clock | None = None,
    ) -> None:
        self.api_server = api_server or _server_of(client)
        """Host and port for `default/kubernetes`; None for its EndpointSlices."""
        self._client = client
        self._clock = clock or SystemClock()
        self._limit = Limit(max_connections)
        self._services: dict[str, core.Service] = {}
        self._pods: dict[str, core.Pod] = {}
        self._slices: dict[str, discovery.EndpointSlice] = {}
        self._listeners: dict[_Key, tuple[_ListenAddress, Listener]] = {}
        self._leaving: list[Listener] = []  # closed ones with connections
        self._missed: set[_Key] = set()
        self._changed = asyncio.Event()
        self._version = 0
        self._known: dict[tuple[str, int], tuple[int, list[Target]]] = {}
        self._tasks = BackgroundTasks("the forwarder of Services", self._clock)
        self._events = EventRecorder(client, _COMPONENT, clock=self._clock)

    async def __aenter__(self) -> Self:
        self._events.start()
        # The ports are open when the block begins.
        self._services = {service.metadata.uid: service for service in await self._client.list(core.Service)}
        await self._update()
        self._tasks.start(self._follow(core.Service, self._services))
        self._tasks.start(self._follow(core.Pod, self._pods))
        self._tasks.start(self._follow(discovery.EndpointSlice, self._slices))
        self._tasks.start(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tasks.end()
        for listener in (*(listener for _, listener in self._listeners.values()), *self._leaving):
            await listener.close()
        self._listeners.clear()
        await self._events.close()
        self._tasks.check()

    # Addresses

    def address(self, namespace: str, name: str, port: int) -> tuple[str, int] | None:
        """Returns host and port at which a port of a Service is reached; None if it is unknown or has no address."""
        service = self._find(namespace, name)
        found = None if service is None else self._listeners.get(_Key(service.metadata.uid, port, node_port=False))
        return None if found is None else found[1].address

    def address_of(self, service: core.Service, port: core.ServicePort) -> tuple[str, int]:
        """Returns where a port of a Service is reached, for `service_environment`; default: its cluster IP."""
        found = self.address(service.metadata.namespace or "", service.metadata.name, port.port)
        return found or (service.spec.cluster_ip or "", port.port)

    def environment(self, pod: core.Pod) -> dict[str, str]:
        """Returns the variables of Services for a pod, with the addresses at which this forwarder listens."""
        return service_environment(
            self._services.values(),
            pod.metadata.namespace or "",
            enable_service_links=pod.spec.enable_service_links is not False,
            address_of=self.address_of,
        )

    def targets(self, namespace: str, name: str, port: int) -> list[tuple[str, int]]:
        """Returns the addresses that a port of a Service leads to now."""
        service = self._find(namespace, name)
        return [] if service is None else [*self._targets(service.metadata.uid, port)]

    def address_with_targets(self, namespace: str, name: str, port: int) -> tuple[str, int] | None:
        """Returns `address` if it leads to a target now; else None."""
        return self.address(namespace, name, port) if self.targets(namespace, name, port) else None

    def _find(self, namespace: str, name: str) -> core.Service | None:
        for service in self._services.values():
            if (service.metadata.namespace, service.metadata.name) == (namespace, name):
                return service
        return None

    def _targets(self, uid: str, number: int) -> list[Target]:
        known = self._known.get((uid, number))
        if known is not None and known[0] == self._version:
            return known[1]
        service = self._services.get(uid)
        ports = service.spec.ports or () if service is not None else ()
        port = next((each for each in ports if each.port == number and (each.protocol or _TCP) == _TCP), None)
        if service is None or port is None:
            found = []
        elif (service.metadata.namespace, service.metadata.name) == _API_SERVER and self.api_server is not None:
            found = [Target(*self.api_server)]
        elif service.spec.selector:
            found = selected_targets(service, port, self._pods.values())
        else:
            found = slice_targets(service, port, self._slices.values())
        self._known[uid, number] = (self._version, found)
        return found

    # The cluster

    async def _follow(self, kind: type[R], known: dict[str, R]) -> None:
        def seen(obj: R) -> None:
            known[obj.metadata.uid] = obj
            self._notice(kind)

        def gone(uid: str) -> None:
            known.pop(uid, None)
            self._notice(kind)

        await follow(self._client, kind, None, self._clock, seen=seen, gone=gone, known=known)

    def _notice(self, kind: type[Object]) -> None:
        self._version += 1
        if kind is core.Service:
            self._changed.set()

    # Listeners

    async def _run(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            await self._update()

    async def _update(self) -> None:
        """Opens and closes listeners, so that each port of each Service has one."""
        wanted = {key: place for service in self._services.values() for key, place in _places(service)}
        if len(wanted) > _MAX_PORTS:
            logger.warning("the Services have %d ports: only %d are forwarded", len(wanted), _MAX_PORTS)
            wanted = dict(list(wanted.items())[:_MAX_PORTS])
        for key in [key for key, (place, _) in self._listeners.items() if wanted.get(key) != place]:
            self._retire(self._listeners.pop(key)[1])
            self._missed.discard(key)
        for key, place in wanted.items():
            if key not in self._listeners or key in self._missed:
                await self._open(key, place)
        self._known = {key: value for key, value in self._known.items() if key[0] in self._services}
        self._leaving = [listener for listener in self._leaving if listener.busy]
        if self._missed:
            self._clock.call_later(_RETRY_SECONDS, self._changed.set)

    async def _open(self, key: _Key, place: _ListenAddress) -> None:
        before = self._listeners.get(key)
        listener = Listener(lambda: self._targets(key.uid, key.port), self._limit, affinity=place.affinity)
        if before is not None:  # a second attempt: the listener of the first one stays if it fails
            if not await listener.listen(place.host, place.port):
                return
            self._retire(before[1])
        elif (problem := await listener.listen_anywhere(place.host, place.port)) is not None:
            if problem.errno != errno.EACCES:
                self._missed.add(key)
            self._listeners[key] = (place, listener)
            self._report(key, place, listener, problem)
            return
        self._missed.discard(key)
        self._listeners[key] = (place, listener)

    def _retire(self, listener: Listener) -> None:
        listener.stop_listening()
        self._leaving.append(listener)

    def _report(self, key: _Key, place: _ListenAddress, listener: Listener, problem: OSError) -> None:
        service = self._services.get(key.uid)
        host, port = listener.address
        text = (
            f"cannot listen at {place.host}:{place.port}: {problem.strerror or problem}. Connections are accepted at "
            f"{host}:{port} instead"
        )
        if problem.errno == errno.EACCES:
            text += (
                ". Ports below 1024 need privileges: use another port, or allow them with "
                "`sysctl net.ipv4.ip_unprivileged_port_start=0`"
            )
        logger.warning("Service %s/%s: %s", *_name_of(service), text)
        if service is not None:
            self._events.record(service, "ListenFailed", text, "Warning", action="Listening")


def _places(service: core.Service) -> Iterator[tuple[_Key, _ListenAddress]]:
    """Yields where the ports of a Service listen: at its cluster IP, and at its node ports."""
    spec, uid = service.spec, service.metadata.uid
    if spec.type == "ExternalName":
        return
    affinity = _affinity(spec)
    for port in spec.ports or ():
        if (port.protocol or _TCP) != _TCP:
            continue
        if spec.cluster_ip and spec.cluster_ip != "None":
            # Another range is not available on this machine, and any port does.
            local = _is_loopback(spec.cluster_ip)
            place = (
                _ListenAddress(spec.cluster_ip, port.port, affinity) if local else _ListenAddress(_HOST, 0, affinity)
            )
            yield _Key(uid, port.port, node_port=False), place
        if port.node_port:
            yield _Key(uid, port.port, node_port=True), _ListenAddress(_HOST, port.node_port, affinity)


def _affinity(spec: core.ServiceSpec) -> float | None:
    if spec.session_affinity != "ClientIP":
        return None
    config = spec.session_affinity_config
    seconds = config.client_ip.timeout_seconds if config is not None and config.client_ip is not None else None
    return float(seconds or _AFFINITY_SECONDS)


def _name_of(service: core.Service | None) -> tuple[str, str]:
    return ("", "") if service is None else (service.metadata.namespace or "", service.metadata.name)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.IPv4Address(address).is_loopback
    except ValueError:
        return False


def _server_of(client: Client) -> tuple[str, int] | None:
    if client.config is None:
        return None
    parts = urlsplit(client.config.server)
    return (parts.hostname, parts.port or _PORTS.get(parts.scheme, 443)) if parts.hostname else None
