"""The clusters that an operator can run on, besides a client: any object that leads to one."""

from __future__ import annotations

import inspect
import os
from typing import Any, Protocol, TypeGuard

from kubewright.client import Client

__all__ = ["HasClient", "HasKubeconfig", "check_cluster", "makes_clients"]


class HasKubeconfig(Protocol):
    """A cluster that is reached by a kubeconfig file."""

    @property
    def kubeconfig(self) -> str | os.PathLike[str]:
        """The path of the file."""


class HasClient(Protocol):
    """A cluster that makes clients, such as an embedded one."""

    def client(self) -> Client:
        """Returns a new client, which the caller closes."""


def check_cluster(cluster: Any) -> Client | HasClient | HasKubeconfig | None:
    """Checks the argument of `running`. It does not read the kubeconfig: the cluster may not have started yet."""
    kubeconfig = inspect.getattr_static(cluster, "kubeconfig", None)
    has_kubeconfig = kubeconfig is not None and not callable(kubeconfig) and not isinstance(cluster, type)
    if cluster is None or isinstance(cluster, Client) or makes_clients(cluster) or has_kubeconfig:
        checked: Client | HasClient | HasKubeconfig | None = cluster
        return checked
    raise TypeError(
        "running takes a client, or a cluster: one with a method client(), such as an embedded Cluster, or with a"
        f" kubeconfig, such as a ControlPlane; not {cluster!r}"
    )


def makes_clients(cluster: object) -> TypeGuard[HasClient]:
    """Returns whether the object has a method `client`, without calling it."""
    return not isinstance(cluster, type) and callable(inspect.getattr_static(cluster, "client", None))
