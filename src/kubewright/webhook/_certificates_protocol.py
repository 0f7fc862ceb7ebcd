"""Between the webhook server and whoever provides its certificate.

The server asks the source for its key pair at every new connection; a connection that stands goes on with the one that
it began with. So a source renews by answering another pair, at any time, and no request is dropped. What a source has
to know about the program that it serves is in `Served`.

Which source it is, the settings say: `kubewright.webhook.certificates.source_for(way, served, folder=...)` makes it.
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

__all__ = ["CertificateSource", "Served"]


class CertificateSource(Protocol):
    """The certificate of the webhook server, from `async with` to its end.

    Entering waits until there is a certificate, and raises when there cannot be one, with what to do in the text.
    From then on `pair` is always one that fits together; the source keeps an old one rather than none.
    """

    @property
    def pair(self) -> KeyPair:
        """The certificate (the leaf first, then what is between it and the CA) and its key.

        The same object as long as nothing has changed: the server compares by identity. Must not block.
        """

    @property
    def ca_bundle(self) -> bytes | None:
        """PEM of all CAs that the API server is to trust: two of them while one takes the other's place.

        None when it is not the source that knows them (cert-manager's and OLM's injectors write them themselves).
        """

    @property
    def expires(self) -> datetime:
        """When the certificate of `pair` ends, in UTC."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """What a source may need to know of the program whose webhooks are served.

    Args:
        operator: the operator's name.
        client: reads and writes the cluster, in every replica: it has no fence.
        namespace: where the program runs; its Secret is there.
        service: the name of the Service in front of the webhooks.
        secret: the name of the Secret for a self-managed certificate.
        mutating: the name of its MutatingWebhookConfiguration, if it has mutating webhooks.
        validating: the name of its ValidatingWebhookConfiguration, if it has validating webhooks.
        definitions: the names of the CustomResourceDefinitions whose objects it converts.
        clock: time.
        rng: randomness, for jitter.
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
        """The names by which the API server calls the Service, and so those of the certificate."""
        host = f"{self.service}.{self.namespace}.svc"
        return host, f"{host}.cluster.local"
