"""The address at which pods find the API server."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from kubewright.client import ClientConfig

__all__ = ["ApiServer", "RemoteServerError", "check_local", "server_of"]


class RemoteServerError(ValueError):
    """A node would run processes for an API server on another machine."""


class ApiServer(NamedTuple):
    """The URL of an API server, and its CA (PEM)."""

    url: str
    ca: bytes | None

    def variables(self) -> dict[str, str]:
        """Returns the variables by which programs in pods find the server."""
        parts = urlsplit(self.url)
        host, port = parts.hostname or "", str(parts.port or 443)
        return {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port, "KUBERNETES_SERVICE_PORT_HTTPS": port}


def server_of(config: ClientConfig | None) -> ApiServer | None:
    """Returns the server of a client; None for a client without sockets."""
    if config is None:
        return None
    ca = config.tls.ca_data
    if ca is None and config.tls.ca_file is not None:
        ca = Path(config.tls.ca_file).read_bytes()
    return ApiServer(config.server, ca)


def check_local(server: ApiServer | None) -> None:
    """Raises `RemoteServerError` for a server on another machine: its users could start processes on this one."""
    if server is None:
        return
    host = urlsplit(server.url).hostname or ""
    try:
        local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = host == "localhost"
    if not local:
        raise RemoteServerError(
            f"the API server {host} is not on this machine, and its users could start processes here; "
            "if you trust all of them, pass allow_remote=True"
        )
