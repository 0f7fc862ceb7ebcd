"""Streams of pods: exec, attach, port-forward and copies of files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kubewright.api import info_of
from kubewright.client._requests import Query, query_of
from kubewright.client._subresources import Subresources

if TYPE_CHECKING:  # WebSockets are imported on first use
    from kubewright.client.streams import Exec, PortForward, SessionContext
    from kubewright.streaming import ChannelSocket, WebSocket

__all__ = ["Streaming"]

_COPIED_BYTES = 2**30


class Streaming(Subresources):
    """The verbs that open a WebSocket to a pod. They need the permission to `create` the subresource."""

    def exec(
        self,
        name: str,
        command: Sequence[str],
        namespace: str | None = None,
        *,
        container: str | None = None,
        stdin: bytes | bool = False,
        tty: bool = False,
        check: bool = False,
        max_output_bytes: int = 2**24,
    ) -> Exec:
        """Runs a command in a container of a pod: `result = await client.exec("web", ["ls", "/"])`.

        Awaited, it returns an `ExecResult` with the exit code and the output; with `check`, an exit code other than 0
        raises `CommandFailed`. As a context, it is a `Session` with streams in both directions. Nothing is retried.

        Args:
            name: the pod.
            command: the program and its arguments. There is no shell unless you name one.
            namespace: of the pod. Default: the client's.
            container: in the pod. Default: the only one; the server refuses if there are several.
            stdin: bytes for the command; True for a session that writes them.
            tty: runs the command in a terminal; stderr is part of stdout then.
            check: raises `CommandFailed` for an exit code other than 0.
            max_output_bytes: of an awaited command; more raises `ApiError`.
        """
        from kubewright.client.streams import Exec

        if isinstance(command, str) or not command:
            raise TypeError(f'command must be a list of strings like ["ls", "/"], not {command!r}')
        query = [("command", part) for part in command]
        query += _streams_query(container, stdin=stdin is not False, tty=tty)
        return Exec(
            lambda: self._channels(name, namespace, "exec", query),
            command=command,
            pod=name,
            stdin=stdin,
            check=check,
            max_output_bytes=max_output_bytes,
        )

    def attach(
        self,
        name: str,
        namespace: str | None = None,
        *,
        container: str | None = None,
        stdin: bool = False,
        tty: bool = False,
    ) -> SessionContext:
        """Connects to the main process of a container: `async with client.attach("web") as session`.

        stdin and tty must be those of the container. The session ends with the process.
        """
        from kubewright.client.streams import SessionContext

        query = _streams_query(container, stdin=stdin, tty=tty)
        return SessionContext(lambda: self._channels(name, namespace, "attach", query))

    def port_forward(self, name: str, port: int, namespace: str | None = None, *, local_port: int = 0) -> PortForward:
        """Forwards a port of a pod to loopback: `async with client.port_forward("web", 80) as forward`.

        `forward.port` is the local port; `forward.connect()` opens a single connection without one.
        """
        from kubewright.client.streams import PortForward

        if not 0 < port < 2**16:
            raise ValueError(f"{port} is not a port")
        return PortForward(lambda: self._tunnel(name, namespace), port=port, local_port=local_port, pod=name)

    async def copy_to(
        self,
        local: str | os.PathLike[str],
        name: str,
        remote: str,
        namespace: str | None = None,
        *,
        container: str | None = None,
    ) -> None:
        """Copies a file or folder to the path `remote` in a container, which needs `tar`. Raises `CommandFailed`."""
        from kubewright.client.streams import send_files, upload_command

        session = self.exec(name, upload_command(remote), namespace, container=container, stdin=True)
        await send_files(session, Path(local), remote, pod=name, clock=self._clock)

    async def copy_from(
        self,
        name: str,
        remote: str,
        local: str | os.PathLike[str],
        namespace: str | None = None,
        *,
        container: str | None = None,
        max_bytes: int = _COPIED_BYTES,
    ) -> None:
        """Copies a file or folder of a container, which needs `tar`, to the path `local`.

        A folder is merged into an existing one. Paths and links that leave `local` are refused. Raises `CommandFailed`,
        and ValueError for more than `max_bytes`.
        """
        from kubewright.client.streams import download_command, receive_files

        session = self.exec(name, download_command(remote), namespace, container=container)
        await receive_files(session, remote, Path(local), pod=name, max_bytes=max_bytes, clock=self._clock)

    async def _channels(
        self, name: str, namespace: str | None, subresource: str, query: Query
    ) -> tuple[ChannelSocket, str]:
        from kubewright.streaming import CHANNEL_PROTOCOLS, ChannelSocket

        socket, protocol, request = await self._socket(name, namespace, subresource, query, CHANNEL_PROTOCOLS)
        return ChannelSocket(socket, protocol), request

    async def _tunnel(self, name: str, namespace: str | None) -> WebSocket:
        from kubewright.streaming import PORT_FORWARD_PROTOCOL

        socket, _, _ = await self._socket(name, namespace, "portforward", [], [PORT_FORWARD_PROTOCOL])
        return socket

    async def _socket(
        self, name: str, namespace: str | None, subresource: str, query: Query, protocols: Sequence[str]
    ) -> tuple[WebSocket, str, str]:
        from kubewright.api.core.v1 import Pod
        from kubewright.client.streams import open_socket

        request = self._for_object("GET", "create", info_of(Pod), namespace, name, subresource=subresource, query=query)
        request.headers["Accept"] = "*/*"
        socket, protocol = await open_socket(self._sender, request, protocols)
        return socket, protocol, str(request)


def _streams_query(container: str | None, *, stdin: bool, tty: bool) -> Query:
    return query_of(
        container=container,
        stdin="true" if stdin else None,
        stdout="true",
        stderr=None if tty else "true",
        tty="true" if tty else None,
    )
