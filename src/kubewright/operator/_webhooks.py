"""The webhooks of one run: where they are served, with which certificate, and how the API server is told of them.

- In a pod: at `webhook_bind`, behind a Service, with the certificate that the settings choose. The configurations came
  with the manifests.
- In a test (`operator.running(cluster)`): at a free port of loopback, with a certificate for this run. Configurations
  are installed by URL, and go with the run.
- On a developer's machine: the same as in a test if `webhook_url` says how the API server reaches this machine;
  otherwise they are served, and the log says what is missing.

A pod that is told to end serves them for a while: each node hears later that it is not ready any more, and sends it
requests until then. Refused connections would be refused writes, in every update of the Deployment.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from kubewright.api import Object, info_of
from kubewright.client import Client, NotFound
from kubewright.clock import Clock
from kubewright.operator.access import DeclaredAccess
from kubewright.operator.settings import SettingError, Settings, split_address

if TYPE_CHECKING:
    from kubewright.api.apiextensions.v1 import CustomResourceConversion
    from kubewright.operator._operator import Operator
    from kubewright.webhook import CertificateSource, Served, WebhookServer
    from kubewright.webhook.configurations import WebhookAddress

__all__ = ["OFF", "STILL_ASKED", "WebhookRun"]

logger = logging.getLogger("kubewright.operator")

OFF: Final = "0"
STILL_ASKED: Final = 5.0
"""Seconds for which requests may still come to a pod that was told to end."""
_USUAL: Final = "127.0.0.1:9443"
_FREE: Final = "127.0.0.1:0"
_LOOPBACK: Final = ("127.0.0.1", "localhost")


class WebhookRun:
    """What a run does about webhooks. `server` is there from `serve` on; nothing is if there are no webhooks."""

    def __init__(self, operator: Operator, settings: Settings, *, testing: bool, clock: Clock) -> None:
        self._operator = operator
        self._settings = settings
        self._testing = testing and settings.webhook_bind is None and settings.webhook_url is None
        self.wanted = operator.has_webhooks and settings.webhook_bind != OFF
        self._turned: list[tuple[type[Object], type[Object]]] = []
        self.server: WebhookServer | None = None
        self.reachable: WebhookAddress | None = None
        """How the API server is told to reach them by this run; None when somebody else tells it."""
        self._clock = clock
        self._behind_service = False
        self._asked_until: float | None = None
        self._may_close = asyncio.Event()

    async def serve(self, client: Client, stack: AsyncExitStack) -> None:
        """Start to listen, until the stack unwinds."""
        if not self.wanted:
            return
        from kubewright.webhook import WebhookServer

        operator, settings = self._operator, self._settings
        try:
            source = await stack.enter_async_context(self._certificate(client))
            host, port = split_address(settings.webhook_bind or (_FREE if self._testing else _USUAL))
            server = WebhookServer(
                operator.webhooks,
                source,
                host=host,
                port=port,
                client_ca=settings.webhook_client_ca,
                client=DeclaredAccess(operator, settings).limit(client),
                clock=self._clock,
            )
            self.server = await stack.enter_async_context(server)
        except OSError as error:
            raise SettingError(str(error.strerror or error)) from None
        if self._testing or settings.webhook_url:
            from kubewright.webhook.configurations import (
                WebhookAddress,  # with all of two API groups: not needed in production
            )

            url = settings.webhook_url or f"https://127.0.0.1:{self.server.port}"
            self.reachable = WebhookAddress(url, source.ca_bundle or b"")
        elif client.in_cluster:
            self._behind_service = True
        else:
            logger.warning("%s", _how_to_reach(client.host, host, self.server.port))

    def _certificate(self, client: Client) -> CertificateSource:
        settings = self._settings
        if self._testing or (not client.in_cluster and settings.webhook_certificates == "self-managed"):
            from kubewright.webhook import ThrowAwayCertificate

            named = urlsplit(settings.webhook_url).hostname if settings.webhook_url else None
            return ThrowAwayCertificate([*_LOOPBACK, *([named] if named and named not in _LOOPBACK else ())])
        from kubewright.webhook.certificates import source_for

        return source_for(settings.webhook_certificates, self._served(client), folder=settings.webhook_folder)

    def _served(self, client: Client) -> Served:
        from kubewright.webhook import Served

        operator, settings = self._operator, self._settings
        declared = operator.webhooks.declarations()
        service = settings.webhook_service or f"{operator.name}-webhook"
        # A Helm release has names of its own: the manifests call the Service after the configurations.
        configuration = service.removesuffix("-webhook")
        return Served(
            operator=operator.name,
            client=client,
            namespace=client.namespace,
            service=service,
            secret=settings.webhook_secret or f"{operator.name}-webhook-certificate",
            mutating=configuration if any(one.mutating for one in declared) else None,
            validating=configuration if any(not one.mutating for one in declared) else None,
            definitions=tuple(_definition(one.kind) for one in operator.webhooks.conversion_declarations()),
            clock=self._clock,
            rng=operator.rng or random.Random(),  # noqa: S311  # for jitter
        )

    async def conversions(self, client: Client) -> dict[str, CustomResourceConversion]:
        """How the definitions of converted kinds shall lead to this program, by their names."""
        if self.server is None:
            return {}
        from kubewright.api.apiextensions.v1 import CustomResourceDefinition

        if self.reachable is None:
            by_service = self._by_service(client, self.server.certificate)
            declared = self._operator.webhooks.conversion_declarations() if client.in_cluster else []
            return {_definition(one.kind): by_service for one in declared}
        wanted = {}
        for stored, *others in self._operator.webhooks.conversions.families():
            name = _definition(stored)
            wanted[name] = self.reachable.conversion()
            with contextlib.suppress(NotFound):
                await client.get(CustomResourceDefinition, name)
                # It leads elsewhere until now, and for a moment more after it was changed.
                self._turned.append((stored, others[0]))
        return wanted

    def _by_service(self, client: Client, source: CertificateSource) -> CustomResourceConversion:
        from kubewright.api.apiextensions.v1 import ServiceReference, WebhookClientConfig
        from kubewright.webhook.configurations import conversion_by

        served = self._served(client)
        service = ServiceReference(name=served.service, namespace=served.namespace, path="/convert", port=443)
        return conversion_by(WebhookClientConfig(service=service, ca_bundle=source.ca_bundle))

    async def tell(self, client: Client, stack: AsyncExitStack) -> None:
        """Tell the API server to ask this run, until the stack unwinds; nothing where others have told it."""
        if self.reachable is None or self.server is None:
            return
        from kubewright.webhook.configurations import WebhooksUnreachable, installed

        telling = installed(
            client,
            self._operator.name,
            self._operator.webhooks.declarations(),
            self.server,
            self.reachable,
            namespaces=self._settings.namespaces,
            converted=self._turned,
        )
        try:
            await stack.enter_async_context(telling)
        except WebhooksUnreachable as error:
            raise SettingError(str(error)) from None

    def expect_end(self) -> None:
        """The process was told to end: behind a Service, requests may still come for `STILL_ASKED` seconds from now."""
        if self._behind_service and self.server is not None:
            self.server.leaving = True
            self._asked_until = self._clock.monotonic() + STILL_ASKED

    def close_now(self) -> None:
        """Do not wait for requests that may still come."""
        self._may_close.set()

    async def wait_while_asked(self) -> None:
        """Wait until no requests come any more. What handlers may need has to be there until then."""
        if self._asked_until is None:
            return
        timer = self._clock.call_later(self._asked_until - self._clock.monotonic(), self.close_now)
        await self._may_close.wait()
        timer.cancel()

    def not_ready(self) -> str | None:
        """Why this replica cannot answer the API server; None when it can."""
        if not self.wanted:
            return None
        if self.server is None or not self.server.port:
            return "not served yet"
        if problem := self.server.problem:
            return problem
        from kubewright.webhook.certificates import expiry_problem

        return expiry_problem(self.server.certificate, self._clock.now())


def _definition(kind: type[Object]) -> str:
    info = info_of(kind)
    return f"{info.plural}.{info.group}"


def _how_to_reach(cluster: str, host: str, port: int) -> str:
    return (
        f"the webhooks are served at https://{host}:{port}, but the API server of {cluster} is not told to ask this"
        " machine. To let it, give --webhook-url with a URL by which it reaches this machine, such as"
        f" https://host.docker.internal:{port} for a cluster in containers here, or the address of a tunnel, and"
        f" --webhook-bind 0.0.0.0:{port} unless that leads to loopback. The configurations are then installed for this"
        " run, with a certificate of its own"
    )
