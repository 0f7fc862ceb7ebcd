"""`CertificateSource`: the interface between the webhook server and the provider of its certificate.

The server gets the key pair from the source for every new connection. Open connections keep theirs. So a source renews
the certificate by returning another pair at any time, and no request is dropped. `WebhookDeployment` describes the
program to a source.

`kubewright.webhook.certificates.source_for` makes the source that the settings name.
"""

from __future__ import annotations

import random
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

import msgspec

from kubewright.client import Client
from kubewright.clock import Clock

if TYPE_CHECKING:
    from kubewright.certificates import KeyPair

__all__ = ["CertificateSource", "WebhookDeployment"]


class CertificateSource(Protocol):
    """The certificate of the webhook server, until the end of `async with`.

    Entering waits until there is a certificate. It raises if there cannot be one, with the fix in the message. From
    then on, `pair` is always a matching pair; the source keeps an old one rather than none.
    """

    @property
    def pair(self) -> KeyPair:
        """The certificate (the leaf first, then intermediates) and its key. Must not block.

        It must be the same object until the certificate changes: the server compares by identity.
        """

    @property
    def ca_bundle(self) -> bytes | None:
        """The CA certificates that the API server must trust, PEM; two of them during a CA rotation.

        None if another program injects them, as cert-manager and OLM do.
        """

    @property
    def expires(self) -> datetime:
        """When the certificate of `pair` expires, in UTC."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class WebhookDeployment(msgspec.Struct, frozen=True, kw_only=True):
    """The program whose webhooks are served, as a certificate source needs it.

    Args:
        operator: the operator's name.
        client: the client, which writes in every replica, without the fence of leader election.
        namespace: the namespace of the program and of its Secret.
        service: the name of the Service of the webhooks.
        secret: the name of the Secret for a self-managed certificate.
        mutating: the name of its MutatingWebhookConfiguration, if it has mutating webhooks.
        validating: the name of its ValidatingWebhookConfiguration, if it has validating webhooks.
        definitions: the names of the CustomResourceDefinitions whose objects it converts.
        clock: the clock.
        rng: the source of randomness, for jitter.
    """

    operator: str
    client: Client
    namespace: str
    service: str
    secret: str
    mutating: str | None = None
    validating: str | None = None
    definitions: tuple[str, ...] = ()
    clock: Clock
    rng: random.Random

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host names of the Service, which the certificate must have."""
        host = f"{self.service}.{self.namespace}.svc"
        return host, f"{host}.cluster.local"
