"""`SelfManaged`: a certificate that the operator makes and renews itself."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from contextlib import AsyncExitStack
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Self

from kubewright.api import Object, core
from kubewright.backoff import Backoff
from kubewright.cache import CacheSyncError, Informer
from kubewright.certificates import KeyPair
from kubewright.client import ApiError
from kubewright.redaction import showable
from kubewright.webhook._certificates_protocol import Served
from kubewright.webhook.certificates._errors import CertificateError
from kubewright.webhook.certificates._held import Held
from kubewright.webhook.certificates._keeper import Keeper
from kubewright.webhook.certificates._plan import Terms
from kubewright.webhook.certificates._targets import kinds_of

__all__ = ["SelfManaged"]

logger = logging.getLogger("kubewright.webhook")

_PATIENCE: Final = 3600.0
_FIRST_RETRY: Final = 1.0
_LAST_RETRY: Final = 60.0


class SelfManaged:
    """Makes its own authority and certificate, keeps them in a Secret, and lets the API server trust them.

    Every replica does the same work, and all of them come to the same certificate. The Secret, the webhook
    configurations and the definitions are watched: what somebody deletes or changes there is repaired at once, and ever
    more rarely when somebody does so again and again; see `_repairs`. Renewal is before the end and in an order in
    which no request fails; see `_plan`.

    Entering raises an `ApiError` when the server refuses, and `CertificateError` when the Secret belongs to somebody
    else. Later failures are logged and tried again; the certificate that there is goes on being served.
    """

    def __init__(self, served: Served, *, terms: Terms | None = None) -> None:
        self._served = served
        self._keeper = Keeper(served, terms)
        self._pair: KeyPair | None = None
        self._wake = asyncio.Event()
        self._stack = AsyncExitStack()

    @property
    def pair(self) -> KeyPair:
        """The certificate that is served now, and its key."""
        if self._pair is None:
            raise RuntimeError("there is no certificate yet: use the source as `async with source`")
        return self._pair

    @property
    def ca_bundle(self) -> bytes:
        """The authorities that the API server is to trust."""
        return self._held.bundle

    @property
    def expires(self) -> datetime:
        """When the certificate ends."""
        return self._held.validity.ends

    @property
    def _held(self) -> Held:
        if self._keeper.held is None:
            raise RuntimeError("there is no certificate yet: use the source as `async with source`")
        return self._keeper.held

    async def __aenter__(self) -> Self:
        pause = await self._step()
        try:
            informers = self._informers()
            for informer in informers:
                informer.add_handler(lambda _: self._wake.set())
                await self._stack.enter_async_context(informer)
            name = f"webhook certificate of {self._served.operator}"
            for work in (*map(self._look_when_watched, informers), self._keep(pause)):
                self._stack.push_async_callback(_ended, asyncio.create_task(work, name=name))
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def _informers(self) -> list[Informer[Any]]:
        """Watches that only wake: the keeper reads for itself, and no key is kept in a cache."""
        served = self._served

        def watch(kind: type[Object], name: str, *namespaces: str) -> Informer[Any]:
            return Informer(
                served.client,
                kind,
                namespaces=namespaces,
                fields={"metadata.name": name},
                metadata_only=True,
                clock=served.clock,
                rng=served.rng,
            )

        return [
            watch(core.Secret, served.secret, served.namespace),
            *(watch(one.kind, one.name) for one in kinds_of(served)),
        ]

    async def _look_when_watched(self, informer: Informer[Any]) -> None:
        """A Secret that was deleted between the first step and the beginning of the watch is told by nobody."""
        while not informer.synced:
            with contextlib.suppress(CacheSyncError):  # why is in the informer's log
                await informer.wait_for_sync(_PATIENCE)
        self._wake.set()

    async def _step(self) -> float:
        try:
            return await self._keeper.step()
        finally:
            # Also when something else failed: other replicas may have renewed it.
            held = self._keeper.held
            if held is not None and held.leaf != self._pair:
                self._pair = held.leaf
                logger.info("the webhook certificate is valid until %s", held.validity.ends.isoformat())

    async def _keep(self, pause: float) -> None:
        backoff = Backoff(first=_FIRST_RETRY, longest=_LAST_RETRY)
        while True:
            await self._woken_within(pause)
            try:
                pause = await self._step()
                backoff.reset()
            except (ApiError, CertificateError) as error:
                logger.warning("the webhook certificate cannot be looked after: %s", showable(str(error)))
                pause = backoff.next()
            except Exception:
                logger.exception("the webhook certificate cannot be looked after")
                pause = backoff.next()

    async def _woken_within(self, seconds: float) -> None:
        """Wait for a change of what is watched, or that long."""
        timer = self._served.clock.call_later(seconds, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()
        self._wake.clear()


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
