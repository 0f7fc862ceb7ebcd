"""A service account whose token lives in a file, as a pod's does, and can be replaced and revoked."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from kubewright.certificates import write_private
from kubewright.kubeconfig import write_kubeconfig

if TYPE_CHECKING:
    from kubewright.testing._controlplane import ControlPlane
    from kubewright.testing._gateway import Gateway
    from kubewright.testing._proxy import Proxy

__all__ = ["ServiceAccount"]

_SECONDS = 3600


class ServiceAccount:
    """An account with a token file. `kubeconfig`, and those made by `through`, name the file: clients read it again.

    `rotate` puts a new token into the file, as the kubelet does before the old one expires. `revoke` makes the server
    forget a token: it is answered with 401, which can take up to 10 seconds, for so long a server remembers tokens
    that were good.
    """

    def __init__(self, plane: ControlPlane, name: str, namespace: str, folder: Path) -> None:
        self.name = name
        self.namespace = namespace
        self.token_file = folder / f"{namespace}-{name}.token"
        self._folder = folder
        self._plane = plane
        self._secrets: dict[str, str] = {}
        plane.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": name}})
        self.rotate()
        self.kubeconfig = self._write_kubeconfig(plane.url)

    def through(self, way: Proxy | Gateway) -> Path:
        """A kubeconfig that leads through a proxy or gateway."""
        return self._write_kubeconfig(way.url)

    def _write_kubeconfig(self, server: str) -> Path:
        path = self._folder / f"{self.namespace}-{self.name}-{server.rpartition(':')[2]}.kubeconfig"
        write_kubeconfig(path, server=server, ca=self._plane.ca, user=self.user, credentials=self.token_file)
        return path

    @property
    def user(self) -> str:
        """The name that RBAC knows it by."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    @property
    def token(self) -> str:
        """The token that is in the file."""
        return self.token_file.read_text()

    def rotate(self) -> str:
        """Put a new token into the file, in one step. The old one, which is the answer, stays good until revoked."""
        old = self.token if self.token_file.exists() else ""
        self._write(self.issue())
        return old

    def issue(self) -> str:
        """A new token, which only the caller has so far."""
        # Bound to an object: with that object the token goes, long before it would expire.
        secret = f"{self.name}-{secrets.token_hex(4)}"
        base = f"/api/v1/namespaces/{self.namespace}"
        made = self._plane.request("POST", f"{base}/secrets", {"metadata": {"name": secret}})
        bound = {"kind": "Secret", "apiVersion": "v1", "name": secret, "uid": made["metadata"]["uid"]}
        asked = {"spec": {"expirationSeconds": _SECONDS, "boundObjectRef": bound}}
        answer = self._plane.request("POST", f"{base}/serviceaccounts/{self.name}/token", asked)
        token = str(answer["status"]["token"])
        self._secrets[token] = secret
        return token

    def revoke(self, token: str) -> None:
        """Make the server forget a token that was issued here."""
        self._plane.request("DELETE", f"/api/v1/namespaces/{self.namespace}/secrets/{self._secrets.pop(token)}")

    def _write(self, token: str) -> None:
        beside = self.token_file.with_suffix(".new")
        write_private(beside, token.encode())
        os.replace(beside, self.token_file)
