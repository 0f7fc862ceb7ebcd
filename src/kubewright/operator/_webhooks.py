"""The webhooks of one run: their address, their certificate, and their configurations in the API server.

- In a pod: at `webhook_bind`, behind a Service, with the certificate of the settings. The manifests contain the
  configurations.
- In a test (`operator.running(cluster)`): at a free port on loopback, with a certificate for this run. Configurations
  with a URL are installed, and deleted when the run ends.
- On a developer's machine: as in a test if `webhook_url` is set. Otherwise they are served, and the log explains how
  to make the API server call them.

A stopping pod serves its webhooks a few seconds longer: nodes keep sending requests until they learn that the pod is
not ready. If it refused their connections, writes would fail during every rollout of the Deployment.
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
from kubewright.operator.definition import OperatorDefinition
from kubewright.operator.settings import SettingError, Settings, split_address

if TYPE_CHECKING:
    from kubewright.api.apiextensions.v1 import CustomResourceConversion
    from kubewright.webhook import CertificateSource, WebhookDeployment, WebhookServer
    from kubewright.webhook.configurations import WebhookAddress

__all__ = ["DRAIN_SECONDS", "OFF", "WebhookRun"]

logger = logging.getLogger("kubewright.operator")

OFF: Final = "0"
DRAIN_SECONDS: Final = 5.0
"""How many seconds a stopping pod may still get requests."""
_DEFAULT_BIND: Final = "127.0.0.1:9443"
_FREE_PORT_BIND: Final = "127.0.0.1:0"
_LOOPBACK: Final = ("127.0.0.1", "localhost")


class WebhookRun:
    """The webhooks of a run. `server` is None before `serve`, and if the operator has no webhooks."""

    def __init__(self, operator: OperatorDefinition, settings: Settings, *, testing: bool, clock: Clock) -> None:
        self._operator = operator
        self._settings = settings
        self._testing = testing and settings.webhook_bind is None and settings.webhook_url is None
        self.wanted = operator.has_webhooks and settings.webhook_bind != OFF
        self._redirected: list[tuple[type[Object], type[Object]]] = []
        self.server: WebhookServer | None = None
        self.address: WebhookAddress | None = None
        """The address in the configurations that this run installs; None if it installs none."""
        self._clock = clock
        self._behind_service = False
        self._drained_at: float | None = None
        self._drained = asyncio.Event()

    async def serve(self, client: Client, stack: AsyncExitStack) -> None:
        """Serves the webhooks until the stack unwinds."""
        if not self.wanted:
            return
        from kubewright.webhook import WebhookServer

        operator, settings = self._operator, self._settings
        try:
            source = await stack.enter_async_context(self._certificate(client))
            host, port = split_address(settings.webhook_bind or (_FREE_PORT_BIND if self._testing else _DEFAULT_BIND))
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
            raise SettingError(f"{error.strerror or error}; choose another address with --webhook-bind") from None
        if self._testing or settings.webhook_url:
            from kubewright.webhook.configurations import (
                WebhookAddress,
            )

            url = settings.webhook_url or f"https://127.0.0.1:{self.server.port}"
            self.address = WebhookAddress(url, source.ca_bundle or b"")
        elif client.in_cluster:
            self._behind_service = True
        else:
            logger.warning("%s", _how_to_reach(client.host, host, self.server.port))

    def _certificate(self, client: Client) -> CertificateSource:
        settings = self._settings
        if self._testing or (not client.in_cluster and settings.webhook_certificates == "self-managed"):
            from kubewright.webhook import EphemeralCertificate

            named = urlsplit(settings.webhook_url).hostname if settings.webhook_url else None
            return EphemeralCertificate([*_LOOPBACK, *([named] if named and named not in _LOOPBACK else ())])
        from kubewright.webhook.certificates import source_for

        return source_for(settings.webhook_certificates, self._served(client), folder=settings.webhook_folder)

    def _served(self, client: Client) -> WebhookDeployment:
        from kubewright.webhook import WebhookDeployment

        operator, settings = self._operator, self._settings
        declared = operator.webhooks.declarations()
        service = settings.webhook_service or f"{operator.name}-webhook"
        # A Helm release has its own names; its manifests derive the name of the Service from the configurations.
        configuration = service.removesuffix("-webhook")
        return WebhookDeployment(
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
        """Returns the conversion settings of the CustomResourceDefinitions of converted kinds, by their names."""
        if self.server is None:
            return {}
        from kubewright.api.apiextensions.v1 import CustomResourceDefinition

        if self.address is None:
            by_service = self._by_service(client, self.server.certificate)
            declared = self._operator.webhooks.conversion_declarations() if client.in_cluster else []
            return {_definition(one.kind): by_service for one in declared}
        wanted = {}
        for stored, *others in self._operator.webhooks.conversions.families():
            name = _definition(stored)
            wanted[name] = self.address.conversion()
            with contextlib.suppress(NotFound):
                await client.get(CustomResourceDefinition, name)
                # The API server uses the previous setting for a moment after the change.
                self._redirected.append((stored, others[0]))
        return wanted

    def _by_service(self, client: Client, source: CertificateSource) -> CustomResourceConversion:
        from kubewright.api.apiextensions.v1 import ServiceReference, WebhookClientConfig
        from kubewright.webhook.configurations import conversion_by

        served = self._served(client)
        service = ServiceReference(name=served.service, namespace=served.namespace, path="/convert", port=443)
        return conversion_by(WebhookClientConfig(service=service, ca_bundle=source.ca_bundle))

    async def install(self, client: Client, stack: AsyncExitStack) -> None:
        """Installs the configurations until the stack unwinds, if this run is responsible for them."""
        if self.address is None or self.server is None:
            return
        from kubewright.webhook.configurations import WebhooksUnreachable, installed

        installation = installed(
            client,
            self._operator.name,
            self._operator.webhooks.declarations(),
            self.server,
            self.address,
            namespaces=self._settings.namespaces,
            namespace_labels=self._settings.namespace_labels or "",
            converted=self._redirected,
        )
        try:
            await stack.enter_async_context(installation)
        except WebhooksUnreachable as error:
            raise SettingError(str(error)) from None

    def start_draining(self) -> None:
        """Expects further requests for `DRAIN_SECONDS`, because the process stops behind a Service."""
        if self._behind_service and self.server is not None:
            self.server.leaving = True
            self._drained_at = self._clock.monotonic() + DRAIN_SECONDS

    def close_now(self) -> None:
        """Stops waiting for further requests."""
        self._drained.set()

    async def wait_until_drained(self) -> None:
        """Waits until no further requests are expected. Everything that handlers use must exist until then."""
        if self._drained_at is None:
            return
        timer = self._clock.call_later(self._drained_at - self._clock.monotonic(), self.close_now)
        await self._drained.wait()
        timer.cancel()

    def not_ready(self) -> str | None:
        """Returns why the API server cannot call the webhooks of this replica, or None."""
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
        f"the webhooks are served at https://{host}:{port}, but the API server of {cluster} does not call this machine."
        " Set --webhook-url to a URL by which it reaches this machine, such as"
        f" https://host.docker.internal:{port} for a cluster in local containers, or the address of a tunnel; and"
        f" --webhook-bind 0.0.0.0:{port} unless that URL leads to loopback. The configurations are then installed for"
        " this run, with their own certificate"
    )
