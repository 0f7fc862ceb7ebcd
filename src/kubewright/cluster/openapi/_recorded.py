"""The documents of built-in kinds, recorded from the real server without its descriptions of fields.

The file (`openapi.bin`, written by `tools/generate_cluster`) has one compressed part for each document.
"""

from __future__ import annotations

import zlib
from functools import cache
from typing import Any

import msgspec

from kubewright.cluster.data import read_data

__all__ = ["custom_components", "pack", "recorded_etags", "recorded_v2", "recorded_v3"]


class _Index(msgspec.Struct):
    """`etags` by the path of a document below /openapi/v3, and the places of all parts."""

    etags: dict[str, str]
    parts: dict[str, tuple[int, int]]


def pack(etags: dict[str, str], parts: dict[str, bytes]) -> bytes:
    """Returns the content of the file."""
    places, blobs, at = {}, [], 0
    for name, content in parts.items():
        blobs.append(zlib.compress(content, 9))
        places[name] = (at, len(blobs[-1]))
        at += len(blobs[-1])
    index = zlib.compress(msgspec.json.encode(_Index(etags, places)), 9)
    return b"%d\n" % len(index) + index + b"".join(blobs)


def recorded_etags() -> dict[str, str]:
    """Returns the documents below /openapi/v3, `apis/apps/v1`, each with its ETag."""
    return _index()[0].etags


def recorded_v3(path: str) -> bytes:
    """Returns the document at a path of `recorded_etags`, as JSON."""
    return _part(f"v3/{path}")


def recorded_v2(name: str) -> bytes:
    """Returns a part of the OpenAPI v2 document: `head`, `paths` or `definitions`; with `.pb`, in protobuf."""
    return _part(f"v2/{name}")


@cache
def custom_components() -> dict[str, Any]:
    """Returns the built-in schemas that documents of custom resources refer to."""
    found: dict[str, Any] = msgspec.json.decode(_part("custom"))
    return found


@cache
def _index() -> tuple[_Index, bytes]:
    length, _, rest = read_data("openapi.bin").partition(b"\n")
    return msgspec.json.decode(zlib.decompress(rest[: int(length)]), type=_Index), rest[int(length) :]


def _part(name: str) -> bytes:
    index, blobs = _index()
    at, size = index.parts[name]
    return zlib.decompress(blobs[at : at + size])
