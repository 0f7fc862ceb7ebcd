"""Reads: one object, lists, watches."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from typing import Literal, TypeVar

from kubewright.api import Object, info_of
from kubewright.client._config import ClientConfig
from kubewright.client._errors import Expired, NotFound, ResponseTooLarge
from kubewright.client._listing import Listing, ObjectList, RawPage, checked_count, decode_items, decode_page
from kubewright.client._requests import JSON_TYPE, Requests, Selection, query_of, selector_text
from kubewright.client.watch import Watch, WatchStream
from kubewright.client.wire import qualified_resource
from kubewright.signatures import is_async

__all__ = ["Reads"]

R = TypeVar("R", bound=Object)
PAGE_SIZE = 500
_QUIET = 300.0
"""Seconds. Servers send a bookmark each minute, so one that is silent for longer is gone."""
_SMALLER = 8
"""A page that was too large is requested again with this fraction of its objects."""
_UNCONFIGURED = ClientConfig(server="")
"""The limits of a client with its own transport."""
_FORGOTTEN = 1.0
"""Seconds between attempts after an expired resourceVersion: the server may give the same answer indefinitely."""
_ASYNC = "condition is async, and waiting for it would stall the watch: make it a plain def"


class Reads(Requests):
    """The verbs that change nothing."""

    async def get(
        self, kind: type[R], name: str, namespace: str | None = None, *, resource_version: str | None = None
    ) -> R:
        """Returns one object. Raises `NotFound` if it does not exist."""
        query = query_of(resourceVersion=resource_version)
        request = self._for_object("GET", "get", info_of(kind), namespace, name, query=query, repeatable=True)
        return await self._object(kind, request)

    async def find(self, kind: type[R], name: str, namespace: str | None = None) -> R | None:
        """Returns one object, or None if it does not exist."""
        try:
            return await self.get(kind, name, namespace)
        except NotFound:
            return None

    def list(
        self,
        kind: type[R],
        namespace: str | None = None,
        *,
        labels: Selection | None = None,
        fields: Selection | None = None,
        limit: int | None = None,
        page_size: int | None = PAGE_SIZE,
        resource_version: str | None = None,
        resource_version_match: Literal["NotOlderThan", "Exact"] | None = None,
    ) -> Listing[R]:
        """Lists the objects of a kind: `await` it for all of them, or use `async for` to hold one page at a time.

        `limit` ends the list after that many; `page_size` is the number of objects per request. Default: no limit.
        Values below 1 are rejected.
        """

        async def fetch(token: str, size: int | None) -> ObjectList[R]:
            page = await self.list_page(
                kind,
                namespace,
                token=token,
                size=size,
                labels=labels,
                fields=fields,
                # A continue token contains its revision, and the server rejects both together.
                resource_version=None if token else resource_version,
                resource_version_match=None if token else resource_version_match,
            )
            return decode_items(kind, page)

        return Listing(fetch, page_size, limit)

    async def list_page(
        self,
        kind: type[Object],
        namespace: str | None = None,
        *,
        token: str = "",
        size: int | None = None,
        labels: Selection | None = None,
        fields: Selection | None = None,
        resource_version: str | None = None,
        resource_version_match: Literal["NotOlderThan", "Exact"] | None = None,
        accept: str = JSON_TYPE,
    ) -> RawPage:
        """Returns one page of a list with its objects as bytes: the first, or the one after a continue token.

        `size` is the maximum number of objects; None means all, and values below 1 are rejected. A page that exceeds
        the client's `max_response_bytes` is requested again with fewer objects; raises `ResponseTooLarge` if a single
        object does.
        """
        size = checked_count("size", size)
        while True:
            query = query_of(
                labelSelector=selector_text(labels),
                fieldSelector=selector_text(fields),
                limit=size,
                **{"continue": token or None},
                resourceVersion=resource_version,
                resourceVersionMatch=resource_version_match,
            )
            request = self._for_kind("GET", "list", info_of(kind), namespace, query=query, repeatable=True)
            request.headers["Accept"] = accept
            try:
                return decode_page(await self._sender.read(request), str(request))
            except ResponseTooLarge:
                if size is None or size == 1:
                    raise
                size = max(1, size // _SMALLER)

    def watch(
        self,
        kind: type[R],
        namespace: str | None = None,
        *,
        resource_version: str = "",
        labels: Selection | None = None,
        fields: Selection | None = None,
        timeout_seconds: int | None = None,
    ) -> Watch[R]:
        """Watches the changes of a kind since a revision. Without one, sends an ADDED for every existing object first.

        Resumes automatically; with `timeout_seconds` the server ends it instead.
        """

        async def open_stream(since: str) -> WatchStream:
            return await self.open_watch(
                kind,
                namespace,
                resource_version=since,
                labels=labels,
                fields=fields,
                timeout_seconds=timeout_seconds,
            )

        return Watch(
            kind,
            open_stream,
            resource_version=resource_version,
            once=timeout_seconds is not None,
            clock=self._clock,
            request=f"watch {qualified_resource(info_of(kind))}",
        )

    async def wait_for(
        self, kind: type[R], name: str, condition: Callable[[R], bool], namespace: str | None = None
    ) -> R:
        """Waits until an object exists and meets a condition, by watching it. Set a limit with `asyncio.timeout`.

        The condition is a plain function: an async one is rejected with TypeError.
        """
        if not callable(condition):
            raise TypeError(f"condition must be a function of the object, not a {type(condition).__name__}")
        if is_async(condition):
            raise TypeError(_ASYNC)
        where = self._namespace(info_of(kind), namespace)
        while True:
            watch = self.watch(kind, where, fields={"metadata.name": name})
            with contextlib.suppress(Expired):
                async with contextlib.aclosing(aiter(watch)) as events:
                    async for event in events:
                        if event.type != "DELETED" and _meets(condition, event.object):
                            return event.object
            await self._clock.sleep(_FORGOTTEN)

    async def wait_until_gone(self, kind: type[Object], name: str, namespace: str | None = None) -> None:
        """Waits until an object is gone, finalizers included, by watching it. Set a limit with `asyncio.timeout`.

        An object that does not exist is gone already. A new object of the same name is another one.
        """
        where, uid = self._namespace(info_of(kind), namespace), None
        while True:
            found = await self.find(kind, name, where)
            if found is None or uid not in (None, found.metadata.uid):
                return
            uid, since = found.metadata.uid, found.metadata.resource_version or ""
            watch = self.watch(kind, where, fields={"metadata.name": name}, resource_version=since)
            with contextlib.suppress(Expired):
                async with contextlib.aclosing(aiter(watch)) as events:
                    async for event in events:
                        if event.type == "DELETED":
                            return
            await self._clock.sleep(_FORGOTTEN)

    async def open_watch(
        self,
        kind: type[Object],
        namespace: str | None = None,
        *,
        resource_version: str = "",
        labels: Selection | None = None,
        fields: Selection | None = None,
        timeout_seconds: int | None = None,
        send_initial_events: bool = False,
        accept: str = JSON_TYPE,
    ) -> WatchStream:
        """Opens one watch request as a stream of lines, bookmarks included: the raw form that caches use.

        Without a timeout, it raises `Unavailable` if nothing is received for five minutes.
        """
        query = query_of(
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=resource_version or None,
            labelSelector=selector_text(labels),
            fieldSelector=selector_text(fields),
            timeoutSeconds=timeout_seconds,
            sendInitialEvents="true" if send_initial_events else None,
            resourceVersionMatch="NotOlderThan" if send_initial_events else None,
        )
        request = self._for_kind("GET", "watch", info_of(kind), namespace, query=query, repeatable=True)
        request.stream = True
        request.timeout = _QUIET if timeout_seconds is None else timeout_seconds + self._timeout
        request.headers["Accept"] = accept
        limit = (self._config or _UNCONFIGURED).max_watch_event_bytes
        return WatchStream(await self._sender.open(request), str(request), max_event_bytes=limit)


def _meets(condition: Callable[[R], object], obj: R) -> bool:
    answer = condition(obj)
    if not inspect.isawaitable(answer):
        return bool(answer)
    if inspect.iscoroutine(answer):
        answer.close()  # otherwise Python warns that it was never awaited
    raise TypeError(_ASYNC)
