"""Requests certificates over HTTPS, on either cluster."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID
from msgspec.structs import replace

from kubewright.client import Credentials, HttpTransport, Impersonation, Request, load_config
from kubewright.clock import SystemClock
from kubewright.cluster import Cluster
from kubewright.testing import RealCluster
from tests.patience import PATIENCE

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey


@dataclass(frozen=True)
class Asked:
    """A request and its key."""

    pem: bytes
    key: Key

    @property
    def encoded(self) -> str:
        return base64.b64encode(self.pem).decode()

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


def asked(
    name: str = "",
    groups: Sequence[str] = (),
    names: Sequence[x509.GeneralName] = (),
    *,
    key: Key | None = None,
    attributes: Sequence[x509.NameAttribute[str]] = (),
    extensions: Sequence[x509.ExtensionType] = (),
) -> Asked:
    """Returns a new request."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    subject = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    if name:
        subject.append(x509.NameAttribute(NameOID.COMMON_NAME, name))
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([*subject, *attributes]))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    for extension in extensions:
        builder = builder.add_extension(extension, critical=True)
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return Asked(builder.sign(key, algorithm).public_bytes(serialization.Encoding.PEM), key)


class Requester:
    """An administrator of a cluster."""

    def __init__(self, cluster: Cluster | RealCluster) -> None:
        self.config = load_config(kubeconfig=cluster.kubeconfig())
        self._transports: dict[Any, HttpTransport] = {}

    async def send(
        self, method: str, path: str, body: Any = None, *, user: str = "", credentials: Credentials | None = None
    ) -> tuple[int, Any]:
        """Sends a request as the administrator, as another user, or with other credentials."""
        config = self.config
        if user:
            config = replace(config, impersonate=Impersonation(user=user, groups=("system:masters",)))
        if credentials is not None:
            config = replace(config, credentials=credentials)
        transport = self._transports.setdefault((user, credentials), HttpTransport(config, SystemClock()))
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        response = await transport.send(
            Request(
                method=method,
                path=path,
                headers={"Content-Type": kind, "Accept": "application/json", "User-Agent": "test/1"},
                body=None if body is None else json.dumps(body).encode(),
                timeout=PATIENCE,
            )
        )
        return response.status, json.loads(await response.read())

    async def create(self, asked: Asked, *, user: str = "", **spec: Any) -> str:
        """Creates a request and returns its name."""
        name = f"test-{secrets.token_hex(6)}"
        body = {"metadata": {"name": name}, "spec": {"request": asked.encoded, **spec}}
        status, made = await self.send("POST", REQUESTS, body, user=user)
        assert status == 201, made
        return name

    async def approve(self, name: str) -> None:
        """Approves a request."""
        condition = {"type": "Approved", "status": "True", "reason": "Test", "message": "by a test"}
        body = {"status": {"conditions": [condition]}}
        status, made = await self.send("PATCH", f"{REQUESTS}/{name}/approval", body)
        assert status == 200, made

    async def until(self, name: str, holds: Callable[[Any], Any]) -> Any:
        """Waits until a request has a state, and returns it."""
        async with asyncio.timeout(PATIENCE):
            while True:
                status, found = await self.send("GET", f"{REQUESTS}/{name}")
                assert status == 200, found
                if holds(found["status"]):
                    return found
                await asyncio.sleep(0.02)  # real: a controller of another process signs

    async def certificate(self, asked: Asked, **spec: Any) -> x509.Certificate:
        """Creates and approves a request, and returns the certificate."""
        name = await self.create(asked, **spec)
        await self.approve(name)
        return certificate_of(await self.until(name, lambda status: "certificate" in status))

    async def failure(self, asked: Asked, **spec: Any) -> dict[str, Any]:
        """Creates and approves a request, and returns the condition Failed."""
        name = await self.create(asked, **spec)
        await self.approve(name)
        found = await self.until(name, lambda status: len(status["conditions"]) > 1)
        condition: dict[str, Any] = found["status"]["conditions"][1]
        return condition

    async def close(self) -> None:
        for transport in self._transports.values():
            await transport.close()


def certificate_of(request: Any) -> x509.Certificate:
    return x509.load_pem_x509_certificate(base64.b64decode(request["status"]["certificate"]))


def credentials_of(asked: Asked, certificate: x509.Certificate) -> Credentials:
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    return Credentials(certificate_data=pem, key_data=asked.key_pem)
