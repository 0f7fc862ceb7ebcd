"""Header fields: reading them without regard to case, and checking those that are sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

__all__ = ["Headers", "check_headers", "is_same_origin"]


class Headers(Mapping[str, str]):
    """The headers of a message, decoded on access. Names compare without case; the last header of a name wins.

    Args:
        pairs: names, in lower case, and values.
    """

    __slots__ = ("_last", "_pairs")

    def __init__(self, pairs: list[tuple[bytes, bytes]]) -> None:
        self._pairs = pairs
        self._last = dict(pairs)

    def __getitem__(self, name: str) -> str:
        return _text(self._last[name.lower().encode()])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower().encode() in self._last

    def __iter__(self) -> Iterator[str]:
        return map(_text, self._last)

    def __len__(self) -> int:
        return len(self._last)

    def all(self, name: str) -> list[str]:
        """Returns the values of every header with this name, in the order of arrival."""
        wanted = name.lower().encode()
        return [_text(value) for known, value in self._pairs if known == wanted] if wanted in self._last else []

    def pairs(self) -> list[tuple[str, str]]:
        """Returns every header, in the order of arrival, with its name in lower case."""
        return [(_text(name), _text(value)) for name, value in self._pairs]


def check_headers(headers: Iterable[tuple[str, str]]) -> None:
    """Raises ValueError for a header that would break out of its line; without its value, which may be secret."""
    for name, value in headers:
        if not _is_token(name) or (not value.isprintable() and any(unwanted in value for unwanted in "\r\n\0")):
            raise ValueError(f"header {name!r} has characters that HTTP does not allow")


def is_same_origin(origin: str, host: str) -> bool:
    """Returns False for a request of a page of another host. Other programs than browsers send no `Origin`."""
    return not origin or (bool(host) and origin.partition("://")[2] == host)


@lru_cache(maxsize=256)
def _is_token(name: str) -> bool:
    """Returns whether this can be the name of a header (RFC 9110)."""
    return bool(name) and name.isascii() and all(each.isalnum() or each in "!#$%&'*+-.^_`|~" for each in name)


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
