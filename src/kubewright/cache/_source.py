"""`Source`: the requests behind a cache, for one kind in one namespace or in all."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

import msgspec

from kubewright.api import Object, info_of
from kubewright.client import Client, Forbidden, NotKubernetes, Selection, Status, WatchStream

__all__ = ["Page", "Source"]

R = TypeVar("R", bound=Object)

PAGE_SIZE: Final = 500
_JSON: Final = "application/json"
# A server that cannot reduce objects to their metadata sends them whole.
_METADATA: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
_METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"


class _PageMetadata(msgspec.Struct, gc=False):
    resource_version: str = msgspec.field(name="resourceVersion", default="")
    continue_: str = msgspec.field(name="continue", default="")


class Page(msgspec.Struct, gc=False):
    """One page of a list. The items hold on to the whole page: copy what is kept."""

    metadata: _PageMetadata
    items: list[msgspec.Raw] | None = None


_page_decoder: Final = msgspec.json.Decoder(Page)


class Source(Generic[R]):
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

    async def page(self, token: str, size: int | None) -> Page:
        """One page of the list: the first, or the one after a continue token."""
        info = info_of(self.kind)
        where = f"/namespaces/{self.namespace}" if self.namespace and info.namespaced else ""
        query = {
            "labelSelector": self._labels,
            "fieldSelector": self._fields,
            "limit": size,
            "continue": token or None,
        }
        raw = await self._client.request(
            "GET",
            f"{info.path}{where}/{info.plural}",
            query={name: str(value) for name, value in query.items() if value is not None},
            accept=_METADATA_LIST if self._metadata_only else _JSON,
        )
        try:
            return _page_decoder.decode(raw)
        except msgspec.DecodeError as error:
            message = f"the answer is not a list of Kubernetes objects ({error})"
            raise NotKubernetes(Status(code=200, message=message), f"list {info.plural}") from None

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
