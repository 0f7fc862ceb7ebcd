"""The parts of an embedded server outside its core, which `Cluster` installs."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewright.client import Client, Transport
from kubewright.clock import Clock
from kubewright.cluster._state import SERVICE_RANGE, State
from kubewright.cluster.access import CreationByUpdate, NoEscalation
from kubewright.cluster.admission.webhooks import add_webhooks
from kubewright.cluster.certificates import add_certificates
from kubewright.cluster.classes import DefaultIngressClass, DefaultStorageClass, Priorities
from kubewright.cluster.crds import Definitions
from kubewright.cluster.dispatch._dispatcher import Dispatcher
from kubewright.cluster.limits import ClaimResize, LimitRanger, QuotaAdmission
from kubewright.cluster.nodes import RuntimeClasses, add_node_calls
from kubewright.cluster.pod_security import PodSecurity
from kubewright.cluster.policies import add_policies
from kubewright.cluster.protobuf import CONTENT_TYPE, read_protobuf
from kubewright.cluster.registry.strategies._services import track_services
from kubewright.cluster.storage._storage import Storage

if TYPE_CHECKING:
    from kubewright.cluster.audit._log import AuditLog
    from kubewright.cluster.services import LoopbackBlock, ServiceForwarder

__all__ = ["ClusterError", "ServiceRange", "install_features", "open_audit_log"]

_LOOPBACK: Final = "loopback"
_UNCLAIMED: Final = ipaddress.IPv4Network("127.32.0.0/20")


class ClusterError(RuntimeError):
    """The cluster cannot do what was requested; the message says why."""


def open_audit_log(path: Path, clock: Clock) -> AuditLog:
    """Opens the audit log. Raises `ClusterError`."""
    from kubewright.cluster.audit._log import AuditLog

    try:
        return AuditLog(path, clock)
    except OSError as error:
        reason = error.strerror or error
        raise ClusterError(
            f"cannot write the audit log {path}: {reason}; choose a file in a writable folder"
        ) from error


def install_features(dispatcher: Dispatcher, *, runs_pods: bool = False) -> None:
    """Adds the parts outside the core: custom resources, protobuf, admission plugins, and the endpoints of pods.

    With `runs_pods`, pods get the token of their service account, as on a real cluster.
    """
    state = dispatcher.state
    state.decoders[CONTENT_TYPE] = read_protobuf
    definitions = Definitions(state, dispatcher.write)
    dispatcher.overrides.append(definitions.override)
    dispatcher.supported.add(definitions.resource)
    definitions.start()
    state.restored.append(definitions.restored)
    add_webhooks(dispatcher)
    add_policies(dispatcher)
    add_certificates(dispatcher)
    state.admission.add(LimitRanger(state))
    state.admission.add(QuotaAdmission(state))
    state.admission.add(ClaimResize(state))
    for plugin in (PodSecurity, RuntimeClasses, Priorities, DefaultStorageClass, DefaultIngressClass):
        state.admission.add(plugin(state))
    if dispatcher.access.authorizer.rbac:
        state.admission.add(CreationByUpdate(dispatcher.access.authorizer))
        state.admission.add(NoEscalation(dispatcher.access.authorizer))
    if runs_pods:
        from kubewright.cluster.processes import ServiceAccounts

        state.admission.add(ServiceAccounts(state))
    add_node_calls(dispatcher)
    track_services(state)


class ServiceRange:
    """The range of cluster IPs of a cluster. If it is on loopback, its Services are forwarded to pods.

    `wanted` is a CIDR, "loopback" for a free one on loopback, or empty for the default. Raises `ClusterError`.
    """

    def __init__(self, wanted: str, storage: Storage) -> None:
        self.network, self._block = _claimed(wanted, storage)
        self._forwarder: ServiceForwarder | None = None

    async def start(self, state: State, transport: Transport) -> None:
        """Forwards the ports of Services, if their addresses are on loopback, and calls of webhooks to them."""
        if not state.runs_pods:
            return
        from kubewright.cluster.services import ServiceForwarder

        client = Client(transport=transport, clock=state.clock)
        self._forwarder = await ServiceForwarder(client, clock=state.clock).__aenter__()
        state.webhook_client.route = self._forwarder.address_with_targets

    async def stop(self) -> None:
        """Stops forwarding, and makes the range available to other clusters."""
        if self._forwarder is not None:
            forwarder, self._forwarder = self._forwarder, None
            await forwarder.__aexit__(None, None, None)
        if self._block is not None:
            self._block.close()

    @property
    def forwarder(self) -> ServiceForwarder:
        """The forwarder. Raises `ClusterError` if there is none."""
        if self._forwarder is None:
            raise ClusterError('cluster IPs are not on loopback; start the cluster with service_range="loopback"')
        return self._forwarder


def _claimed(wanted: str, storage: Storage) -> tuple[ipaddress.IPv4Network, LoopbackBlock | None]:
    """Returns the range, and what claims it on this machine if it is on loopback. Raises `ClusterError`."""
    if not wanted:
        return SERVICE_RANGE, None
    from kubewright.cluster.services import LoopbackBlock, NoLoopback

    try:
        network = _stored_range(storage) if wanted == _LOOPBACK else ipaddress.IPv4Network(wanted)
    except ValueError as error:
        raise ClusterError(f'service_range must be "loopback" or a range such as 127.32.0.0/20: {error}') from None
    if network is not None and not network.is_loopback:
        return network, None
    try:
        block = LoopbackBlock.for_services(None if network is None else str(network))
    except NoLoopback:  # Services are reached on other ports of 127.0.0.1
        return network or _UNCLAIMED, None
    except OSError as error:
        raise ClusterError(
            f"the range of cluster IPs {network or wanted} is not available: {error.strerror}; another cluster uses it"
        ) from None
    return block.network, block


def _stored_range(storage: Storage) -> ipaddress.IPv4Network | None:
    """Returns the range in a snapshot, if it is on loopback: the stored Services have addresses in it."""
    found = storage.get("networking.k8s.io/servicecidrs", "", "kubernetes")
    cidrs = [] if found is None else (found.decode().get("spec") or {}).get("cidrs") or []
    networks = [ipaddress.IPv4Network(cidr) for cidr in cidrs if ":" not in cidr]
    return next((network for network in networks if network.is_loopback), None)
