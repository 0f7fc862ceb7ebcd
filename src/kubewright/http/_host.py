"""`Host`: a server, as its connections see it; and the states of a connection."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final, Literal, Protocol, TypeAlias, TypeVar

from kubewright.clock import Clock
from kubewright.http._limits import ServerLimits
from kubewright.http._messages import ServerRequest, ServerResponse
from kubewright.turns import Turns

__all__ = ["WAITING", "Host", "State"]

C = TypeVar("C", contravariant=True)

State: TypeAlias = Literal[
    "handshake", "head", "body", "handling", "idle", "lingering", "upgraded", "closing", "closed"
]
WAITING: Final[frozenset[State]] = frozenset({"handshake", "head", "body", "idle", "lingering", "closing"})
"""States in which a connection waits for its client."""


class Host(Protocol[C]):
    """The server, as its connections see it."""

    clock: Clock
    limits: ServerLimits
    cancel_on_disconnect: bool
    stopping: bool
    turns: Turns

    def handler(self, request: ServerRequest, /) -> Awaitable[ServerResponse]:
        """Answers a request."""

    def is_urgent(self, request: ServerRequest, /) -> bool:
        """Returns whether a request is handled before others that wait."""

    def entered(self, connection: C) -> None:
        """Records that a connection has entered another state."""

    def received(self, connection: C, size: int) -> None:
        """Counts bytes of bodies; may abort the connection."""
