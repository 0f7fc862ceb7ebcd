"""The kubelet's side of the streaming API: logs, exec, attach and port-forwarding of processes on this machine.

`KubeletServer` has the endpoints that an API server connects to; a `PodRuntime` knows the pods. `LocalProcess` is a
command with its streams, `ContainerLog` the output of a container in files. `NodeCredentials` are the certificates of
both sides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.kubelet._credentials import NodeCredentials
    from kubewright.kubelet._logs import ContainerLog, LogOptions, OutputName
    from kubewright.kubelet._processes import Child, LocalProcess, SessionProcess, Spawn
    from kubewright.kubelet._server import FEATURES, Authorize, KubeletServer, PodRuntime, RuntimeFailure
    from kubewright.kubelet._sessions import serve_port_forward, serve_session

__all__ = [
    "FEATURES",
    "Authorize",
    "Child",
    "ContainerLog",
    "KubeletServer",
    "LocalProcess",
    "LogOptions",
    "NodeCredentials",
    "OutputName",
    "PodRuntime",
    "RuntimeFailure",
    "SessionProcess",
    "Spawn",
    "serve_port_forward",
    "serve_session",
]

# Imported on first use: an embedded cluster needs the credentials alone, without WebSockets.
_MODULES = {
    "FEATURES": "_server",
    "Authorize": "_server",
    "Child": "_processes",
    "ContainerLog": "_logs",
    "KubeletServer": "_server",
    "LocalProcess": "_processes",
    "LogOptions": "_logs",
    "NodeCredentials": "_credentials",
    "OutputName": "_logs",
    "PodRuntime": "_server",
    "RuntimeFailure": "_server",
    "SessionProcess": "_processes",
    "Spawn": "_processes",
    "serve_port_forward": "_sessions",
    "serve_session": "_sessions",
}

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = lazy_exports(__name__, _MODULES)
