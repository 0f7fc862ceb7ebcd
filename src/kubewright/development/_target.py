"""The cluster for development: an embedded one, or that of a kubeconfig."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewright.client import Client, RetryPolicy, load_config
from kubewright.files import remove_own

if TYPE_CHECKING:
    from kubewright.cluster.workloads import Workloads

__all__ = ["TargetCluster", "embedded_target", "kubeconfig_target"]

_RETRY: Final = RetryPolicy(attempts=4)  # the user is waiting


@dataclass(frozen=True, kw_only=True)
class TargetCluster:
    """A ready cluster, and how to connect to it."""

    client: Client
    server: str
    kubeconfig: str | None
    """None for the default kubeconfig."""
    context: str | None = None
    embedded: bool = False
    account_folder: str | None = None
    """The folder for the operator's own credentials, if it has its own roles."""


@asynccontextmanager
async def embedded_target(
    *, rbac: bool, workloads: Workloads | None = None, kubeconfig: Path | None
) -> AsyncIterator[TargetCluster]:
    """Runs an embedded cluster with workloads on loopback. Its data is lost at the end."""
    from kubewright.cluster import Cluster

    async with Cluster(workloads=True if workloads is None else workloads, rbac=rbac) as cluster:
        server = await cluster.serve()
        path = cluster.kubeconfig(kubeconfig).absolute()
        written = path.read_bytes()
        try:
            with tempfile.TemporaryDirectory(prefix="kubewright-dev-") as folder:
                async with cluster.client() as client:
                    yield TargetCluster(
                        client=client,
                        server=server,
                        kubeconfig=str(path),
                        embedded=True,
                        account_folder=folder if rbac else None,
                    )
        finally:
            remove_own(path, written)  # another process may have written the same file


@asynccontextmanager
async def kubeconfig_target(kubeconfig: str | None, context: str | None) -> AsyncIterator[TargetCluster]:
    """Connects to the cluster of a kubeconfig. Raises `ConfigError` or `ApiError` if it cannot be reached."""
    config = load_config(kubeconfig=kubeconfig, context=context)
    async with Client(config, retry=_RETRY) as client:
        await client.server_version()
        yield TargetCluster(client=client, server=config.server, kubeconfig=kubeconfig, context=context)
