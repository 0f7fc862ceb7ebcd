"""Where a database is: the address of a Service."""

from __future__ import annotations

from typing import Final, NamedTuple

from kubewright.api import core

PORT: Final = 5432
PORT_NAME: Final = "postgresql"


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int = PORT

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def address_of(service: core.Service) -> Address | None:
    """Returns the address of a Service's port `postgresql`, or of its first one. None: it has no cluster IP yet."""
    host = service.spec.cluster_ip
    if not host or host == "None":
        return None
    ports = service.spec.ports or []
    named = [each for each in ports if each.name == PORT_NAME] or ports
    return Address(host, named[0].port if named else PORT)
