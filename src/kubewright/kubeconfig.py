"""Writes kubeconfig files. `kubewright.client.load_config` reads them."""

from __future__ import annotations

import base64
from pathlib import Path

from kubewright.key_pair import KeyPair, write_private
from kubewright.yaml import dump_yaml

__all__ = ["write_kubeconfig"]


def write_kubeconfig(
    path: Path, *, server: str, ca: bytes | None, user: str, credentials: KeyPair | Path | str
) -> None:
    """Writes a kubeconfig with one cluster, one user and one context named `kubewright`. Replaces the file.

    `credentials` is a client certificate or a token, which the file contains, or the path of a token file.
    `ca` is None for a server without TLS.
    """

    def encoded(content: bytes) -> str:
        return base64.b64encode(content).decode()

    cluster = {"server": server}
    if ca is not None:
        cluster["certificate-authority-data"] = encoded(ca)
    if isinstance(credentials, str):
        identity = {"token": credentials}
    elif isinstance(credentials, Path):
        identity = {"tokenFile": str(credentials)}
    else:
        identity = {
            "client-certificate-data": encoded(credentials.certificate),
            "client-key-data": encoded(credentials.key),
        }
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "kubewright", "cluster": cluster}],
        "users": [{"name": user, "user": identity}],
        "contexts": [{"name": "kubewright", "context": {"cluster": "kubewright", "user": user}}],
        "current-context": "kubewright",
    }
    write_private(path, dump_yaml(document, sort_keys=False).encode())
