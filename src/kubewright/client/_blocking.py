"""`BlockingClient`: the client for synchronous scripts.

It runs a `Client` and an event loop in its own thread. Each method runs the method of the same name there; there is no
second implementation.
"""

from __future__ import annotations

import functools
import os
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from kubewright.api import ResourceInfo
from kubewright.client._client import Client
from kubewright.client._discovery import ServedResource, ServerVersion
from kubewright.client._load_config import load_config
from kubewright.tasks import LoopThread

if TYPE_CHECKING:  # WebSockets are imported on first use
    from kubewright.client.streams import BlockingPortForward, BlockingSession, PortForward, Session

__all__ = ["BlockingClient", "BlockingDiscovery"]

P = ParamSpec("P")
T = TypeVar("T")
B = TypeVar("B")


def _waiting(
    method: Callable[Concatenate[Client, P], Awaitable[T]],
) -> Callable[Concatenate[BlockingClient, P], T]:
    @functools.wraps(method)
    def call(self: BlockingClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        async def run() -> T:
            return await method(self.client, *args, **kwargs)

        return self._wait(run())

    return call


def _iterating(
    method: Callable[Concatenate[Client, P], AsyncIterable[T]],
) -> Callable[Concatenate[BlockingClient, P], Iterator[T]]:
    @functools.wraps(method)
    def call(self: BlockingClient, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        iterator = method(self.client, *args, **kwargs).__aiter__()

        async def following() -> tuple[T] | None:
            async for item in iterator:
                return (item,)
            return None

        async def close() -> None:
            if hasattr(iterator, "aclose"):
                await iterator.aclose()

        try:
            while (found := self._wait(following())) is not None:
                yield found[0]
        finally:
            self._wait(close())

    return call


def _entering(
    method: Callable[Concatenate[Client, P], AbstractAsyncContextManager[T]],
    blocking: Callable[[BlockingClient, T], B],
) -> Callable[Concatenate[BlockingClient, P], AbstractContextManager[B]]:
    @functools.wraps(method)
    @contextmanager
    def call(self: BlockingClient, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[B]:
        async def enter() -> T:
            return await stack.enter_async_context(method(self.client, *args, **kwargs))

        stack = AsyncExitStack()
        entered = self._wait(enter())
        try:
            yield blocking(self, entered)
        finally:
            self._wait(stack.aclose())

    return call


def _session(client: BlockingClient, session: Session) -> BlockingSession:
    from kubewright.client.streams import BlockingSession

    return BlockingSession(client._wait, session)


def _port_forward(client: BlockingClient, forward: PortForward) -> BlockingPortForward:
    from kubewright.client.streams import BlockingPortForward

    return BlockingPortForward(forward)


class BlockingClient:
    """A client with blocking methods: `with BlockingClient.connect() as client: client.get(core.Pod, "web")`.

    `list` returns all objects, `iterate` yields them page by page; `watch` and `logs` yield until they end;
    `exec_session`, `attach` and `port_forward` are contexts. Safe to use from several threads. Takes the same settings
    as `Client`; `client` is the wrapped async client.
    """

    def __init__(self, client: Client | None = None) -> None:
        self.client = client or Client(load_config())
        self._thread = LoopThread("kubewright-blocking-client")

    @classmethod
    def connect(
        cls,
        *,
        kubeconfig: str | os.PathLike[str] | None = None,
        context: str | None = None,
        server: str | None = None,
        namespace: str | None = None,
    ) -> Self:
        """See `Client.connect`."""
        return cls(Client.connect(kubeconfig=kubeconfig, context=context, server=server, namespace=namespace))

    get = _waiting(Client.get)
    find = _waiting(Client.find)
    wait_for = _waiting(Client.wait_for)
    wait_until_gone = _waiting(Client.wait_until_gone)
    list = _waiting(Client.list)
    iterate = _iterating(Client.list)
    watch = _iterating(Client.watch)
    create = _waiting(Client.create)
    update = _waiting(Client.update)
    update_status = _waiting(Client.update_status)
    replace = _waiting(Client.replace)
    patch = _waiting(Client.patch)
    apply = _waiting(Client.apply)
    apply_file = _waiting(Client.apply_file)
    delete = _waiting(Client.delete)
    delete_collection = _waiting(Client.delete_collection)
    get_scale = _waiting(Client.get_scale)
    set_scale = _waiting(Client.set_scale)
    evict = _waiting(Client.evict)
    create_token = _waiting(Client.create_token)
    logs = _iterating(Client.logs)
    exec = _waiting(Client.exec)
    exec_session = _entering(Client.exec, _session)
    attach = _entering(Client.attach, _session)
    port_forward = _entering(Client.port_forward, _port_forward)
    copy_to = _waiting(Client.copy_to)
    copy_from = _waiting(Client.copy_from)
    kind = _waiting(Client.kind)
    server_version = _waiting(Client.server_version)
    request = _waiting(Client.request)
    stream = _iterating(Client.stream)

    @property
    def namespace(self) -> str:
        """The client's default namespace."""
        return self.client.namespace

    @property
    def discovery(self) -> BlockingDiscovery:
        """The resources of the server."""
        return BlockingDiscovery(self)

    def close(self) -> None:
        """Closes all connections and ends the thread."""
        if not self._thread.closed:
            self._wait(self.client.close())
            self._thread.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    if not TYPE_CHECKING:  # a name with an underscore is never a method of the client

        def __getattr__(self, name: str) -> Any:
            # Python's own message would show the private class of a context's client.
            message = f"a BlockingClient has no attribute {name!r}"
            if not name.startswith("_") and hasattr(self.__dict__.get("client"), name):
                message += f": the wrapped async client has one, as .client.{name}"
            raise AttributeError(message, name=name, obj=self)

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if self._thread.closed:
            work.close()
            raise RuntimeError("this BlockingClient is closed")
        return self._thread.call(work)


class BlockingDiscovery:
    """The resources of the server, like `Discovery`, with blocking methods."""

    def __init__(self, client: BlockingClient) -> None:
        self._client = client
        self._discovery = client.client.discovery

    def resources(self, *, refresh: bool = False) -> tuple[ServedResource, ...]:
        """See `Discovery.resources`."""
        return self._client._wait(self._discovery.resources(refresh=refresh))

    def find(self, api_version: str, kind: str) -> ResourceInfo:
        """See `Discovery.find`."""
        return self._client._wait(self._discovery.find(api_version, kind))

    def served(self, api_version: str, kind: str) -> ServedResource:
        """See `Discovery.served`."""
        return self._client._wait(self._discovery.served(api_version, kind))

    def named(self, name: str) -> ServedResource:
        """See `Discovery.named`."""
        return self._client._wait(self._discovery.named(name))

    def server_version(self) -> ServerVersion:
        """See `Discovery.server_version`."""
        return self._client._wait(self._discovery.server_version())
