"""One file of many parts, each compressed by itself so that it can be read by itself.

The file is a line with the length of the index, the compressed index, and the compressed parts. A part holds the
definitions of one Go package; the index says where each part is.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

from tools.generate_schemas._documents import Documents
from tools.generate_schemas._gotypes import GoTypes

__all__ = ["pack", "unpack"]


def pack(documents: Documents, types: GoTypes) -> bytes:
    """The content of the file."""
    parts: dict[str, dict[str, Any]] = {}
    for name, definition in sorted(documents.definitions.items()):
        package, _, short = name.rpartition(".")
        properties = definition.get("properties", {})
        if types.knows(name) and properties:
            definition["x-go"] = types.letters(name, properties)
        parts.setdefault(package, {})[short] = definition
    blobs = {package: zlib.compress(_encode(part), 9) for package, part in parts.items()}
    places, at = {}, 0
    for package, blob in blobs.items():
        places[package] = [at, len(blob)]
        at += len(blob)
    index = {"parts": places, "kinds": documents.kinds}
    head = zlib.compress(_encode(index), 9)
    return b"%d\n" % len(head) + head + b"".join(blobs.values())


def unpack(content: bytes) -> dict[str, Any]:
    """Everything in the file, to compare it: compressors differ, contents must not."""
    length, _, rest = content.partition(b"\n")
    index: dict[str, Any] = json.loads(zlib.decompress(rest[: int(length)]))
    blobs = rest[int(length) :]
    parts = {
        package: json.loads(zlib.decompress(blobs[at : at + size])) for package, (at, size) in index["parts"].items()
    }
    return index | {"parts": parts}


def _encode(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=False).encode()
