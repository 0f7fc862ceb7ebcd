"""What an operator can run on, besides a client: anything that leads to one."""

from __future__ import annotations

import inspect
import os
from typing import Any, Protocol, TypeGuard

from kubewright.client import Client

__all__ = ["HasClient", "HasKubeconfig", "check_cluster", "makes_clients"]


class HasKubeconfig(Protocol):
    """A cluster that can be reached by a kubeconfig file."""

    @property
    def kubeconfig(self) -> str | os.PathLike[str]:
        """The path of the file."""


class HasClient(Protocol):
    """A cluster that makes clients of itself, as an embedded one does."""

    def client(self) -> Client:
        """A client, for whoever asks to close."""


def check_cluster(given: Any) -> Client | HasClient | HasKubeconfig | None:
    """What `running` is given. Its kubeconfig is not asked for yet: the cluster may not have started."""
    named = inspect.getattr_static(given, "kubeconfig", None)
    has_kubeconfig = named is not None and not callable(named) and not isinstance(given, type)
    if given is None or isinstance(given, Client) or makes_clients(given) or has_kubeconfig:
        cluster: Client | HasClient | HasKubeconfig | None = given
        return cluster
    raise TypeError(
        "running takes a client, or a cluster: one with a method client(), such as an embedded Cluster, or with a"
        f" kubeconfig, such as a ControlPlane; not {given!r}"
    )


def makes_clients(cluster: object) -> TypeGuard[HasClient]:
    """Whether it has a method `client`, which is not called."""
    return not isinstance(cluster, type) and callable(inspect.getattr_static(cluster, "client", None))
