"""`ListWatch`: the list and watch requests behind a cache."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from kubewright.api import Object
from kubewright.client import ApiError, Client, Forbidden, Invalid, RawPage, Selection, WatchStream

__all__ = ["PAGE_SIZE", "ListWatch", "refuses_streaming"]

R = TypeVar("R", bound=Object)

PAGE_SIZE: Final = 500
_JSON: Final = "application/json"
# A server that cannot reduce objects to their metadata sends them whole.
_METADATA: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
_METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"


class ListWatch(Generic[R]):
    """Lists and watches the objects of one kind, in one namespace or, with None, in all of them."""

    def __init__(
        self,
        client: Client,
        kind: type[R],
        namespace: str | None = None,
        *,
        labels: Selection | None = None,
        fields: Selection | None = None,
        metadata_only: bool = False,
    ) -> None:
        self.kind = kind
        self.namespace = namespace
        self._client = client
        self._labels = labels
        self._fields = fields
        self.metadata_only = metadata_only

    async def page(self, token: str, size: int | None) -> RawPage:
        """Returns one page of the list: the first one, or the one after a continue token."""
        return await self._client.list_page(
            self.kind,
            self.namespace,
            token=token,
            size=size,
            labels=self._labels,
            fields=self._fields,
            accept=_METADATA_LIST if self.metadata_only else _JSON,
        )

    async def watch(self, resource_version: str, *, seconds: int | None, initial: bool = False) -> WatchStream:
        """Opens a watch at a resourceVersion.

        With `initial`, the server first sends all existing objects and marks their end with a bookmark.
        """
        return await self._client.open_watch(
            self.kind,
            self.namespace,
            resource_version=resource_version,
            labels=self._labels,
            fields=self._fields,
            timeout_seconds=seconds,
            send_initial_events=initial,
            accept=_METADATA if self.metadata_only else _JSON,
        )

    async def also_forbidden(self, verb: str) -> Forbidden | None:
        """Returns the error of the other verb, list or watch, if it is forbidden too.

        The message then names both verbs, and a role can be fixed in one step.
        """
        try:
            if verb == "watch":
                await self.page("", 1)
            else:
                (await self.watch("", seconds=1)).close()
        except Forbidden as error:
            return error
        except Exception:  # this request only improves a message: its own failure must not hide the first one
            return None
        return None


def refuses_streaming(error: ApiError) -> bool:
    """Returns whether the error is that of a server without streaming lists, or with streaming lists disabled."""
    return isinstance(error, Invalid) or error.code in (400, 422)
