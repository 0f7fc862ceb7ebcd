"""`Viewer`: whoever looks at the console."""

from __future__ import annotations

from dataclasses import dataclass

from kubewright.client import Client

__all__ = ["Viewer"]


@dataclass(frozen=True)
class Viewer:
    """A name, and a client with the viewer's own credentials."""

    name: str
    client: Client
