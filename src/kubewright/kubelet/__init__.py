"""The kubelet's side of the streaming API: exec, attach, logs and port-forwarding of processes on this machine."""

from __future__ import annotations

from kubewright.kubelet._processes import LocalProcess, SessionProcess
from kubewright.kubelet._sessions import exit_status, failure_status, serve_port_forward, serve_session

__all__ = [
    "LocalProcess",
    "SessionProcess",
    "exit_status",
    "failure_status",
    "serve_port_forward",
    "serve_session",
]
