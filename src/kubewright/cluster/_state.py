"""The state that all parts of the server share: storage, resource types, clock, randomness, decoders, watches."""

from __future__ import annotations

import asyncio
import ipaddress
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from kubewright.api import format_time
from kubewright.clock import Clock
from kubewright.cluster.admission import Chain
from kubewright.cluster.machinery._failures import Failure
from kubewright.cluster.machinery._identities import Identities, uuid_of
from kubewright.cluster.machinery._resources import JSONObject, ResourceType, ResourceTypes
from kubewright.cluster.machinery._slow_callbacks import SlowCallbacks
from kubewright.cluster.storage._storage import Event, Storage
from kubewright.cluster.webhooks._client import WebhookClient

if TYPE_CHECKING:
    from kubewright.certificates import CertificateAuthority
    from kubewright.cluster.merge import FieldManager
    from kubewright.cluster.openapi import CustomKind

__all__ = ["SERVICE_RANGE", "Decoder", "Delay", "Gate", "State", "Watcher"]

SERVICE_RANGE: Final = ipaddress.IPv4Network("10.96.0.0/16")
"""The default range of cluster IPs."""

_AUTHORITY_LIFE: Final = timedelta(days=3650)

Decoder: TypeAlias = Callable[[bytes, ResourceType | None], JSONObject]
"""Decodes a body that is neither JSON nor YAML. The second argument is the resource of the request, if any.

Raises `UnreadableObject`.
"""


class Delay:
    """How long a laboratory holds a controller back. Compared by identity, so that each delay ends only itself."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


class Watcher(Protocol):
    """An open watch: the stream of a watch response."""

    @property
    def storage(self) -> str:
        """The storage name of the objects that it shows."""

    @property
    def user(self) -> str:
        """The user that watches."""

    @property
    def client(self) -> str:
        """The User-Agent of the client that watches."""

    def deliver(self, frame: bytes) -> None:
        """Sends a frame to the client, after the frames that it has not read yet."""

    def fail(self, failure: Failure) -> None:
        """Ends the watch with an ERROR event."""

    def end(self) -> None:
        """Queues no further events. The client reads the queued ones, then the end of the stream."""

    def close(self) -> None:
        """Ends the watch immediately. Further calls do nothing."""


class Gate(Protocol):
    """Limits what clients see; the laboratory implements it."""

    def holds(self, watcher: Watcher, frame: bytes, event: Event | None) -> bool:
        """Returns whether to withhold a frame of a watch for now. `event` is None for a bookmark."""

    def disturbs(self, storage: str) -> bool:
        """Returns whether frames of watches of a kind may be withheld."""

    def horizon(self, storage: str, user: str, client: str) -> int | None:
        """Returns the revision of the cache that serves reads of a kind to a client; None for the newest."""


class State:
    """The state of one server. All writes go through `storage`."""

    def __init__(
        self,
        *,
        types: ResourceTypes,
        clock: Clock,
        rng: random.Random,
        storage: Storage | None = None,
        service_range: ipaddress.IPv4Network = SERVICE_RANGE,
    ) -> None:
        self.types = types
        self.clock = clock
        self.rng = rng
        self.storage = storage or Storage()
        self.identities = Identities(rng, self.storage.revision)
        """The uids and generated names of objects."""
        self.service_range = service_range
        """The range of cluster IPs. On loopback, pods are programs on this machine."""
        self.watchers: dict[Watcher, None] = {}
        """The open watches. They end with the server."""
        self.watch_backlog = False
        """Whether a watch has a large backlog; see `yield_to_watches`."""
        self._empty: dict[ResourceType, JSONObject] = {}
        self._second = -1
        self._now = ""
        self.decoders: dict[str, Decoder] = {}
        """Decoders of media types other than JSON and YAML, such as protobuf."""
        self.custom_kinds: Callable[[], Sequence[CustomKind]] = tuple
        """Returns the kinds of CRDs, for OpenAPI documents."""
        self.managers: dict[tuple[ResourceType, str], FieldManager] = {}
        self.admission = Chain()
        """The admission plugins; see `kubewright.cluster.admission`."""
        self.webhook_client = WebhookClient(self.storage, clock)
        """Calls webhooks."""
        self.gate: Gate | None = None
        """Limits what clients see, if a laboratory is in use."""
        self.delays: dict[str, Delay] = {}
        """The delays of controllers that a laboratory holds back, by the name of the controller."""
        self.delays_changed: list[Callable[[], None]] = []
        """Called when such a delay has ended, or another one has replaced it."""
        self.restored: list[Callable[[], None]] = []
        """Called after all objects were restored, so that state outside the storage can be rebuilt."""
        self.slow_callbacks: SlowCallbacks | None = None
        """Measures requests and controllers, if the cluster listens on a port."""
        self.ca_certificate = ""
        """The CA certificate of the server in PEM; empty if it is not served over TLS."""
        self._authority: CertificateAuthority | None = None

    @property
    def runs_pods(self) -> bool:
        """Whether pods and Services have loopback addresses, so that this server accepts and calls them."""
        return self.service_range.is_loopback

    @property
    def authority(self) -> CertificateAuthority:
        """The cluster's CA: it issues the certificates of the server and of its clients. Created on first use.

        It is valid now and for ten years, both by the time of this machine, which clients use, and by the cluster's.
        """
        if self._authority is None:
            from kubewright.certificates import CertificateAuthority  # imports cryptography, which is slow

            times = (datetime.now(UTC), self.clock.now())
            life = max(times) - min(times) + _AUTHORITY_LIFE
            self._authority = CertificateAuthority("kubewright-cluster", now=min(times), life=life)
        return self._authority

    async def yield_to_watches(self) -> None:
        """Called after each write: lets clients read watches with a large backlog, which more writes would end."""
        if self.watch_backlog:
            self.watch_backlog = False
            await asyncio.sleep(0)

    def end_watches(self, storage: str = "", matches: Callable[[Watcher], bool] = lambda _: True) -> int:
        """Ends the open watches of a storage name, by default all. Returns their number."""
        found = [each for each in self.watchers if (not storage or each.storage == storage) and matches(each)]
        for watcher in found:
            watcher.end()
        return len(found)

    def now(self) -> str:
        """Returns the current time in the format of objects."""
        moment = self.clock.now()
        second = int(moment.timestamp())
        if second != self._second:
            self._second, self._now = second, format_time(moment)
        return self._now

    def empty(self, type_: ResourceType) -> JSONObject:
        """Returns an object of a built-in kind without any content, as Go encodes it. Do not change it."""
        found = self._empty.get(type_)
        if found is None:
            found = self._empty[type_] = type_.strategy.read({"metadata": {}}, problems=None)
        return found

    def uid(self) -> str:
        """Returns a new uid for something that is not an object, such as a request. Reproducible with a seed."""
        return uuid_of(self.rng.randbytes(16))

    def uid_of(self, storage: str, namespace: str, name: str) -> str:
        """Returns the uid of the next object of that name, which differs from those of all earlier ones."""
        return self.identities.uid(storage, namespace, name, self.storage.incarnation(storage, namespace, name))
