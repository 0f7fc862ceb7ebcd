"""`Selection`: objects that are not in a controller's cache, but exist.

The server sends the same event for an object that was deleted and for one that does not match the selector of the watch
any more. Only the first one is a deletion, so the server is asked before a controller cleans up.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from kubewright.api import Object
from kubewright.cache import Informer, ObjectKey, Snapshot
from kubewright.client import Client

__all__ = ["Selection"]

R = TypeVar("R", bound=Object)


class _Meta(msgspec.Struct):
    uid: str = ""


class _Item(msgspec.Struct):
    metadata: _Meta


class Selection(Generic[R]):
    """The selection of the cache of one controller. Without selectors, no request is sent."""

    def __init__(self, kind: type[R], informer: Informer[R], client: Client) -> None:
        self._kind = kind
        self._informer = informer
        self._client = client

    async def lost(self, last: Snapshot[R]) -> bool:
        """Returns whether an object exists, although the watch has reported its deletion."""
        return bool(self._informer.selection) and await self._uid(last.key) == last.uid

    async def excludes(self, key: ObjectKey) -> bool:
        """Returns whether an object that is not cached exists, or may exist in a namespace that is not watched."""
        if not self._informer.covers(key.namespace):
            return True
        return bool(self._informer.selection) and await self._uid(key) is not None

    async def _uid(self, key: ObjectKey) -> str | None:
        # A list, because every controller may list its kind, but not every one may get it.
        page = await self._client.list_page(
            self._kind, key.namespace or None, size=1, fields={"metadata.name": key.name}
        )
        for item in page.items or ():
            return msgspec.json.decode(item, type=_Item).metadata.uid
        return None
