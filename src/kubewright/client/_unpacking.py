"""Decompresses responses."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from kubewright.client._connection import Broken

__all__ = ["Unpacking"]

_AT_ONCE = 2**18  # bytes: a small compressed piece may be large
_GZIP = 31  # of zlib's `wbits`


class Unpacking:
    """Decompresses one body, piece by piece. Raises `Broken` for data that is not gzip."""

    def __init__(self, encoding: str) -> None:
        name = encoding.strip().lower()
        self._plain = name in ("", "identity")
        if not self._plain and name not in ("gzip", "x-gzip"):
            raise Broken("its response has an encoding that was not requested", answered=True)
        self._gzip = zlib.decompressobj(wbits=_GZIP)
        self._begun = False

    def pieces(self, packed: bytes) -> Iterator[bytes]:
        """Returns the decompressed content of this piece, in pieces of at most 256 KiB."""
        if self._plain:
            yield packed
            return
        self._begun = True
        try:
            while packed and not self._gzip.eof:
                if piece := self._gzip.decompress(packed, _AT_ONCE):
                    yield piece
                packed = self._gzip.unconsumed_tail
        except zlib.error as error:
            raise Broken(f"its response cannot be decompressed ({error})", answered=True) from error

    def rest(self) -> bytes:
        """Returns the rest at the end of the body."""
        rest = self._gzip.flush()
        if self._begun and not self._gzip.eof:  # a missing body is checked elsewhere
            raise Broken("its response broke off", answered=True)
        return rest
