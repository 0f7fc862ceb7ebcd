"""`ContainerState`: the state of one container of a pod, as its status reports it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from kubewright.api import core
from kubewright.cluster.processes._images import Image
from kubewright.cluster.processes._output import Output

__all__ = ["AnyContainer", "ContainerKind", "ContainerState", "Terminated"]

AnyContainer: TypeAlias = core.Container | core.EphemeralContainer
ContainerKind: TypeAlias = Literal["init", "sidecar", "app", "ephemeral"]


@dataclass(frozen=True)
class Terminated:
    """The end of a run of a container."""

    exit_code: int
    reason: str
    message: str
    started: datetime
    finished: datetime
    container_id: str


@dataclass
class ContainerState:
    """The state of a container. Its worker changes it, and the status of the pod is built from it.

    Without an `image` it is simulated. `done` means that it will not be started again.
    """

    container: AnyContainer
    kind: ContainerKind
    image: Image | None
    waiting: tuple[str, str] = ("ContainerCreating", "")
    running_since: datetime | None = None
    terminated: Terminated | None = None
    last: Terminated | None = None
    restarts: int = 0
    ready: bool = False
    started: bool = False
    done: bool = False
    container_id: str = ""
    output: Output | None = None
    previous_output: Output | None = None
    failures: int = field(default=0)

    @property
    def name(self) -> str:
        """The name of the container."""
        return self.container.name

    def begin(self, now: datetime) -> None:
        """Records the start of a run."""
        if self.terminated is not None:
            self.last = self.terminated
        self.terminated = None
        self.running_since = now
        self.container_id = f"process://{secrets.token_hex(16)}"

    def end(self, now: datetime, exit_code: int, reason: str, message: str) -> None:
        """Records the end of a run."""
        started = self.running_since or now
        self.terminated = Terminated(exit_code, reason, message, started, now, self.container_id)
        self.running_since = None
        self.ready = self.started = False

    def wait(self, reason: str, message: str = "") -> None:
        """Records that the container waits for its next run."""
        if self.terminated is not None:
            self.last, self.terminated = self.terminated, None
        self.waiting = (reason, message)
