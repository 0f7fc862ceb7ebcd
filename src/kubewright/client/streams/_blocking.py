"""Streams of pods for `BlockingClient`. Each method runs the async one in the client's event loop."""

from __future__ import annotations

import socket
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeAlias

from kubewright.client.streams._port_forward import PortForward
from kubewright.client.streams._session import Output, Session

__all__ = ["BlockingPortForward", "BlockingSession"]

Wait: TypeAlias = Callable[[Coroutine[Any, Any, Any]], Any]
"""Runs a coroutine in the event loop of the client and returns its result."""


class BlockingSession:
    """A `Session` with blocking methods: iterate for its output, `write` to its stdin, `wait` for its end.

    One thread may read while another one writes.
    """

    def __init__(self, wait: Wait, session: Session) -> None:
        self._wait = wait
        self._session = session

    @property
    def exit_code(self) -> int | None:
        """The exit code, once the process has ended."""
        return self._session.exit_code

    def __iter__(self) -> Iterator[Output]:
        """Yields output until the process ends."""
        while (output := self.read()) is not None:
            yield output

    def read(self) -> Output | None:
        """See `Session.read`."""
        found: Output | None = self._wait(self._session.read())
        return found

    def write(self, data: bytes) -> None:
        """See `Session.write`."""
        self._wait(self._session.write(data))

    def close_stdin(self) -> None:
        """See `Session.close_stdin`."""
        self._wait(self._session.close_stdin())

    def resize(self, columns: int, rows: int) -> None:
        """See `Session.resize`."""
        self._wait(self._session.resize(columns, rows))

    def wait(self) -> int:
        """See `Session.wait`."""
        return int(self._wait(self._session.wait()))


class BlockingPortForward:
    """A port of a pod on this machine: `port` is the local port, on loopback; `connect` opens a connection to it."""

    def __init__(self, forward: PortForward) -> None:
        self._forward = forward

    @property
    def port(self) -> int:
        """The local port."""
        return self._forward.port

    def connect(self) -> socket.socket:
        """Opens one connection to the port of the pod. A refusal of the pod resets or closes it."""
        return socket.create_connection(("127.0.0.1", self.port))

    @property
    def closed(self) -> bool:
        """Whether the connection to the pod has ended."""
        return self._forward.closed.is_set()
