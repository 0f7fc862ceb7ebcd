"""Answers that were compressed on their way."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from kubewright.client._connection import Broken

__all__ = ["Unpacking"]

_AT_ONCE = 2**18  # bytes: a small compressed piece may be large
_GZIP = 31  # of zlib's `wbits`


class Unpacking:
    """Unpacks one body, piece by piece. Raises `Broken` for what is no gzip."""

    def __init__(self, encoding: str) -> None:
        name = encoding.strip().lower()
        self._plain = name in ("", "identity")
        if not self._plain and name not in ("gzip", "x-gzip"):
            raise Broken("its answer is packed in a way that nobody has asked for", answered=True)
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
            raise Broken(f"its answer cannot be unpacked ({error})", answered=True) from error

    def rest(self) -> bytes:
        """What is left at the end of the body."""
        rest = self._gzip.flush()
        if self._begun and not self._gzip.eof:  # that there is no body is another matter
            raise Broken("its answer broke off", answered=True)
        return rest
