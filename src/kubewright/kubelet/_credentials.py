"""`NodeCredentials`: the credentials with which a node serves an API server."""

from __future__ import annotations

import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kubewright.key_pair import KeyPair

__all__ = ["NodeCredentials"]


@dataclass(frozen=True)
class NodeCredentials:
    """The serving certificate of a node, and the CA (PEM) of the client certificates that it accepts."""

    serving: KeyPair
    client_ca: bytes

    def tls_context(self) -> ssl.SSLContext:
        """Returns the context of the node's server. Clients without a certificate are answered with 401."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        with tempfile.TemporaryDirectory(prefix="kubewright-node-") as folder:
            context.load_cert_chain(*self.serving.write(Path(folder), "serving"))
        context.load_verify_locations(cadata=self.client_ca.decode())
        context.verify_mode = ssl.CERT_OPTIONAL
        return context
