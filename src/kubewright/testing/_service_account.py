"""`ServiceAccount`: an account with a token file, as in a pod, whose token can be rotated and revoked."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kubewright.certificates import write_private
from kubewright.kubeconfig import write_kubeconfig

if TYPE_CHECKING:
    from kubewright.testing._gateway import Gateway
    from kubewright.testing._proxy import Proxy

__all__ = ["ServiceAccount"]

_EXPIRATION_SECONDS = 3600


class _Server(Protocol):
    """A control plane, as an account needs it."""

    @property
    def url(self) -> str: ...

    @property
    def ca(self) -> bytes: ...

    def request(self, method: str, path: str, body: object = None) -> Any: ...


class ServiceAccount:
    """An account with a token file. `kubeconfig`, and the ones of `through`, name the file, which clients reload.

    `rotate` writes a new token into the file, as the kubelet does before the old one expires. `revoke` invalidates a
    token: it gets 401, after up to 10 seconds, because the server caches valid tokens.
    """

    def __init__(self, plane: _Server, name: str, namespace: str, folder: Path) -> None:
        self.name = name
        self.namespace = namespace
        self.token_file = folder / f"{namespace}-{name}.token"
        self._folder = folder
        self._plane = plane
        self._secrets: dict[str, str] = {}
        plane.request("POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": name}})
        self.rotate()
        self.kubeconfig = self._write_kubeconfig(plane.url)

    def through(self, proxy: Proxy | Gateway) -> Path:
        """Returns a kubeconfig that uses a proxy or gateway."""
        return self._write_kubeconfig(proxy.url)

    def _write_kubeconfig(self, server: str) -> Path:
        path = self._folder / f"{self.namespace}-{self.name}-{server.rpartition(':')[2]}.kubeconfig"
        write_kubeconfig(path, server=server, ca=self._plane.ca, user=self.user, credentials=self.token_file)
        return path

    @property
    def user(self) -> str:
        """The user name for RBAC."""
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    @property
    def token(self) -> str:
        """The token in the file."""
        return self.token_file.read_text()

    def rotate(self) -> str:
        """Writes a new token into the file, atomically. Returns the old one, which stays valid until it is revoked."""
        old = self.token if self.token_file.exists() else ""
        self._write(self.issue())
        return old

    def issue(self) -> str:
        """Returns a new token, without writing it into the file."""
        # Bound to a Secret: deleting the Secret revokes the token.
        secret = f"{self.name}-{secrets.token_hex(4)}"
        base = f"/api/v1/namespaces/{self.namespace}"
        made = self._plane.request("POST", f"{base}/secrets", {"metadata": {"name": secret}})
        bound = {"kind": "Secret", "apiVersion": "v1", "name": secret, "uid": made["metadata"]["uid"]}
        request = {"spec": {"expirationSeconds": _EXPIRATION_SECONDS, "boundObjectRef": bound}}
        answer = self._plane.request("POST", f"{base}/serviceaccounts/{self.name}/token", request)
        token = str(answer["status"]["token"])
        self._secrets[token] = secret
        return token

    def revoke(self, token: str) -> None:
        """Revokes a token that this account issued."""
        self._plane.request("DELETE", f"/api/v1/namespaces/{self.namespace}/secrets/{self._secrets.pop(token)}")

    def _write(self, token: str) -> None:
        beside = self.token_file.with_suffix(".new")
        write_private(beside, token.encode())
        os.replace(beside, self.token_file)
