"""`RealCluster`: the real control plane with the interface of the embedded cluster."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from kubewright.client import Client, Impersonation, load_config
from kubewright.cluster.access import user_named
from kubewright.kubelet import NodeCredentials
from kubewright.testing._controlplane import ControlPlane

__all__ = ["RealCluster"]


class RealCluster:
    """The interface of `kubewright.cluster.Cluster` on a real control plane, so that a test can run on either.

    All tests of a run share `control_plane`.
    """

    def __init__(self, control_plane: ControlPlane) -> None:
        self.control_plane = control_plane
        self._clients: list[Client] = []

    def client(self, **settings: Any) -> Client:  # the settings are those of Client
        """Returns a client of an administrator. `stop` closes it."""
        made = Client(load_config(kubeconfig=self.control_plane.kubeconfig), **settings)
        self._clients.append(made)
        return made

    def client_as(self, user: str, *groups: str, **settings: Any) -> Client:  # the settings are those of Client
        """Returns a client of a user, by impersonation: `client_as("system:serviceaccount:default:robot")`."""
        config = load_config(kubeconfig=self.control_plane.kubeconfig)
        # The server adds the groups of a service account, unless the request names groups.
        named = user_named(user, groups).groups if groups else ()
        made = Client(replace(config, impersonate=Impersonation(user=user, groups=named)), **settings)
        self._clients.append(made)
        return made

    async def serve(self) -> str:
        """Returns the URL. The control plane already listens."""
        return self.url

    @property
    def url(self) -> str:
        """The URL of the API server."""
        return self.control_plane.url

    def kubeconfig(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Returns the administrator's kubeconfig, copied to `path` if given."""
        if path is None:
            return self.control_plane.kubeconfig
        return Path(shutil.copyfile(self.control_plane.kubeconfig, path))

    def node_credentials(self, node: str, address: str = "127.0.0.1") -> NodeCredentials:
        """Returns the certificates with which the kubelet of a node serves logs, exec and port-forwarding."""
        return self.control_plane.node_credentials(node, address)

    async def stop(self) -> None:
        """Closes the clients. The control plane continues to run."""
        for client in self._clients:
            await client.close()
