"""`KubeletConnections`: HTTPS to the kubelets of nodes, with certificates of one CA on both sides."""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path
from typing import Any, Final

from kubewright.certificates import CertificateAuthority
from kubewright.client import HttpOrigin, tls_context
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.kubelet import NodeCredentials
from kubewright.lru import LRUMemory

__all__ = ["KubeletConnections"]

_CLIENT: Final = ("kube-apiserver-kubelet-client", ("system:masters",))
_ADDRESS_TYPES: Final = ("InternalIP", "ExternalIP", "Hostname")  # in order of preference
_MAX_NODES: Final = 1000
_MAX_RESPONSE_BYTES: Final = 2**20


class KubeletConnections:
    """Connections of one server. The CA exists in this process only, for as long as the server."""

    def __init__(self) -> None:
        self._authority: CertificateAuthority | None = None
        self._context: ssl.SSLContext | None = None
        self._origins: LRUMemory[str, HttpOrigin] = LRUMemory(_MAX_NODES)

    def credentials(self, node: str, address: str) -> NodeCredentials:
        """Returns the certificate that a node serves with, and the CA of the certificates that it accepts."""
        pair = self._ca().issue(f"system:node:{node}", ("system:nodes",), hosts=(node, address))
        return NodeCredentials(pair, self._ca().pair.certificate)

    def to(self, node: JSONObject) -> HttpOrigin | None:
        """Returns the connections to the kubelet of a node; None for a node without a kubelet."""
        status: dict[str, Any] = node.get("status") or {}
        port = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port")
        addresses = {each.get("type"): each.get("address") for each in status.get("addresses") or ()}
        address = next((addresses[kind] for kind in _ADDRESS_TYPES if addresses.get(kind)), None)
        if not port or not address:
            return None
        url = f"https://[{address}]:{port}" if ":" in address else f"https://{address}:{port}"
        origin = self._origins.get(url)
        if origin is None:
            origin = HttpOrigin(url, tls=self._tls(), max_response_bytes=_MAX_RESPONSE_BYTES)
            self._origins.put(url, origin)
        return origin

    async def close(self) -> None:
        """Closes every connection."""
        for origin in self._origins.values():
            await origin.close()

    def _ca(self) -> CertificateAuthority:
        if self._authority is None:
            self._authority = CertificateAuthority("kubewright-kubelets")
        return self._authority

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            context = tls_context(self._ca().pair.certificate)
            with tempfile.TemporaryDirectory(prefix="kubewright-kubelets-") as folder:
                context.load_cert_chain(*self._ca().issue(*_CLIENT).write(Path(folder), "client"))
            self._context = context
        return self._context
