"""How an API server sees a certificate: whom it trusts, at what time, under which name."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509 import verification
from cryptography.x509.oid import NameOID

from kubewright.certificates import KeyPair
from kubewright.client import Client
from kubewright.clock import Clock
from kubewright.webhook import WebhookDeployment

HOST = "made-webhook.home.svc"


def is_trusted(pair: KeyPair, bundle: bytes, now: datetime, host: str = HOST) -> bool:
    """Returns whether a client with this CA bundle accepts a server with this certificate."""
    leaf, *between = x509.load_pem_x509_certificates(pair.certificate)
    store = verification.Store(x509.load_pem_x509_certificates(bundle))
    verifier = verification.PolicyBuilder().store(store).time(now).build_server_verifier(x509.DNSName(host))
    try:
        verifier.verify(leaf, between)
    except verification.VerificationError:
        return False
    return True


def weak_pair(now: datetime) -> KeyPair:
    """A pair that fits together, with a key that is too short for OpenSSL."""
    key = rsa.generate_private_key(65537, 1024)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now).not_valid_after(now + timedelta(days=90))
    certificate = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    pkcs8, unlocked = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return KeyPair(certificate, key.private_bytes(serialization.Encoding.PEM, pkcs8, unlocked))


def served(client: Client, clock: Clock, namespace: str = "home", **changes: Any) -> WebhookDeployment:
    """What an operator called `made` says of itself."""
    given: dict[str, Any] = {
        "operator": "made",
        "client": client,
        "namespace": namespace,
        "service": "made-webhook",
        "secret": "made-webhook-certificate",
        "clock": clock,
        "rng": random.Random(7),
    }
    return WebhookDeployment(**(given | changes))
