"""`Orders`: what the process of the operator is told at its start."""

from __future__ import annotations

import msgspec

__all__ = ["Orders"]


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """Which program, on which cluster, and how."""

    targets: list[str]
    channel: int
    """The file descriptor by which it tells what happens."""
    kubeconfig: str | None
    context: str | None
    embedded: bool
    """Whether the API server is on this machine, and may be told to ask the webhooks here."""
    account_folder: str | None = None
    """Where to keep the credentials of the operator's own service account; without one it is the administrator."""
    namespaces: list[str] = msgspec.field(default_factory=list)
    pages: str = "127.0.0.1:0"
    """Where to serve health and debug pages, unless the program says so itself."""
    verbose: bool = False
