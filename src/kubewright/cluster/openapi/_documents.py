"""`OpenApiDocuments`: the documents of all served kinds, built on request.

Built-in kinds are recorded. The parts of a custom kind are encoded once for each change of its definition, and a
document is their concatenation, so that a change of one definition never encodes another one again.
"""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import chain
from typing import Any, Final

import msgspec

from kubewright.cluster.openapi._custom import CustomKind
from kubewright.cluster.openapi._recorded import custom_components, recorded_etags, recorded_v2, recorded_v3
from kubewright.cluster.openapi.protobuf import parts_v3

__all__ = ["Document", "OpenApiDocuments"]

_SCALED: Final = "io.k8s.api.autoscaling."
_PARTS_PER_TURN: Final = 16
_BYTES_PER_TURN: Final = 256 * 1024


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A document: its content, its ETag, and since when it has that content."""

    body: bytes
    etag: str
    modified: datetime


class OpenApiDocuments:
    """The documents of one server. `kinds` returns the custom kinds that are served now; `now` the current time.

    Every answer reflects the kinds at the time of the call. Work is divided into steps of one kind, and other requests
    run between them.
    """

    def __init__(self, kinds: Callable[[], Sequence[CustomKind]], now: Callable[[], datetime]) -> None:
        self._kinds = kinds
        self._now = now
        self._started = now()
        self._kept: dict[str, tuple[tuple[object, ...], Document]] = {}
        """The newest state of each document and form, with the kinds that it was made of."""

    async def v2(self, *, protobuf: bool = False) -> Document:
        """Returns the OpenAPI v2 document. Both forms have the ETag of the JSON."""
        kinds = tuple(sorted(self._kinds(), key=_order))
        document = self._current("v2", kinds)
        if document is None:
            for kind in kinds:
                await _step(kind, "json_v2")
            paths, definitions = (
                b",".join([recorded_v2(name)[1:-1], *(kind.json_v2[index] for kind in kinds)])
                for index, name in enumerate(("paths", "definitions"))
            )
            head = recorded_v2("head")[:-1]
            document = self._keep(
                "v2", kinds, head + b',"paths":{' + paths + b'},"definitions":{' + definitions + b"}}"
            )
        if not protobuf:
            return document
        if (found := self._current("v2.pb", (document.etag,))) is not None:
            return found
        for kind in kinds:
            await _step(kind, "protobuf_v2")
        recorded = [recorded_v2(f"{name}.pb") for name in ("head", "paths", "definitions")]
        body = b"".join([*recorded, *(kind.protobuf_v2 for kind in kinds)])
        return self._keep("v2.pb", (document.etag,), body, document)

    async def v2_gzip(self, *, protobuf: bool = False) -> Document:
        """Returns the OpenAPI v2 document, compressed with gzip."""
        plain = await self.v2(protobuf=protobuf)
        name = "v2.pb.gz" if protobuf else "v2.gz"
        if (found := self._current(name, (plain.etag,))) is not None:
            return found
        packer, packed = zlib.compressobj(1, wbits=31), []
        for at in range(0, len(plain.body), _BYTES_PER_TURN):
            packed.append(packer.compress(plain.body[at : at + _BYTES_PER_TURN]))
            await asyncio.sleep(0)
        return self._keep(name, (plain.etag,), b"".join([*packed, packer.flush()]), plain)

    def _next(self, before: tuple[object, Document] | None) -> datetime:
        """Returns the time of a change: at least a second after the last one, because HTTP compares whole seconds."""
        return self._now() if before is None else max(self._now(), before[1].modified + timedelta(seconds=1))

    async def v3_index(self) -> Document:
        """Returns the index of OpenAPI v3: the address of each document, with its ETag as `hash`."""
        kinds = tuple(sorted(self._kinds(), key=_order))
        if (found := self._current("v3", kinds)) is not None:
            return found
        etags = dict(recorded_etags())
        for path in dict.fromkeys(f"apis/{kind.group_version}" for kind in kinds):
            if (document := await self._v3_of(path, kinds)) is not None:
                etags[path] = document.etag
        paths = {path: {"serverRelativeURL": address_of(path, etag)} for path, etag in sorted(etags.items())}
        return self._keep("v3", kinds, msgspec.json.encode({"paths": paths}))

    async def v3(self, path: str, *, protobuf: bool = False) -> Document | None:
        """Returns the document at a path of the index, `apis/apps/v1`; None if there is none."""
        kinds = tuple(sorted(self._kinds(), key=_order))
        document = await self._v3_of(path, kinds)
        if document is None or not protobuf:
            return document
        if (found := self._current(f"{path}.pb", (document.etag,))) is not None:
            return found
        parts = []
        for part in parts_v3(msgspec.json.decode(document.body)):
            parts.append(part)
            if len(parts) % _PARTS_PER_TURN == 0:
                await asyncio.sleep(0)
        return self._keep(f"{path}.pb", (document.etag,), b"".join(parts), document)

    async def _v3_of(self, path: str, kinds: tuple[CustomKind, ...]) -> Document | None:
        own = tuple(kind for kind in kinds if f"apis/{kind.group_version}" == path)
        etag = recorded_etags().get(path)
        if not own:
            self._kept.pop(path, None)
            if etag is None:
                self._kept.pop(f"{path}.pb", None)
                return None
            return Document(body=recorded_v3(path), etag=etag, modified=self._started)
        if (found := self._current(path, own)) is not None:
            return found
        for kind in own:
            await _step(kind, "json_v3")
        if etag is not None:
            return self._keep(path, own, _merged(recorded_v3(path), own))
        scaled = any("scale" in kind.subresources for kind in own)
        paths = b",".join(kind.json_v3[0] for kind in own)
        schemas = b",".join([*(kind.json_v3[1] for kind in own), _components(scaled)])
        body = b'%b,"paths":{%b},"components":{"schemas":{%b}}}' % (_HEAD, paths, schemas)
        return self._keep(path, own, body)

    # Kept documents

    def _current(self, name: str, made_of: tuple[object, ...]) -> Document | None:
        kept = self._kept.get(name)
        return kept[1] if kept is not None and kept[0] == made_of else None

    def _keep(self, name: str, made_of: tuple[object, ...], body: bytes, source: Document | None = None) -> Document:
        """Keeps a document. One that was made of `source` has its ETag and time."""
        if source is None:
            etag = hashlib.sha512(body).hexdigest().upper()
            before = self._kept.get(name)
            same = before is not None and before[1].etag == etag
            source = (
                before[1] if before is not None and same else Document(body=b"", etag=etag, modified=self._next(before))
            )
        document = Document(body=body, etag=source.etag, modified=source.modified)
        self._kept[name] = (made_of, document)
        return document


_HEAD: Final = b'{"openapi":"3.0.0","info":{"title":"Kubernetes CRD Swagger","version":"v0.1.0"}'


def address_of(path: str, etag: str) -> str:
    """Returns the address of an OpenAPI v3 document that may be cached forever."""
    return f"/openapi/v3/{path}?hash={etag}"


def _order(kind: CustomKind) -> tuple[str, str, str]:
    return (kind.group, kind.version, kind.plural)


async def _step(kind: CustomKind, part: str) -> None:
    """Encodes a part of a kind unless that was done before, and lets other requests run."""
    if part not in kind.__dict__:
        getattr(kind, part)
        await asyncio.sleep(0)


@cache
def _components(scaled: bool) -> bytes:
    """Returns the built-in schemas of a document of custom resources, with or without those of Scale."""
    found = {name: each for name, each in custom_components().items() if scaled or not name.startswith(_SCALED)}
    return msgspec.json.encode(found)[1:-1]


def _merged(recorded: bytes, kinds: tuple[CustomKind, ...]) -> bytes:
    """Adds custom kinds to the document of a built-in group version."""
    document: dict[str, Any] = msgspec.json.decode(recorded)
    schemas = chain.from_iterable(kind.definitions_v3().items() for kind in kinds)
    document["paths"] |= dict(chain.from_iterable(kind.paths_v3().items() for kind in kinds))
    document["components"]["schemas"] = custom_components() | document["components"]["schemas"] | dict(schemas)
    return msgspec.json.encode(document)


def http_time(moment: datetime) -> str:
    """Returns a time in the format of HTTP headers."""
    return moment.astimezone(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
