"""`RequestHead`: the request target and the headers of one request, as the parser reports them."""

from __future__ import annotations

from kubewright.http._messages import TooManyHeaders

__all__ = ["RequestHead"]


class RequestHead:
    """Collects a head. Raises `TooManyHeaders` for more than `limit` bytes, trailers included."""

    __slots__ = ("_limit", "_size", "is_open", "pairs", "target")

    def __init__(self, limit: int) -> None:
        self.target = b""
        self.pairs: list[tuple[bytes, bytes]] = []
        self.is_open = False
        """Whether a request has begun, and its headers are not complete."""
        self._limit = limit
        self._size = 0

    def begin(self) -> None:
        """Starts another request."""
        self.target = b""
        self.pairs = []
        self.is_open = True
        self._size = 0

    def on_url(self, part: bytes) -> None:
        """Collects the request target."""
        self.target += part
        self._count(len(part))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Collects a header. Trailers are counted and dropped."""
        self._count(len(name) + len(value) + 4)  # with the colon and the line break
        if self.is_open:
            self.pairs.append((name.lower(), value))

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > self._limit:
            raise TooManyHeaders
