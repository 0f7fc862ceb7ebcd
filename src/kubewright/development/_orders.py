"""`Orders`: the arguments of the operator's process."""

from __future__ import annotations

import msgspec

__all__ = ["Orders"]


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """The program, its cluster, and options."""

    targets: list[str]
    channel: int
    """The file descriptor for messages."""
    kubeconfig: str | None
    context: str | None
    embedded: bool
    """Whether the API server is on this machine and can call its webhooks."""
    account_folder: str | None = None
    """The folder for the credentials of the operator's service account; None to run as administrator."""
    namespaces: list[str] = msgspec.field(default_factory=list)
    pages: str = "127.0.0.1:0"
    """The address of health and debug pages, unless the program sets one."""
    verbose: bool = False
