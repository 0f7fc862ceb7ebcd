"""`Console`: what all pages share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Any, Self

from kubewright.client import Client
from kubewright.console._kinds import Kind, kinds_of
from kubewright.console._shelves import Shelf
from kubewright.console._viewers import Viewer

__all__ = ["Console"]


class Console:
    """The kinds of a cluster, their shelves, and who may look. Use it with `async with`."""

    def __init__(self, client: Client) -> None:
        self.client = client
        """With the console's own credentials: for what all viewers share."""
        self._shelves: dict[str, Shelf] = {}
        self._stack = AsyncExitStack()

    @classmethod
    def connect(cls, **options: Any) -> Self:
        """With a client of its own; the options are those of `Client.connect`."""
        return cls(Client.connect(**options))

    async def kinds(self) -> list[Kind]:
        """The kinds that custom resource definitions define, by group and name."""
        return await kinds_of(self.client)

    async def kind(self, path: str) -> Kind | None:
        """The kind of a path such as `example.com/foos`."""
        return next((kind for kind in await self.kinds() if kind.path == path), None)

    async def shelf(self, kind: Kind) -> Shelf:
        """The objects of a kind; the same shelf for everybody, filled when this returns."""
        shelf = self._shelves.get(kind.path)
        if shelf is None:
            shelf = self._shelves[kind.path] = await self._stack.enter_async_context(Shelf(self.client, kind))
        await shelf.filled()
        return shelf

    def viewer(self) -> Viewer:
        """Who looks."""
        return Viewer("me", self.client)

    @asynccontextmanager
    async def serving(self, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
        """Serve the pages, in this event loop, until the block ends. Gives the address."""
        from kubewright.console._server import serve

        async with serve(self, host, port) as url:
            yield url

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self.client)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()
