"""Headers of a request in which a name may occur several times."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, MutableMapping

__all__ = ["RequestHeaders"]


class RequestHeaders(MutableMapping[str, str]):
    """Headers in order. Names are case-insensitive. A lookup returns the first value of a name, as in Go.

    `items` and `pairs` return all values: `Impersonate-Group`, for example, occurs once for each group.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._pairs = [(name.lower(), value) for name, value in pairs]

    def __getitem__(self, name: str) -> str:
        lower = name.lower()
        for known, value in self._pairs:
            if known == lower:
                return value
        raise KeyError(name)

    def __setitem__(self, name: str, value: str) -> None:
        self.pop(name, None)
        self._pairs.append((name.lower(), value))

    def __delitem__(self, name: str) -> None:
        lower = name.lower()
        kept = [pair for pair in self._pairs if pair[0] != lower]
        if len(kept) == len(self._pairs):
            raise KeyError(name)
        self._pairs = kept

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self._pairs))

    def __len__(self) -> int:
        return len(dict(self._pairs))

    def items(self) -> ItemsView[str, str]:
        """Returns every header, in order."""
        return _AllItems(self)

    def pairs(self) -> list[tuple[str, str]]:
        """Returns every header, in order."""
        return list(self._pairs)


class _AllItems(ItemsView[str, str]):
    _mapping: RequestHeaders

    def __len__(self) -> int:
        return len(self._mapping.pairs())

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._mapping.pairs())
