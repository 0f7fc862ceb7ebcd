"""Streams of a pod: `Exec`, `Session`, `PortForward` and copies of files. Imported on first use, for WebSockets.

`Client.exec`, `Client.attach`, `Client.port_forward`, `Client.copy_to` and `Client.copy_from` return them.
`BlockingClient` returns `BlockingSession` and `BlockingPortForward`.
"""

from __future__ import annotations

from kubewright.client.streams._blocking import BlockingPortForward, BlockingSession
from kubewright.client.streams._copying import download_command, receive_files, send_files, upload_command
from kubewright.client.streams._opening import open_socket
from kubewright.client.streams._port_forward import PortForward
from kubewright.client.streams._session import CommandFailed, Exec, ExecResult, Output, Session, SessionContext

__all__ = [
    "BlockingPortForward",
    "BlockingSession",
    "CommandFailed",
    "Exec",
    "ExecResult",
    "Output",
    "PortForward",
    "Session",
    "SessionContext",
    "download_command",
    "open_socket",
    "receive_files",
    "send_files",
    "upload_command",
]
