"""Lists: all objects in one call, or page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import Any, Generic, TypeVar

import msgspec

from kubewright.api import Object, collection_paused, decode
from kubewright.api.wire import UNREADABLE, cut_list
from kubewright.client._errors import Expired, NotKubernetes, Status

__all__ = ["Listing", "ObjectList", "RawPage", "checked_count", "decode_items", "decode_page"]

R = TypeVar("R", bound=Object)


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")
    remaining_item_count: int | None = None


class RawPage(msgspec.Struct):
    """One page of a list. The items reference the whole page: copy what you keep."""

    metadata: _ListMeta
    items: list[msgspec.Raw] | None


_page_decoder = msgspec.json.Decoder(RawPage)


class ObjectList(list[R]):
    """A list of objects, with its resourceVersion."""

    resource_version: str = ""
    continue_token: str = ""
    remaining: int | None = None
    """How many objects follow, if the server reports it; it does not with a selector."""


def decode_page(raw: bytes, request: str) -> RawPage:
    """Returns a page as the server sent it."""
    try:
        try:
            return _page_decoder.decode(raw)
        except RecursionError:  # one undecodable object must not hide the others
            rest, items = cut_list(raw)
            page = _page_decoder.decode(rest)
            page.items = [msgspec.Raw(item) for item in items]
            return page
    except UNREADABLE as error:
        message = f"the response is not a list of Kubernetes objects ({error})"
        raise NotKubernetes(Status(code=200, message=message), request) from None


def decode_items(kind: type[R], page: RawPage) -> ObjectList[R]:
    """Returns the objects of a page. Each keeps only its own bytes."""
    with collection_paused():
        objects = ObjectList(decode(kind, bytes(item)) for item in page.items or ())
    objects.resource_version = page.metadata.resource_version
    objects.continue_token = page.metadata.continue_
    objects.remaining = page.metadata.remaining_item_count
    return objects


class Listing(Generic[R]):
    """The result of `Client.list`: `await` it for all objects, or iterate with `async for`, which holds one page at a
    time.

    Awaiting returns one consistent state: if the server expires the revision between two pages, everything is listed
    again. An iteration continues with a newer state instead.
    """

    def __init__(
        self, fetch: Callable[[str, int | None], Awaitable[ObjectList[R]]], page_size: int | None, limit: int | None
    ) -> None:
        self._fetch = fetch
        self._page_size = checked_count("page_size", page_size)
        self._limit = checked_count("limit", limit)

    def __await__(self) -> Generator[Any, None, ObjectList[R]]:
        return self._all().__await__()

    async def __aiter__(self) -> AsyncIterator[R]:
        async for page in self.pages():
            for obj in page:
                yield obj

    async def pages(self) -> AsyncIterator[ObjectList[R]]:
        """Yields the pages."""
        token, left = "", self._limit
        while True:
            size = self._page_size if left is None else min(left, self._page_size or left)
            try:
                page = await self._fetch(token, size)
            except Expired as error:
                if not error.status.metadata.continue_:
                    raise
                token = error.status.metadata.continue_
                continue
            yield page
            token = page.continue_token
            if left is not None:
                left -= len(page)
            if not token or left == 0:
                return

    async def _all(self) -> ObjectList[R]:
        whole: ObjectList[R] = ObjectList()
        token = ""
        while True:
            left = None if self._limit is None else self._limit - len(whole)
            size = self._page_size if left is None else min(left, self._page_size or left)
            try:
                page = await self._fetch(token, size)
            except Expired:
                if not token:
                    raise
                whole, page = ObjectList(), await self._fetch("", self._limit)
            whole.extend(page)
            whole.resource_version, token = page.resource_version, page.continue_token
            whole.continue_token, whole.remaining = token, page.remaining
            if not token or (self._limit is not None and len(whole) >= self._limit):
                return whole


def checked_count(parameter: str, given: int | None) -> int | None:
    """Checks a number of objects.

    The server treats 0 as no limit, which is never the intention of an explicit limit.
    """
    if given is None:
        return None
    right = f"{parameter} is a whole number of at least 1, or None for all objects"
    if isinstance(given, bool) or not isinstance(given, int):
        raise TypeError(f"{right}, not a {type(given).__name__}")
    if given < 1:
        raise ValueError(f"{right}, not {given}")
    return given
