"""`Shelf`: the objects of one kind, one cache for all pages."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from kubewright.api import Untyped
from kubewright.cache import Informer
from kubewright.client import Client
from kubewright.console._kinds import Kind

__all__ = ["Shelf"]


class Shelf:
    """One informer of one kind."""

    def __init__(self, client: Client, kind: Kind) -> None:
        self.kind = kind
        self._informer: Informer[Untyped] = Informer(client, kind.resource)

    async def filled(self) -> None:
        """Wait until everything is there."""
        await self._informer.wait_for_sync(30)

    def __len__(self) -> int:
        return self._informer.objects

    async def __aenter__(self) -> Self:
        await self._informer.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._informer.__aexit__(kind, error, trace)
