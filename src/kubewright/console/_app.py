"""`Console`: what all pages share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Generator
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from kubewright.api import Untyped, info_of
from kubewright.cache import CacheSyncError
from kubewright.client import Client, Forbidden
from kubewright.clock import Clock, SystemClock, Timer
from kubewright.console._access import All
from kubewright.console._columns import printer_of
from kubewright.console._conditions import ConditionBook
from kubewright.console._events import EventIndex
from kubewright.console._kinds import Kind, kinds_of
from kubewright.console._shelves import Shelf
from kubewright.console._viewers import Viewer
from kubewright.console.operators import Operators, OperatorView

__all__ = ["Console", "Lease"]

IDLE_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 1.0


class Lease:
    """A shelf that is opened when it is needed, and filled when it is given.

    `async with console.shelf(kind) as shelf` holds it for the block. `await console.shelf(kind)` gives it to whoever
    subscribes next: it closes after a minute in which nobody holds it or listens to it.
    """

    def __init__(self, console: Console, kind: Kind) -> None:
        self._console = console
        self._kind = kind
        self._shelf: Shelf | None = None

    def __await__(self) -> Generator[Any, None, Shelf]:
        return self._filled().__await__()

    async def _filled(self) -> Shelf:
        async with self as shelf:
            return shelf

    async def __aenter__(self) -> Shelf:
        shelf = await self._console.open_shelf(self._kind)
        try:
            await shelf.filled()
        except BaseException:
            shelf.release()
            raise
        self._shelf = shelf
        return shelf

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._shelf is not None
        self._shelf.release()
        self._shelf = None


class Console:
    """The kinds of a cluster, their shelves, and who may look. Use it with `async with`; there is one in a process.

    Its client is its own identity: it fills the shelves, and does nothing else. Whoever looks has a `Viewer`.
    """

    def __init__(
        self,
        client: Client,
        *,
        name: str = "",
        read_only: bool = False,
        only: Collection[str] = (),
        namespaces: Collection[str] = (),
        operators: Collection[OperatorView] = (),
        clock: Clock | None = None,
    ) -> None:
        """A console of a cluster.

        Args:
            client: with the console's own credentials. It needs list and watch on what is to be shown, and is closed
                with the console.
            name: what the cluster is called on the pages; its host unless given.
            read_only: refuse every write, in the server.
            only: the paths of the only kinds to show, such as `example.com/foos`; all of them when empty.
            namespaces: the only namespaces to look at; all that the console may see when empty.
            operators: those that tell what they do: `InProcess(running)`, `Remote("127.0.0.1:8081")`.
            clock: time; the system's unless given.
        """
        self.client = client
        self.name = name or client.host
        self.read_only = read_only
        self.only = frozenset(only)
        self.namespaces = tuple(namespaces)
        self._clock = clock or SystemClock()
        self.operators = Operators(*operators, clock=self._clock)
        """Those that tell what they do; more can be added at any time."""
        self.conditions = ConditionBook(self._clock)
        """The transitions of conditions that pages have seen."""
        self.events = EventIndex()
        """Whom the events on their shelf are about."""
        self._own = Viewer("console", client, read_only=True, namespaces=self.all_namespaces, clock=self._clock)
        self._shelves: dict[Kind, Shelf] = {}
        self._opening: dict[Kind, asyncio.Lock] = {}
        self._closing: dict[Kind, Timer] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._looking: Timer | None = None
        self._kinds: tuple[object, list[Kind]] | None = None

    @classmethod
    def connect(cls, **options: Any) -> Self:
        """With a client of its own; the options are those of `Client.connect`."""
        return cls(Client.connect(**options))

    # Kinds

    async def kinds(self) -> list[Kind]:
        """The kinds that are shown, by path: those of definitions, and those that are built in."""
        served = await self.client.discovery.resources()
        definitions: list[dict[str, Any]] = []
        revision: object = None
        with suppress(Forbidden, CacheSyncError):
            shelf = await self.shelf(_DEFINITIONS)
            snapshots = shelf.snapshots()
            revision = tuple((one.name, one.resource_version) for one in snapshots)
            if self._kinds is not None and self._kinds[0] == (id(served), revision):
                return self._kinds[1]
            definitions = [msgspec.json.decode(one.raw) for one in snapshots]
        found = kinds_of(definitions, served)
        if self.only:
            found = [kind for kind in found if kind.path in self.only]
        self._kinds = ((id(served), revision), found)
        return found

    async def kind(self, path: str) -> Kind | None:
        """The kind of a path such as `example.com/foos`, or None."""
        found = next((kind for kind in await self.kinds() if kind.path == path), None)
        if found is None and await self._refreshed():
            found = next((kind for kind in await self.kinds() if kind.path == path), None)
        return found

    async def _refreshed(self) -> bool:
        """Ask the server once more what it serves, if the last time is some seconds ago: an API may have been added."""
        now = self._clock.monotonic()
        if now < self._asked_at + _REFRESH_SECONDS:
            return False
        self._asked_at = now
        await self.client.discovery.resources(refresh=True)
        return True

    _asked_at = float("-inf")

    async def all_namespaces(self) -> list[str]:
        """The names of all namespaces that the console knows of, sorted; not all that a viewer may know of."""
        if self.namespaces:
            return sorted(self.namespaces)
        try:
            shelf = await self.shelf(_NAMESPACES)
        except (Forbidden, CacheSyncError):
            return [self.client.namespace]
        return sorted(one.name for one in shelf.snapshots())

    # Shelves

    def shelf(self, kind: Kind) -> Lease:
        """The objects of a kind; the same shelf for everybody, filled when it is given.

        `async with console.shelf(kind) as shelf`, or `await console.shelf(kind)`: see `Lease`. Raises `Forbidden` when
        the console may not read the kind, and `CacheSyncError` when the API server does not answer.
        """
        return Lease(self, kind)

    async def open_shelf(self, kind: Kind) -> Shelf:
        """The shelf, held for the caller, who releases it. It may still be filling."""
        async with self._opening.setdefault(kind, asyncio.Lock()):
            timer = self._closing.pop(kind, None)
            if timer is not None:
                timer.cancel()
            shelf = self._shelves.get(kind)
            if shelf is None:
                shelf = await self._made(kind)
                await shelf.open()
                self._shelves[kind] = shelf
            shelf.hold()
            return shelf

    async def _made(self, kind: Kind) -> Shelf:
        where: Collection[str] = self.namespaces if kind.namespaced else ()
        forbidden = ""
        if not where and kind not in (_DEFINITIONS, _NAMESPACES):
            allowed = await self._own.namespaces_of(kind)
            if not isinstance(allowed, All):
                where = sorted(allowed)
                forbidden = "" if where else f"the console's own account may not list {kind.plural}"
        return Shelf(
            self.client,
            kind,
            namespaces=where,
            forbidden=forbidden,
            clock=self._clock,
            on_idle=lambda: self._close_later(kind),
        )

    def _close_later(self, kind: Kind) -> None:
        if kind not in self._closing and kind in self._shelves:
            self._closing[kind] = self._clock.call_later(IDLE_SECONDS, lambda: self._close_idle(kind))

    def _close_idle(self, kind: Kind) -> None:
        self._closing.pop(kind, None)
        shelf = self._shelves.get(kind)
        if shelf is not None and not shelf.holds:
            del self._shelves[kind]
            task = asyncio.create_task(shelf.close())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    @property
    def open_shelves(self) -> list[Shelf]:
        """Those that are open just now: each costs the API server one watch."""
        return [*self._shelves.values()]

    def _look(self) -> None:
        for shelf in self.open_shelves:
            shelf.look()
        self._looking = self._clock.call_later(_LOOK_SECONDS, self._look)

    # Who looks

    def viewer(self) -> Viewer:
        """Who looks."""
        return Viewer("me", self.client, read_only=self.read_only, namespaces=self.all_namespaces, clock=self._clock)

    @asynccontextmanager
    async def serving(self, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
        """Serve the pages, in this event loop, until the block ends. Gives the address."""
        from kubewright.console._server import serve

        async with serve(self, host, port) as url:
            yield url

    async def __aenter__(self) -> Self:
        self._look()
        await self.operators.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.operators.__aexit__(kind, error, trace)
        if self._looking is not None:
            self._looking.cancel()
        for timer in self._closing.values():
            timer.cancel()
        shelves, self._shelves = self.open_shelves, {}
        await asyncio.gather(*(shelf.close() for shelf in shelves), *self._tasks)
        await self.client.close()


_REFRESH_SECONDS: Final = 5.0


def _built_in(group: str, version: str, kind: str, plural: str) -> Kind:
    resource = Untyped.kind_of(f"{group}/{version}" if group else version, kind, plural=plural, namespaced=False)
    printer = printer_of(f"{plural}.{group}" if group else plural, info_of(resource).api_version)
    return Kind(group, version, kind, plural, kind.lower(), False, resource, printer=printer)


_DEFINITIONS: Final = _built_in("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions")
_NAMESPACES: Final = _built_in("", "v1", "Namespace", "namespaces")
