"""Streams of a pod: `Exec`, `Session`, `PortForward` and copies of files. Imported on first use, for WebSockets.

`Client.exec`, `Client.attach`, `Client.port_forward`, `Client.copy_to` and `Client.copy_from` return them.
"""

from __future__ import annotations

from kubewright.client.streams._copying import download_command, receive_files, send_files, upload_command
from kubewright.client.streams._opening import open_socket
from kubewright.client.streams._port_forward import PortForward
from kubewright.client.streams._session import CommandFailed, Exec, ExecResult, Output, Session

__all__ = [
    "CommandFailed",
    "Exec",
    "ExecResult",
    "Output",
    "PortForward",
    "Session",
    "download_command",
    "open_socket",
    "receive_files",
    "send_files",
    "upload_command",
]
