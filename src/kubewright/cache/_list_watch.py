"""`ListWatch`: the requests behind a cache, for one kind in one namespace or in all."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from kubewright.api import Object
from kubewright.client import Client, Forbidden, RawPage, Selection, WatchStream

__all__ = ["PAGE_SIZE", "ListWatch"]

R = TypeVar("R", bound=Object)

PAGE_SIZE: Final = 500
_JSON: Final = "application/json"
# A server that cannot reduce objects to their metadata sends them whole.
_METADATA: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
_METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"


class ListWatch(Generic[R]):
    """Lists and watches of what a cache is to hold."""

    def __init__(
        self,
        client: Client,
        kind: type[R],
        namespace: str | None,
        *,
        labels: str | None,
        fields: str | None,
        metadata_only: bool,
    ) -> None:
        self.kind = kind
        self.namespace = namespace
        self._client = client
        self._labels: Selection | None = labels
        self._fields: Selection | None = fields
        self._metadata_only = metadata_only

    async def page(self, token: str, size: int | None) -> RawPage:
        """One page of the list: the first, or the one after a continue token."""
        return await self._client.list_page(
            self.kind,
            self.namespace,
            token=token,
            size=size,
            labels=self._labels,
            fields=self._fields,
            accept=_METADATA_LIST if self._metadata_only else _JSON,
        )

    async def watch(self, resource_version: str, *, seconds: int | None, initial: bool = False) -> WatchStream:
        """A watch from a revision on; with `initial`, all that exists comes first, and a bookmark ends it."""
        return await self._client.open_watch(
            self.kind,
            self.namespace,
            resource_version=resource_version,
            labels=self._labels,
            fields=self._fields,
            timeout_seconds=seconds,
            send_initial_events=initial,
            accept=_METADATA if self._metadata_only else _JSON,
        )

    async def also_forbidden(self, verb: str) -> Forbidden | None:
        """Whether the other of the two verbs is forbidden too: whoever grants one should know of both at once."""
        try:
            if verb == "watch":
                await self.page("", 1)
            else:
                (await self.watch("", seconds=1)).close()
        except Forbidden as error:
            return error
        except Exception:  # asked for a better message only: it must not become the problem itself
            return None
        return None
