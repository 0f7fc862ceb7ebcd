"""`ServingCertificate`: the part that all certificate sources share."""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import datetime
from types import TracebackType
from typing import Generic, Self, TypeVar

import msgspec

from kubewright.key_pair import KeyPair

__all__ = ["ServingCertificate"]

B = TypeVar("B", bound=bytes | None)


class _Served(msgspec.Struct, Generic[B], frozen=True):
    pair: KeyPair
    expires: datetime
    ca_bundle: B


class ServingCertificate(Generic[B]):
    """A `CertificateSource`: holds the certificate that is served now, and runs the tasks that replace it.

    A subclass calls `_serve` with each new certificate. It overrides `_start`, which returns when there is a first one.
    """

    def __init__(self) -> None:
        self._current: _Served[B] | None = None
        self._stack = AsyncExitStack()

    @property
    def pair(self) -> KeyPair:
        """The current certificate and its key."""
        return self._served.pair

    @property
    def ca_bundle(self) -> B:
        """The CAs that the API server must trust, PEM; None if another program injects them."""
        return self._served.ca_bundle

    @property
    def expires(self) -> datetime:
        """When the certificate expires."""
        return self._served.expires

    @property
    def _served(self) -> _Served[B]:
        if self._current is None:
            raise RuntimeError("there is no certificate yet: enter the source with `async with source`")
        return self._current

    async def __aenter__(self) -> Self:
        try:
            await self._start(self._stack)
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def _start(self, stack: AsyncExitStack) -> None:
        """Waits for the first certificate, and enters the tasks that replace it into the stack."""

    def _serve(self, pair: KeyPair, *, expires: datetime, ca_bundle: B) -> bool:
        """Replaces the certificate. Returns whether the pair is new; an equal pair stays the same object."""
        current = self._current
        is_new = current is None or current.pair != pair
        if current is not None and not is_new:
            pair = current.pair
        self._current = _Served(pair, expires, ca_bundle)
        return is_new
