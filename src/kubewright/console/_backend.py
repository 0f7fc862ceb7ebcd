"""`Console`: what all pages share."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Collection
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self
from weakref import WeakSet

import msgspec

from kubewright.api import Untyped, info_of
from kubewright.cache import CacheSyncError
from kubewright.client import ApiError, Client, ClientConfig, ConfigError, Forbidden, RetryPolicy, Unauthorized
from kubewright.clock import Clock, SystemClock
from kubewright.console._audit import Audit
from kubewright.console._contexts import Contexts
from kubewright.console._limits import Limits
from kubewright.console.access import (
    INVITATION,
    All,
    Session,
    Sessions,
    SignInError,
    SignInThrottle,
    SignInUnavailable,
    Viewer,
    username_of,
    with_token,
    without_credentials,
)
from kubewright.console.caches import CacheHandle, CachePool, ObjectCache
from kubewright.console.kinds import Kind, kinds_of, printer_of
from kubewright.console.objects import ConditionHistory, EventIndex
from kubewright.console.operators import Operators, OperatorView

__all__ = ["PAGES_PER_VIEWER", "Backend", "is_loopback"]

PAGES_PER_VIEWER: Final = 30
"""How many pages a viewer may have open. A page takes 0.7 to 1.3 MB (measured), so these take less than 40 MB."""

_EVENTS: Final = ("core/events", "events.k8s.io/events")  # which belong to every kind
_RETRY: Final = RetryPolicy(attempts=3)  # somebody sits and waits
_ONCE: Final = RetryPolicy(attempts=1)
_TOKEN_LENGTH: Final = 16_384
_REFRESH_SECONDS: Final = 5.0


class Backend:
    """The kinds of a cluster, their caches, and who may look. Use it with `async with`; there is one in a process.

    Its client is its own identity: it fills the caches, and does nothing else. Whoever looks has a `Viewer`.
    """

    def __init__(
        self,
        client: Client,
        *,
        name: str = "",
        read_only: bool = False,
        local: bool = True,
        only: Collection[str] = (),
        namespaces: Collection[str] = (),
        viewers: ClientConfig | None = None,
        operators: Collection[OperatorView] = (),
        pages_per_viewer: int = PAGES_PER_VIEWER,
        limits: Limits | None = None,
        clock: Clock | None = None,
    ) -> None:
        """A console of a cluster.

        Args:
            client: with the console's own credentials. It needs list and watch on what is to be shown, and is closed
                with the console.
            name: what the cluster is called on the pages; its host unless given.
            read_only: refuse every write, in the server.
            local: whether whoever started the console may look with its own credentials, by `invitation`. Never in a
                cluster: there they are those of a service account.
            only: the only kinds to show, as `example.com/foos`, or `example.com/*` for a group, and events; all
                when empty.
            namespaces: the only namespaces to look at; all that the console may see when empty.
            viewers: where the requests of viewers go, if not to the console's own server: a proxy that impersonates.
            operators: those that tell what they do: `InProcess(running)`, `Remote("127.0.0.1:8081")`.
            pages_per_viewer: how many pages a viewer may have open, in all browsers together. A page takes about 1 MB
                of memory and a connection.
            limits: connections, sizes and deadlines of its server.
            clock: time; the system's unless given.
        """
        if pages_per_viewer < 1:
            raise ValueError(f"pages_per_viewer must be at least 1, not {pages_per_viewer}")
        self.client = client
        self.local = local and not client.in_cluster
        self.name = name or client.host
        self.read_only = read_only
        self.pages_per_viewer = pages_per_viewer
        self.limits = limits or Limits()
        self.only = frozenset([*only, *_EVENTS]) if only else frozenset()
        self.namespaces = tuple(namespaces)
        self.clock = clock or SystemClock()
        self.operators = Operators(*operators, clock=self.clock)
        """Those that tell what they do; more can be added at any time."""
        self.conditions = ConditionHistory(self.clock)
        """The transitions of conditions that pages have seen."""
        self.events = EventIndex()
        """Whom the events on their cache are about."""
        self._own = Viewer("console", client, read_only=True, namespaces=self.all_namespaces, clock=self.clock)
        self._viewers = WeakSet([self._own])
        self.sessions = Sessions(self.clock)
        """Who has come in."""
        self.audit = Audit(self.clock)
        """Records who signs in, and who changes what."""
        self.sign_ins = SignInThrottle(self.clock)
        """Failed sign-ins per client address."""
        self._pool = CachePool(self._made, self.clock)
        self._kinds: tuple[object, list[Kind]] | None = None
        self._defined: set[str] = set()
        self.contexts: Contexts[Backend] | None = None
        """The contexts that whoever started the console may choose from, if there are any."""
        self.primary: Backend = self
        """The console that was started, where this is one of another context."""
        self._anonymous = _anonymous(client, viewers)
        self._local_name = ""
        self._asked_at = float("-inf")

    async def for_session(self, session: Session, context: str = "") -> tuple[Backend, Viewer]:
        """The backend of a context, and the viewer of the session there; without a context, this backend.

        Raises `ConfigError` when there is no such context, or it is not for this session.
        """
        if not context or (self.contexts is not None and context == self.contexts.default):
            return self, session.viewer
        if self.contexts is None or not session.local:
            raise ConfigError(
                f"Other contexts, such as {context!r}, are for whoever started the console, with his own kubeconfig."
            )
        backend = await self.contexts.open(context)
        if context not in session.context_viewers:
            session.context_viewers[context] = await backend.local_viewer()
        return backend, session.context_viewers[context]

    def for_context(self, client: Client, context: str) -> Backend:
        """The same for another cluster: sessions and settings are shared."""
        made = Backend(client, name=context, read_only=self.read_only, clock=self.clock)
        made.sessions, made.contexts, made.primary = self.sessions, self.contexts, self
        return made

    # Kinds

    async def kinds(self) -> list[Kind]:
        """The kinds that are shown, by path: those of definitions, and those that are built in."""
        served = await self.client.discovery.resources()
        definitions: list[dict[str, Any]] = []
        revision: object = None
        with suppress(Forbidden, CacheSyncError):
            cache = await self.cache(_DEFINITIONS)
            snapshots = cache.snapshots()
            revision = tuple((one.name, one.resource_version) for one in snapshots)
            if self._kinds is not None and self._kinds[0] == (id(served), revision):
                return self._kinds[1]
            definitions = [msgspec.json.decode(one.raw) for one in snapshots]
        found = kinds_of(definitions, served)
        if revision is not None:
            # What the server said that it serves may be older: a kind goes with the definition that made it.
            self._defined |= {kind.path for kind in found if kind.custom}
            found = [kind for kind in found if kind.custom or kind.path not in self._defined]
        if self.only:
            found = [kind for kind in found if {kind.path, f"{kind.group or 'core'}/*"} & self.only]
        self._kinds = ((id(served), revision), found)
        return found

    @property
    def known_kinds(self) -> list[Kind]:
        """The kinds that were there when somebody last asked: for what is drawn without waiting."""
        return self._kinds[1] if self._kinds else []

    async def kind(self, path: str) -> Kind | None:
        """The kind of a path such as `example.com/foos`, or None."""
        found = next((kind for kind in await self.kinds() if kind.path == path), None)
        if found is None and await self._refreshed():
            found = next((kind for kind in await self.kinds() if kind.path == path), None)
        return found

    async def _refreshed(self) -> bool:
        """Ask the server once more what it serves, if the last time is some seconds ago: an API may have been added."""
        now = self.clock.monotonic()
        if now < self._asked_at + _REFRESH_SECONDS:
            return False
        self._asked_at = now
        await self.client.discovery.resources(refresh=True)
        return True

    async def all_namespaces(self) -> list[str]:
        """The names of all namespaces that the console knows of, sorted; not all that a viewer may know of."""
        if self.namespaces:
            return sorted(self.namespaces)
        try:
            cache = await self.cache(_NAMESPACES)
        except (Forbidden, CacheSyncError):
            return [self.client.namespace]
        return sorted(one.name for one in cache.snapshots())

    # Caches

    def cache(self, kind: Kind) -> CacheHandle:
        """The objects of a kind; the same cache for everybody, filled when it is given.

        `async with console.cache(kind) as cache`, or `await console.cache(kind)`: see `CacheHandle`. Raises `Forbidden` when
        the console may not read the kind, and `CacheSyncError` when the API server does not answer.
        """
        return CacheHandle(self._pool, kind)

    async def open_cache(self, kind: Kind) -> ObjectCache:
        """The cache, held for the caller, who releases it. It may still be filling."""
        return await self._pool.open(kind)

    @property
    def open_caches(self) -> list[ObjectCache]:
        """Those that are open just now: each costs the API server one watch."""
        return self._pool.caches

    async def _made(self, kind: Kind, on_idle: Callable[[], None]) -> ObjectCache:
        where: Collection[str] = self.namespaces if kind.namespaced else ()
        forbidden = ""
        if not where and not await self._own.may("list", kind):
            allowed = await self._own.namespaces_of(kind) if kind.namespaced else frozenset[str]()
            where = () if isinstance(allowed, All) else sorted(allowed)
            forbidden = "" if where else f"the console's own account may not list {kind.plural}"
        return ObjectCache(
            self.client,
            kind,
            namespaces=where,
            forbidden=forbidden,
            clock=self.clock,
            on_idle=on_idle,
        )

    # Who looks

    def viewer(self, name: str = "") -> Viewer:
        """Whoever started the console, with the console's own credentials. Raises `SignInError` where nobody may."""
        if not self.local:
            raise SignInError("Sign in with a token: the console's own account is for nobody else.")
        return self._viewer(name or self._local_name or "you", self.client)

    async def local_viewer(self) -> Viewer:
        """The same, by the name that the API server has for him."""
        with suppress(ApiError):
            # Asked once: it is only a name, and the page says that the API server is away.
            once = self.client.through(lambda transport: transport, retry=_ONCE)
            self._local_name = self._local_name or await username_of(once)
        return self.viewer()

    async def viewer_with_token(self, token: str) -> Viewer:
        """Whoever has this bearer token; the API server says who that is. Raises `SignInError` with the reason."""
        if not token or len(token) > _TOKEN_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
            raise SignInError("This is no bearer token: expected one word, as `kubectl create token` prints it.")
        if self._anonymous is None:
            raise SignInError("This console reaches its cluster inside the program; there is no way for tokens.")
        client = with_token(self._anonymous, token)
        try:
            return self._viewer(await username_of(client), client)
        except Unauthorized:
            raise SignInError("The API server does not know this token; it may have expired.") from None
        except ApiError as error:
            raise SignInUnavailable(f"The API server could not be asked who this is: {error}") from None

    def _viewer(self, name: str, client: Client) -> Viewer:
        viewer = Viewer(name, client, read_only=self.read_only, namespaces=self.all_namespaces, clock=self.clock)
        self._viewers.add(viewer)
        return viewer

    def invitation(self) -> str:
        """What to put behind the address that `serving` gives: it lets whoever started the console in, once."""
        if not self.local:
            raise SignInError("Nobody is invited to this console; sign in with a token.")
        return f"/?{INVITATION}={self.sessions.invite()}"

    async def __aenter__(self) -> Self:
        self._pool.start()
        await self.operators.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.operators.__aexit__(kind, error, trace)
        if self.contexts is not None and self.primary is self:
            await self.contexts.close()
        await self._pool.stop()
        for viewer in [*self._viewers]:
            await viewer.access.close()
        if self._anonymous is not None:
            await self._anonymous.close()
        await self.client.close()


def _anonymous(client: Client, viewers: ClientConfig | None) -> Client | None:
    """A client without credentials, on which those of viewers stand; None where there is no server to reach."""
    config = viewers or client.config
    return None if config is None else Client(without_credentials(config), retry=_RETRY)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _built_in(group: str, version: str, kind: str, plural: str) -> Kind:
    resource = Untyped.kind_of(f"{group}/{version}" if group else version, kind, plural=plural, namespaced=False)
    printer = printer_of(f"{plural}.{group}" if group else plural, info_of(resource).api_version)
    return Kind(group, version, kind, plural, kind.lower(), False, resource, printer=printer)


_DEFINITIONS: Final = _built_in("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions")
_NAMESPACES: Final = _built_in("", "v1", "Namespace", "namespaces")
