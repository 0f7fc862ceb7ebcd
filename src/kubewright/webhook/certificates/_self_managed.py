"""`SelfManaged`: a certificate that the operator creates and renews itself."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from contextlib import AsyncExitStack
from typing import Any, Final

from kubewright.api import Object, core
from kubewright.backoff import Backoff
from kubewright.cache import CacheSyncError, Informer
from kubewright.client import ApiError
from kubewright.redaction import redact
from kubewright.tasks import background
from kubewright.webhook._certificate_source import WebhookDeployment
from kubewright.webhook._serving_certificate import ServingCertificate
from kubewright.webhook.certificates._errors import CertificateError
from kubewright.webhook.certificates._plan import CertificatePolicy
from kubewright.webhook.certificates._reconciler import CertificateReconciler
from kubewright.webhook.certificates._targets import targets_of

__all__ = ["SelfManaged"]

logger = logging.getLogger("kubewright.webhook")

_SYNC_TIMEOUT: Final = 3600.0
_FIRST_RETRY: Final = 1.0
_LAST_RETRY: Final = 60.0


class SelfManaged(ServingCertificate[bytes]):
    """Creates a CA and a certificate, stores them in a Secret, and makes the API server trust the CA.

    Every replica does the same work, and all converge on the same certificate. The Secret, the webhook configurations
    and the CustomResourceDefinitions are watched. Deleted or changed ones are repaired immediately, and with a growing
    delay if another program keeps changing them (`_repair_backoff`). Certificates are renewed before they expire, in an
    order in which no request fails (`_plan`).

    Entering raises an `ApiError` if the server rejects a request, and `CertificateError` if the Secret belongs to
    another program. Later failures are logged and retried, while the current certificate stays in use.
    """

    def __init__(self, deployment: WebhookDeployment, *, policy: CertificatePolicy | None = None) -> None:
        super().__init__()
        self._deployment = deployment
        self._reconciler = CertificateReconciler(deployment, policy)
        self._wake = asyncio.Event()

    async def _start(self, stack: AsyncExitStack) -> None:
        pause = await self._reconcile()
        informers = self._informers()
        for informer in informers:
            informer.add_handler(lambda _: self._wake.set())
            await stack.enter_async_context(informer)
        name = f"webhook certificate of {self._deployment.operator}"
        for work in (*map(self._wake_when_synced, informers), self._reconcile_repeatedly(pause)):
            await stack.enter_async_context(background(work, name=name))

    def _informers(self) -> list[Informer[Any]]:
        """Returns watches that only wake the reconciler. It reads the objects itself, so no cache has a private key."""
        deployment = self._deployment

        def watch(kind: type[Object], name: str, *namespaces: str) -> Informer[Any]:
            return Informer(
                deployment.client,
                kind,
                namespaces=namespaces,
                fields={"metadata.name": name},
                metadata_only=True,
                clock=deployment.clock,
                rng=deployment.rng,
            )

        return [
            watch(core.Secret, deployment.secret, deployment.namespace),
            *(watch(one.kind, one.name) for one in targets_of(deployment)),
        ]

    async def _wake_when_synced(self, informer: Informer[Any]) -> None:
        """Wakes the reconciler once: no event reports a change between its first run and the start of the watch."""
        while not informer.synced:
            with contextlib.suppress(CacheSyncError):  # the informer logs the reason
                await informer.wait_for_sync(_SYNC_TIMEOUT)
        self._wake.set()

    async def _reconcile(self) -> float:
        try:
            return await self._reconciler.reconcile()
        finally:
            # Even after a failure: another replica may have renewed the certificate.
            stored = self._reconciler.stored
            if stored is not None and self._serve(stored.leaf, expires=stored.validity.ends, ca_bundle=stored.bundle):
                logger.info("the webhook certificate is valid until %s", stored.validity.ends.isoformat())

    async def _reconcile_repeatedly(self, pause: float) -> None:
        backoff = Backoff(first=_FIRST_RETRY, longest=_LAST_RETRY)
        while True:
            await self._woken_within(pause)
            try:
                pause = await self._reconcile()
                backoff.reset()
            except (ApiError, CertificateError) as error:
                logger.warning("reconciling the webhook certificate failed: %s", redact(str(error)))
                pause = backoff.next()
            except Exception:
                logger.exception("reconciling the webhook certificate failed")
                pause = backoff.next()

    async def _woken_within(self, seconds: float) -> None:
        """Waits for a change of a watched object, or for the given time."""
        timer = self._deployment.clock.call_later(seconds, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()
        self._wake.clear()
