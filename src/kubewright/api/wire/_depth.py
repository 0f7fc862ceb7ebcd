"""Reads JSON that is nested more deeply than a decoder supports, by its brackets.

kube-apiserver accepts objects with ten thousand levels where a schema allows anything. msgspec, like Python's own
decoder, raises RecursionError at a thousand. One such object must not make a whole list unreadable, and its name must
be readable for the error message.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["cut_list", "shallow"]

_TOKENS: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_QUOTE, _OPENING, _LIST = ord('"'), b"[{", ord("[")
_LEVELS: Final = 32


def shallow(raw: bytes) -> bytes:
    """Returns the JSON with null in place of everything below level 32, which is deeper than metadata."""
    parts: list[bytes] = []
    depth = kept_from = 0
    for token in _TOKENS.finditer(raw):
        mark = raw[token.start()]
        if mark == _QUOTE:
            continue
        if mark in _OPENING:
            depth += 1
            if depth == _LEVELS + 1:
                parts += (raw[kept_from : token.start()], b"null")
        else:
            if depth == _LEVELS + 1:
                kept_from = token.end()
            depth -= 1
    return b"".join((*parts, raw[kept_from:]))


def cut_list(raw: bytes) -> tuple[bytes, list[bytes]]:
    """Returns a Kubernetes list without its items, and the items. Other JSON is returned unchanged, without items."""
    depth = begin = start = 0
    key, items, inside = b"", [], False
    for token in _TOKENS.finditer(raw):
        mark = raw[token.start()]
        if mark == _QUOTE:
            key = token[0] if depth == 1 else key
        elif mark in _OPENING:
            if depth == 1 and mark == _LIST and key == b'"items"':
                inside, begin = True, token.end()
            elif depth == 2 and inside:
                start = token.start()
            depth += 1
        else:
            depth -= 1
            if depth == 2 and inside:
                items.append(raw[start : token.end()])
            elif depth == 1 and inside:
                return raw[:begin] + raw[token.start() :], items
    return raw, []
