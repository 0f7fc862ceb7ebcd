"""`Backend`: the state that all pages share."""

from __future__ import annotations

import asyncio
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
from kubewright.console._connection import Connection
from kubewright.console._contexts import Contexts
from kubewright.console._limits import Limits
from kubewright.console._production import is_production
from kubewright.console.access import (
    INVITATION,
    All,
    BearerToken,
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
from kubewright.console.extensions import Extension, check_extensions
from kubewright.console.kinds import Kind, kinds_of, printer_of
from kubewright.console.objects import EVENT_PATHS, ConditionHistory, EventIndex
from kubewright.console.oidc import OIDC, OIDCSignIn
from kubewright.console.operators import Operators, OperatorView

__all__ = ["PAGES_PER_VIEWER", "Backend", "is_loopback"]

PAGES_PER_VIEWER: Final = 30
"""Default for the number of open pages per viewer. A page takes 0.7 to 1.3 MB (measured), so 30 take less than 40 MB.
"""

_RETRY: Final = RetryPolicy(attempts=3)  # a user is waiting
_ONCE: Final = RetryPolicy(attempts=1)
_TOKEN_LENGTH: Final = 16_384
_REFRESH_SECONDS: Final = 5.0
_REJECTED: Final = "The API server does not accept this token. It may have expired: create a new one."
_UNTRUSTED_PROVIDER: Final = (
    "The API server does not accept your ID token. An administrator must configure the API server with the same "
    "issuer and client ID as this console."
)


class Backend:
    """The kinds of a cluster, their caches, and the signed-in viewers. Use it with `async with`.

    Its client carries the console's own identity, which only fills the caches. Every user has a `Viewer` with their own
    credentials.
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
        oidc: OIDC | None = None,
        operators: Collection[OperatorView] = (),
        extensions: Collection[Extension] = (),
        production: Collection[str] = (),
        pages_per_viewer: int = PAGES_PER_VIEWER,
        limits: Limits | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Creates the backend for one cluster.

        Args:
            client: a client with the console's own credentials. It needs list and watch on everything that is shown.
                The backend closes it.
            name: the name of the cluster on the pages. Default: its host.
            read_only: reject every write, on the server.
            local: whether the user who starts the console may use its credentials, through an `invitation`. Always off
                in a cluster, where the credentials are those of a service account.
            only: the kinds to show, as `example.com/foos`, or `example.com/*` for a group. Events are always included.
                Default: all kinds.
            namespaces: the namespaces to show. Default: all that the console may see.
            viewers: where viewers' requests go, such as an impersonating proxy. Default: the console's own server.
            oidc: the OpenID Connect provider with which users can sign in, in addition to tokens.
            operators: the operators to query: `InProcess(running)`, `Remote("127.0.0.1:8081")`.
            extensions: pages and actions that operator authors add.
            production: patterns of the names of production clusters (`live-*`), which pages mark. Default: names with
                the word `prod`, `production` or `prd`.
            pages_per_viewer: how many pages a viewer may have open, across all browsers. A page takes about 1 MB of
                memory and one connection.
            limits: connections, sizes and deadlines of the server.
            clock: the source of time. Default: the system clock.
        """
        if pages_per_viewer < 1:
            raise ValueError(f"pages_per_viewer must be at least 1, not {pages_per_viewer}")
        self.clock = clock or SystemClock()
        self._owned_client = client
        self.connection = Connection(client, self.clock)
        """Whether the API server answers."""
        self.client = self.connection.guard(client, _RETRY)
        self.local = local and not client.in_cluster
        self.name = name or client.host
        self.read_only = read_only
        self.pages_per_viewer = pages_per_viewer
        self.limits = limits or Limits()
        self.only = frozenset([*only, *EVENT_PATHS]) if only else frozenset()
        self.namespaces = tuple(namespaces)
        self.operators = Operators(*operators, clock=self.clock)
        """The operators that the console queries. More can be added at any time."""
        self.operators.subscribe(self._show_failures)
        self._production = tuple(production)
        self.extensions = check_extensions(extensions)
        """The pages and actions that operator authors added."""
        self.conditions = ConditionHistory(self.clock)
        """The transitions of conditions that open pages have observed."""
        self.events = EventIndex()
        """The subjects of cached events."""
        self._own_viewer = Viewer(
            "console", self.client, read_only=True, namespaces=self.all_namespaces, clock=self.clock
        )
        self._viewers = WeakSet([self._own_viewer])
        self.sessions = Sessions(self.clock)
        """The signed-in viewers."""
        self.oidc = None if oidc is None else OIDCSignIn(oidc, self.clock)
        """Sign-in with OpenID Connect, if it is configured."""
        self.audit = Audit(self.clock)
        """Records sign-ins and writes."""
        self.sign_ins = SignInThrottle(self.clock)
        """Failed sign-ins per client address."""
        self._pool = CachePool(self._create_cache, self.clock)
        self._kinds: tuple[object, list[Kind]] | None = None
        self._defined_paths: set[str] = set()
        self.contexts: Contexts[Backend] | None = None
        """The kubeconfig contexts that the local user may choose from, if any."""
        self.primary: Backend = self
        """The backend of the console itself, if this one serves another context."""
        self._anonymous = _anonymous(client, viewers)
        self._same_server = viewers is None
        self._probing: asyncio.Task[None] | None = None
        self._local_name = ""
        self._discovered_at = float("-inf")

    async def for_session(self, session: Session, context: str = "") -> tuple[Backend, Viewer]:
        """Returns the backend of a context, and the session's viewer there. Without a context, returns this backend.

        Raises `ConfigError` if the context does not exist, or if the session may not use it.
        """
        if not context or (self.contexts is not None and context == self.contexts.default):
            return self, session.viewer
        if self.contexts is None or not session.local:
            raise ConfigError(
                f"Context {context!r} is not available: only the user who started the console can switch contexts."
            )
        backend = await self.contexts.open(context)
        if context not in session.context_viewers:
            session.context_viewers[context] = await backend.local_viewer()
        return backend, session.context_viewers[context]

    def for_context(self, client: Client, context: str) -> Backend:
        """Creates a backend for another cluster that shares sessions and settings with this one."""
        made = Backend(
            client,
            name=context,
            read_only=self.read_only,
            extensions=self.extensions,
            production=self._production,
            clock=self.clock,
        )
        made.sessions, made.contexts, made.primary = self.sessions, self.contexts, self
        return made

    def is_production(self, name: str) -> bool:
        """Whether the cluster or context with this name is a production cluster."""
        return is_production(name, self._production)

    # Kinds

    async def kinds(self) -> list[Kind]:
        """Returns the kinds to show, sorted by path: custom resources and built-in kinds."""
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
            # Discovery may lag behind: a kind disappears together with its definition.
            self._defined_paths |= {kind.path for kind in found if kind.custom}
            found = [kind for kind in found if kind.custom or kind.path not in self._defined_paths]
        if self.only:
            found = [kind for kind in found if {kind.path, f"{kind.group or 'core'}/*"} & self.only]
        self._kinds = ((id(served), revision), found)
        return found

    @property
    def known_kinds(self) -> list[Kind]:
        """The kinds that the last call of `kinds` returned, for code that must not wait."""
        return self._kinds[1] if self._kinds else []

    async def kind(self, path: str) -> Kind | None:
        """Returns the kind at a path such as `example.com/foos`, or None."""
        found = next((kind for kind in await self.kinds() if kind.path == path), None)
        if found is None and await self._refresh_discovery():
            found = next((kind for kind in await self.kinds() if kind.path == path), None)
        return found

    async def _refresh_discovery(self) -> bool:
        """Runs discovery again unless the last run is recent: an API may have been added."""
        now = self.clock.monotonic()
        if now < self._discovered_at + _REFRESH_SECONDS:
            return False
        self._discovered_at = now
        await self.client.discovery.resources(refresh=True)
        return True

    async def all_namespaces(self) -> list[str]:
        """Returns the sorted names of all namespaces that the console knows. A viewer may not be allowed to see all of
        them.
        """
        if self.namespaces:
            return sorted(self.namespaces)
        try:
            cache = await self.cache(_NAMESPACES)
        except (Forbidden, CacheSyncError):
            return [self.client.namespace]
        return sorted(one.name for one in cache.snapshots())

    # Caches

    def cache(self, kind: Kind) -> CacheHandle:
        """Returns a handle of the shared cache of a kind.

        Use `async with backend.cache(kind) as cache` or `await backend.cache(kind)`; see `CacheHandle`. Entering raises
        `Forbidden` if the console may not read the kind, and `CacheSyncError` if the API server does not answer.
        """
        return CacheHandle(self._pool, kind)

    async def open_cache(self, kind: Kind) -> ObjectCache:
        """Returns the cache of a kind, acquired for the caller, who must release it. It may not be in sync yet."""
        return await self._pool.open(kind)

    @property
    def open_caches(self) -> list[ObjectCache]:
        """The caches that are open now. Each costs the API server one watch."""
        return self._pool.caches

    async def _create_cache(self, kind: Kind, on_idle: Callable[[], None]) -> ObjectCache:
        where: Collection[str] = self.namespaces if kind.namespaced else ()
        forbidden = ""
        if not where and not await self._own_viewer.may("list", kind):
            allowed = await self._own_viewer.namespaces_of(kind) if kind.namespaced else frozenset[str]()
            where = () if isinstance(allowed, All) else sorted(allowed)
            forbidden = "" if where else f"the console's own account may not list {kind.plural}"
        cache = ObjectCache(
            self.client,
            kind,
            namespaces=where,
            forbidden=forbidden,
            clock=self.clock,
            on_idle=on_idle,
        )
        cache.set_failures(self.operators.failures_of(kind.group, kind.kind))
        return cache

    def _show_failures(self) -> None:
        for cache in self.open_caches:
            cache.set_failures(self.operators.failures_of(cache.kind.group, cache.kind.kind))

    # Viewers

    def viewer(self, name: str = "") -> Viewer:
        """Returns the local user as a viewer with the console's own credentials. Raises `SignInError` if that is not
        allowed.
        """
        if not self.local:
            raise SignInError("Sign in with a token: the console's own account is not available to viewers.")
        return self._viewer(name or self._local_name or "you", self.client)

    async def local_viewer(self) -> Viewer:
        """Returns the local user as a viewer, with the user name that the API server reports."""
        with suppress(ApiError):
            # One attempt is enough: only the name depends on it, and the page reports a lost connection.
            once = self.client.through(lambda transport: transport, retry=_ONCE)
            self._local_name = self._local_name or await username_of(once)
        return self.viewer()

    async def viewer_with_token(self, token: str) -> Viewer:
        """Returns the viewer with this bearer token; the API server reports the name. Raises `SignInError` with the
        reason.
        """
        return await self._verified(BearerToken(token), _REJECTED)

    async def viewer_with_id_token(self, token: BearerToken) -> Viewer:
        """Returns the viewer with an ID token of the OpenID Connect provider. Raises `SignInError` with the reason."""
        return await self._verified(token, _UNTRUSTED_PROVIDER)

    async def _verified(self, bearer: BearerToken, rejected: str) -> Viewer:
        token = bearer.value
        if not token or len(token) > _TOKEN_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
            raise SignInError("This is not a bearer token: expected one word, as printed by `kubectl create token`.")
        if self._anonymous is None:
            raise SignInError("This console connects to an in-process cluster, which does not accept tokens.")
        anonymous = self.connection.guard(self._anonymous, _RETRY) if self._same_server else self._anonymous
        client = with_token(anonymous, bearer)
        try:
            return self._viewer(await username_of(client), client)
        except Unauthorized:
            raise SignInError(rejected) from None
        except ApiError as error:
            raise SignInUnavailable(f"The API server could not verify the token: {error}") from None

    def _viewer(self, name: str, client: Client) -> Viewer:
        viewer = Viewer(name, client, read_only=self.read_only, namespaces=self.all_namespaces, clock=self.clock)
        self._viewers.add(viewer)
        return viewer

    def invitation(self) -> str:
        """Returns the path and query that sign in the local user once. Append it to the URL that `serving` yields."""
        if not self.local:
            raise SignInError("This console issues no invitations; sign in with a token.")
        return f"/?{INVITATION}={self.sessions.invite()}"

    async def __aenter__(self) -> Self:
        self._probing = asyncio.create_task(self.connection.run(), name=f"probe {self.name}")
        self._pool.start()
        await self.operators.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.oidc is not None:
            await self.oidc.close()
        await self.operators.__aexit__(kind, error, trace)
        if self.contexts is not None and self.primary is self:
            await self.contexts.close()
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.wait([self._probing])
        await self._pool.stop()
        for viewer in [*self._viewers]:
            await viewer.access.close()
        if self._anonymous is not None:
            await self._anonymous.close()
        await self._owned_client.close()


def _anonymous(client: Client, viewers: ClientConfig | None) -> Client | None:
    """Returns a client without credentials, to which viewers' tokens are added. None if the cluster has no server to
    connect to.
    """
    config = viewers or client.config
    return None if config is None else Client(without_credentials(config), retry=_RETRY)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
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
