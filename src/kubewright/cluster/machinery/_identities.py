"""Uids and generated names that depend on the object, so that two runs with the same seed can be compared.

A uid is derived from the kind, the namespace, the name and the number of earlier objects of that name. One object more
or less does not change the uids of the others.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from hashlib import blake2b
from typing import Final

__all__ = ["Identities", "uuid_of"]

_REMEMBERED: Final = 100_000
_NAME_ATTEMPTS: Final = 8
_SUFFIX_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH: Final = 5
_MAX_NAME: Final = 63

_Series = tuple[str, str, str]


class Identities:
    """The uids and generated names of one cluster.

    `start` distinguishes runs that continue from one snapshot with the same seed.
    """

    def __init__(self, rng: random.Random, start: int) -> None:
        self._secret = f"{rng.getrandbits(128):032x}{start}".encode()
        self._counts: dict[_Series, int] = {}
        self._floor = 0

    def uid(self, storage: str, namespace: str, name: str, incarnation: int) -> str:
        """Returns the uid of an object. `incarnation` counts the earlier objects of that name."""
        return uuid_of(self._digest(f"uid\0{storage}\0{namespace}\0{name}\0{incarnation}"))

    def fraction(self, *series: str) -> float:
        """Returns the next number from 0 to 1 of a series."""
        key = ("fraction", *series)
        return int.from_bytes(self._digest(f"{key}\0{self._next(key)}")[:7]) / 2**56

    def next_name(self, storage: str, namespace: str, prefix: str, taken: Callable[[str], bool]) -> str:
        """Returns the name that the next `take_name` returns."""
        return self._free((storage, namespace, prefix), taken)[0]

    def take_name(self, storage: str, namespace: str, prefix: str, taken: Callable[[str], bool]) -> str:
        """Returns a generated name that is not taken, and reserves it. `return_name` gives it back."""
        series = (storage, namespace, prefix)
        name, number = self._free(series, taken)
        self._set(series, number + 1)
        return name

    def return_name(self, storage: str, namespace: str, prefix: str, name: str) -> None:
        """Returns an unused name, so that the next create gets it, unless other names were taken since then."""
        series = (storage, namespace, prefix)
        number = self._count(series) - 1
        if number >= 0 and self._name(series, number) == name:
            self._counts[series] = number

    def _free(self, series: _Series, taken: Callable[[str], bool]) -> tuple[str, int]:
        number = self._count(series)
        for attempt in range(number, number + _NAME_ATTEMPTS - 1):
            if not taken(name := self._name(series, attempt)):
                return name, attempt
        last = number + _NAME_ATTEMPTS - 1
        return self._name(series, last), last

    def _name(self, series: _Series, number: int) -> str:
        value = int.from_bytes(self._digest("\0".join(("name", *series, str(number)))))
        suffix = ""
        for _ in range(_SUFFIX_LENGTH):
            value, index = divmod(value, len(_SUFFIX_ALPHABET))
            suffix += _SUFFIX_ALPHABET[index]
        return series[2][: _MAX_NAME - _SUFFIX_LENGTH] + suffix

    def _next(self, series: tuple[str, ...]) -> int:
        key = ("", "", "\0".join(series))
        number = self._count(key)
        self._set(key, number + 1)
        return number

    def _count(self, series: _Series) -> int:
        return self._counts.get(series, self._floor)

    def _set(self, series: _Series, number: int) -> None:
        self._counts[series] = number
        if len(self._counts) > _REMEMBERED:  # no number is used twice: all series continue after the highest one
            self._floor = max(self._counts.values()) + 1
            self._counts.clear()

    def _digest(self, text: str) -> bytes:
        return blake2b(text.encode(), key=self._secret[:64], digest_size=16).digest()


def uuid_of(digest: bytes) -> str:
    """Returns a version 4 UUID from 16 bytes."""
    digits = digest.hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
