"""The real control plane with the face of the embedded cluster, so that one test can run on either."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from kubewright.client import Client, Impersonation, load_config
from kubewright.cluster.access import user_named
from kubewright.testing._controlplane import ControlPlane

__all__ = ["RealCluster"]


class RealCluster:
    """What `kubewright.cluster.Cluster` offers, on a real control plane. It is shared by all tests of a run.

    `control_plane` is the control plane itself.
    """

    def __init__(self, control_plane: ControlPlane) -> None:
        self.control_plane = control_plane
        self._clients: list[Client] = []

    def client(self, **settings: Any) -> Client:  # the settings are those of Client
        """A client of an administrator, closed with the cluster at the latest."""
        made = Client(load_config(kubeconfig=self.control_plane.kubeconfig), **settings)
        self._clients.append(made)
        return made

    def client_as(self, user: str, *groups: str, **settings: Any) -> Client:  # the settings are those of Client
        """A client of some user, by impersonation: `client_as("system:serviceaccount:default:robot")`."""
        config = load_config(kubeconfig=self.control_plane.kubeconfig)
        # The server knows the groups of a service account, unless others are named.
        named = user_named(user, groups).groups if groups else ()
        made = Client(replace(config, impersonate=Impersonation(user=user, groups=named)), **settings)
        self._clients.append(made)
        return made

    async def serve(self) -> str:
        """It listens already: the URL."""
        return self.url

    @property
    def url(self) -> str:
        """Where it listens."""
        return self.control_plane.url

    def kubeconfig(self, path: str | os.PathLike[str] | None = None) -> Path:
        """The administrator's kubeconfig; copied to a file when one is named."""
        if path is None:
            return self.control_plane.kubeconfig
        return Path(shutil.copyfile(self.control_plane.kubeconfig, path))

    async def stop(self) -> None:
        """Close the clients. The control plane goes on."""
        for client in self._clients:
            await client.close()
