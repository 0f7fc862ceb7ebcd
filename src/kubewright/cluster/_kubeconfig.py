"""Writing kubeconfig files for the users of our clusters."""

from __future__ import annotations

import base64
from pathlib import Path

from kubewright.certificates import KeyPair, write_private
from kubewright.yaml import dump_yaml

__all__ = ["write_kubeconfig"]


def write_kubeconfig(
    path: Path, *, server: str, ca: bytes | None, user: str, credentials: KeyPair | Path | str
) -> None:
    """One cluster, one user, one context named `kubewright`. Replaces the file.

    The credentials are a certificate or a token, which are written into it, or the file in which a token is to be
    found. A server without TLS has no CA.
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
