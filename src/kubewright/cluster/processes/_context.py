"""`NodeContext`: the state that the pods of one node share."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from kubewright.api import core
from kubewright.client import Client
from kubewright.clock import Clock
from kubewright.cluster.nodes import BackgroundTasks, KubeletEvents
from kubewright.cluster.processes._environment import Environment
from kubewright.cluster.processes._images import Images
from kubewright.cluster.processes._mounts import MountMode
from kubewright.cluster.processes._sources import Sources
from kubewright.cluster.processes._volumes import VolumeSettings
from kubewright.cluster.services import LoopbackAddresses, PodPorts
from kubewright.supervision import Supervisor

__all__ = ["NodeContext", "ServiceVariables"]

_STARTING: Final = 4
_CONTAINERS: Final = 1 << 24
"""The maximum number of container starts on one node."""
ServiceVariables: TypeAlias = Callable[[core.Pod], Mapping[str, str]]
"""Returns the variables of the Services that a pod sees, for example `KUBERNETES_SERVICE_HOST`."""


def _families() -> range:
    first = ((1 << 36) + secrets.randbits(36)) * _CONTAINERS
    return range(first, first + _CONTAINERS)


@dataclass
class NodeContext:
    """The parts of a node that its pods use.

    `restart_delay` is the first delay of the crash loop backoff. `marker` is a variable of all processes of the node.
    """

    name: str
    client: Client
    clock: Clock
    tasks: BackgroundTasks
    events: KubeletEvents
    images: Images
    sources: Sources
    environment: Environment
    volumes: VolumeSettings
    mode: MountMode
    services: ServiceVariables
    restart_delay: float
    host_address: str
    addresses: LoopbackAddresses = field(init=False)
    ports: PodPorts = field(default_factory=PodPorts)
    """The ports of pods that share an address."""
    supervisor: Supervisor | None = None
    old_supervisors: list[Supervisor] = field(default_factory=list)
    instance: str = field(default_factory=lambda: secrets.token_hex(8))
    families: range = field(default_factory=_families)
    """The numbers of the containers of this node, for its supervisor. No other node has them."""
    parent: Path | None = None
    starting: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_STARTING))
    writing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_STARTING))
    """Both bound the pods that are prepared or written at a time, so that many pods do not block the event loop."""
    _containers: Iterator[int] = field(default_factory=itertools.count)

    async def running_supervisor(self) -> Supervisor:
        """Returns the supervisor; a new one after it was killed."""
        if self.supervisor is not None and self.supervisor.gone:
            self.old_supervisors.append(self.supervisor)
            self.supervisor = None
        if self.supervisor is None:
            made = self.supervisor = await Supervisor(self.parent).start()
            if self.old_supervisors:  # descendants of processes of the old one may have survived it
                await made.kill_marked(self.marker, self.families)
        return self.supervisor

    def next_family(self) -> int:
        """Returns the number of a new container."""
        return self.families[next(self._containers)]

    @property
    def marker(self) -> str:
        """The variable that marks processes of this node."""
        return f"KUBEWRIGHT_NODE={self.instance}"

    async def close(self) -> None:
        """Kills all processes and removes the folders of pods."""
        if self.supervisor is not None:
            await self.supervisor.close()
        for supervisor in self.old_supervisors:
            await supervisor.close()
