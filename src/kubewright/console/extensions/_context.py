"""The arguments of pages and actions: `ExtensionPage` and `ActionContext`. Both act as the viewer."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import quote, urlencode

from kubewright.api import DecodeError, Object, decode
from kubewright.client import Client
from kubewright.console.access import Viewer
from kubewright.console.caches import Batch, ObjectCache
from kubewright.console.extensions._needs import path_of
from kubewright.console.kinds import Kind

__all__ = ["ActionContext", "Cluster", "ExtensionPage"]

logger = logging.getLogger("kubewright.console")

T = TypeVar("T", bound=Object)


class Cluster(Protocol):
    """The part of the console that a page uses: kinds and caches of its cluster."""

    name: str

    async def kind(self, path: str) -> Kind | None:
        """Returns the kind at a path, or None."""

    async def open_cache(self, kind: Kind) -> ObjectCache:
        """Returns the cache of a kind, acquired for the caller."""


@dataclass(frozen=True)
class ActionContext(Generic[T]):
    """One run of an action, with the object as it was read before the run."""

    obj: T
    client: Client = field(repr=False)
    """A client with the viewer's credentials. In a read-only console it rejects every write."""
    viewer: str
    """The name of the viewer."""


class ExtensionPage:
    """A page of an extension that one browser shows.

    Draw with NiceGUI: `from nicegui import ui` inside the function. Exceptions of the function, of event handlers and
    of `on_change` are shown on the page.
    """

    def __init__(
        self,
        cluster: Cluster,
        viewer: Viewer,
        extension: str,
        *,
        path: str = "",
        query: Mapping[str, str] | None = None,
        namespace: str = "",
        on_close: Callable[[Callable[[], Any]], None],
        on_error: Callable[[Exception], None],
    ) -> None:
        self._cluster = cluster
        self._viewer = viewer
        self._extension = extension
        self._on_close = on_close
        self._on_error = on_error
        self._caches: dict[str, ObjectCache] = {}
        self.path = path
        """The part of the URL after the name of the page, without slashes at its ends: `shop/db-1`."""
        self.query: Mapping[str, str] = query or {}
        """The query parameters of the URL."""
        self.namespace = namespace
        """The namespace that the viewer chose in the header; "" for all."""

    @property
    def viewer(self) -> str:
        """The name of the viewer, as the API server reports it."""
        return self._viewer.name

    @property
    def client(self) -> Client:
        """A client with the viewer's credentials. In a read-only console it rejects every write."""
        return self._viewer.client

    @property
    def cluster(self) -> str:
        """The name of the cluster."""
        return self._cluster.name

    def on_close(self, callback: Callable[[], Any]) -> None:
        """Calls back once when the browser has left the page."""
        self._on_close(callback)

    # Objects

    async def objects(self, kind: type[T], namespace: str = "") -> list[T]:
        """Returns the objects that the viewer may see, in one namespace or in all, sorted by namespace and name.

        They come from the console's cache, which all pages share. Objects that do not fit the class are skipped and
        logged. Raises `LookupError` if the cluster, or this console, does not have the kind.
        """
        cache = await self._cache(kind)
        visible = await cache.visible(self._viewer, namespace or None)
        decoded = (self._decoded(kind, cache, one.raw) for one in visible)
        return sorted(
            (obj for obj in decoded if obj is not None),
            key=lambda obj: (obj.metadata.namespace or "", obj.metadata.name or ""),
        )

    async def get(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        """Returns one object from the cache; None if it does not exist, or the viewer may not see it."""
        cache = await self._cache(kind)
        raw = await cache.read(self._viewer, namespace, name)
        return None if raw is None else self._decoded(kind, cache, raw)

    async def on_change(self, callback: Callable[[], Awaitable[None]], *kinds: type[Object]) -> None:
        """Calls back after objects of these kinds changed, at most four times a second, until the page is closed."""

        async def changed(_: Batch) -> None:
            try:
                await callback()
            except Exception as error:
                self._on_error(error)

        for kind in kinds:
            self._on_close((await self._cache(kind)).subscribe(changed).close)

    async def may(self, verb: str, kind: type[Object], namespace: str = "", name: str = "") -> bool:
        """Whether the API server would allow the viewer this request. Without a namespace: in all namespaces."""
        return await self._viewer.may(verb, await self._kind(kind), namespace or None, name or None)

    async def _kind(self, kind: type[Object]) -> Kind:
        found = await self._cluster.kind(path_of(kind))
        if found is None:
            raise LookupError(f"this console does not show {path_of(kind)}, or the cluster does not serve it")
        return found

    async def _cache(self, kind: type[Object]) -> ObjectCache:
        path = path_of(kind)
        if path not in self._caches:
            cache = await self._cluster.open_cache(await self._kind(kind))
            self._on_close(cache.release)
            self._caches[path] = cache
            await cache.wait_for_sync()
        return self._caches[path]

    @staticmethod
    def _decoded(kind: type[T], cache: ObjectCache, raw: bytes) -> T | None:
        try:
            return decode(kind, raw)
        except DecodeError as error:
            logger.warning("a page of an extension skips an object of %s: %s", cache.kind, error)
            return None

    # Links

    def address(self, page: str, path: str = "", **query: str) -> str:
        """Returns the URL path of a page of this extension, or of a path below the page."""
        below = f"/{quote(path)}" if path else ""
        asked = f"?{urlencode(query, quote_via=quote)}" if query else ""
        return f"/extensions/{self._extension}/{quote(page, safe='')}{below}{asked}"

    def object_address(self, obj: Object, page: str = "") -> str:
        """Returns the URL path of an object's page, or of its page `edit` or `delete`."""
        return _object(type(obj), obj) + (f"/{page}" if page else "")

    def new_address(
        self,
        kind: type[Object],
        namespace: str = "",
        copy_of: Object | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> str:
        """Returns the URL path of the form for a new object. With `copy_of`, the form starts as a copy of that object.

        `values` replace fields of the copy: `{"spec": {"size": 3}}`. The user sees them and can change them before
        creating the object.
        """
        copied = f"{copy_of.metadata.namespace or '-'}/{copy_of.metadata.name}" if copy_of is not None else ""
        given = json.dumps(values, separators=(",", ":")) if values else ""
        fields = (("namespace", namespace), ("copy", copied), ("values", given))
        asked = {name: value for name, value in fields if value}
        return f"/kinds/{quote(path_of(kind))}/new" + (f"?{urlencode(asked, quote_via=quote)}" if asked else "")


def _object(kind: type[Object], obj: Object) -> str:
    place = (obj.metadata.namespace or "-", obj.metadata.name or "")
    return f"/objects/{quote(path_of(kind))}/" + "/".join(quote(part, safe="") for part in place)
