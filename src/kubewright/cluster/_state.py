"""What every part of the server shares: storage, kinds, time, chance, and the formats that can be read."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from kubewright.api import format_time
from kubewright.clock import Clock
from kubewright.cluster.admission import Chain
from kubewright.cluster.machinery._failures import Failure
from kubewright.cluster.machinery._resources import JSONObject, ResourceType, ResourceTypes
from kubewright.cluster.storage._storage import Event, Storage
from kubewright.cluster.webhooks._client import WebhookClient

if TYPE_CHECKING:
    from kubewright.cluster.merge import FieldManager
    from kubewright.cluster.schema import CustomKind

__all__ = ["Decoder", "Gate", "State", "Watcher"]

Decoder: TypeAlias = Callable[[bytes, ResourceType | None], JSONObject]
"""Reads a body of another format than JSON and YAML, given the resource it was sent to, if any.

Raises `UnreadableObject`."""


class Watcher(Protocol):
    """An open watch: the stream of a watch response."""

    @property
    def storage(self) -> str:
        """The storage name of the objects that it shows."""

    def deliver(self, frame: bytes) -> None:
        """Sends a frame to the client, after the frames that it has not read yet."""

    def fail(self, failure: Failure) -> None:
        """Ends the watch with an ERROR event."""

    def end(self) -> None:
        """Queues no further events. The client reads the queued ones, then the end of the stream."""

    def close(self) -> None:
        """Ends the watch immediately. Further calls do nothing."""


class Gate(Protocol):
    """Decides about what clients are shown."""

    def holds(self, watcher: Watcher, frame: bytes, event: Event | None) -> bool:
        """Whether a frame of a watch goes no further now. `event` is None for a bookmark."""

    def horizon(self, storage: str) -> int | None:
        """The revision as of which reads of a kind are served; None for the newest."""


class State:
    """One server's state. Everything that writes goes through `storage`."""

    def __init__(
        self, *, types: ResourceTypes, clock: Clock, rng: random.Random, storage: Storage | None = None
    ) -> None:
        self.types = types
        self.clock = clock
        self.rng = rng
        self.storage = storage or Storage()
        self.streams: set[Watcher] = set()
        """The watches that are open, which end with the server."""
        self.crowded = False
        """Whether a watch has much to read; see `yield_to_watches`."""
        self._second = -1
        self._now = ""
        self.decoders: dict[str, Decoder] = {}
        """By media type: how bodies are read that are neither JSON nor YAML, such as protobuf."""
        self.custom_kinds: Callable[[], Sequence[CustomKind]] = tuple
        """The kinds of CRDs, for OpenAPI documents; set by whoever registers them."""
        self.managers: dict[tuple[ResourceType, str], FieldManager] = {}
        self.admission = Chain()
        """What has a say in every write; see `kubewright.cluster.admission`."""
        self.webhook_client = WebhookClient(self.storage, clock)
        """The webhooks that are called."""
        self.gate: Gate | None = None
        """What stands between writes and the watches of clients: a laboratory, if there is one."""
        self.restored: list[Callable[[], None]] = []
        """Called when all objects were put back as they were: by those who keep something beside the storage."""
        self.ca_certificate = ""
        """The certificate, in PEM, of whoever signs the server's own; empty while it is not served over TLS."""

    async def yield_to_watches(self) -> None:
        """Called after each write. Lets watches be read if one has much to read: a burst of writes would end it."""
        if self.crowded:
            self.crowded = False
            await asyncio.sleep(0)

    def end_watches(self, storage: str = "") -> int:
        """End the open watches of what is stored under this name, all of them by default; how many."""
        found = [watcher for watcher in self.streams if not storage or watcher.storage == storage]
        for watcher in found:
            watcher.end()
        return len(found)

    def now(self) -> str:
        """The time, as objects carry it."""
        moment = self.clock.now()
        second = int(moment.timestamp())
        if second != self._second:
            self._second, self._now = second, format_time(moment)
        return self._now

    def uid(self) -> str:
        """A new uid. With a seed they are always the same ones."""
        digits = f"{self.rng.getrandbits(128):032x}"
        variant = "89ab"[int(digits[16], 16) & 3]
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
