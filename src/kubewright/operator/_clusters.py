"""The clusters that `running` accepts besides a client: objects with a kubeconfig, and objects that make clients."""

from __future__ import annotations

import inspect
import os
import random
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Protocol, TypeGuard, cast

from kubewright.client import Client, load_config
from kubewright.clock import Clock
from kubewright.operator.settings import Settings

__all__ = ["HasClient", "HasKubeconfig", "check_cluster", "connect"]


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


def connect(
    cluster: Client | HasClient | HasKubeconfig | None,
    settings: Settings,
    *,
    clock: Clock | None,
    rng: random.Random | None,
) -> AbstractAsyncContextManager[Client]:
    """Returns a client as a context. Default cluster: that of the settings. A client that was passed stays open."""
    if isinstance(cluster, Client):
        return nullcontext(cluster)
    if makes_clients(cluster):
        return cluster.client()
    kubeconfig = settings.kubeconfig if cluster is None else cast("HasKubeconfig", cluster).kubeconfig
    config = load_config(kubeconfig=kubeconfig, context=settings.context, server=settings.server)
    return Client(config, clock=clock, rng=rng)


def makes_clients(cluster: object) -> TypeGuard[HasClient]:
    """Returns whether the object has a method `client`, without calling it."""
    return not isinstance(cluster, type) and callable(inspect.getattr_static(cluster, "client", None))
