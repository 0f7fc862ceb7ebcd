"""Amounts of resources: `500m`, `1.5Gi`, `12e6`.

`Quantity` behaves like apimachinery's `resource.Quantity`: a fixed-point number with nine decimal places, and the kind
of suffix it was written with. Digits below a billionth are rounded away from zero. Binary amounts are limited to
2**63-1. The canonical form has no fraction and the largest suffix that keeps the number exact.

Where Go's code contradicts its documentation, Kubewright follows the documentation, so that no number changes silently:

- A string without a digit is rejected. Go reads `m` as 0.
- 1000E is written as `1000E`. Go writes `1`.
- `value()` rounds negative fractions away from zero for every suffix, and does not wrap around at 64 bits.
- The canonical form drops a leading `+` and trailing zeros. Go returns `+1` and `1.500` unchanged.
"""

from __future__ import annotations

import re
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Any, Final, NoReturn, Self

__all__ = ["Quantity", "QuantityFormat"]

_NANO: Final = 10**9
_MAX_BINARY: Final = (2**63 - 1) * _NANO
_MAX_TEXT: Final = 1000  # limits the work that a hostile object can cause; a real quantity has a dozen characters

EXPECTED: Final = (
    "a quantity: expected a number with an optional suffix "
    "(n u m k M G T P E, Ki Mi Gi Ti Pi Ei, or an exponent such as e3), for example 500m, 1.5Gi or 12e6"
)
_GRAMMAR: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE]?)|[eE](?P<exponent>[+-]?0*[0-9]{1,3}))"
)
_COMMON: Final = re.compile(r"[0-9]{1,18}(?:[KMGTPE]i|[numkMGTPE]?)")  # the form of nearly all quantities

_BINARY_POWERS: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_POWERS: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES: Final = ["", *_BINARY_POWERS]
_DECIMAL_SUFFIXES: Final = {power: suffix for suffix, power in _DECIMAL_POWERS.items()}


class QuantityFormat(Enum):
    """The family of suffixes that a quantity is written with."""

    DECIMAL = "DecimalSI"
    """n, u, m, none, k, M, G, T, P, E: powers of ten."""

    BINARY = "BinarySI"
    """Ki, Mi, Gi, Ti, Pi, Ei: powers of 1024."""

    EXPONENT = "DecimalExponent"
    """e3, e6, e-3 ...: scientific notation."""


class Quantity:
    """An amount such as `500m` CPU or `1.5Gi` of memory. Immutable, hashable, exact.

    A quantity that is created from a string keeps it: `str` returns it unchanged, so reading and writing an object does
    not change it. `canonical` returns the form that the API server writes. Numbers are accepted too: `Quantity(2)`,
    `Quantity(0.5)`. Quantities compare and hash by value, also with integers: `Quantity("1000m") == 1`.

    `+` and `-` take quantities and integers, `*` takes integers. The result has the suffixes of the left operand, or of
    the right one if the left is zero.

    Raises ValueError for a string that is not a quantity. The number is computed on first use.
    """

    __slots__ = ("_amount", "_format", "_text")

    _text: str | None
    _amount: int | None  # in billionths
    _format: QuantityFormat | None

    def __init__(self, value: str | int | float | Decimal | Quantity) -> None:
        if isinstance(value, str):
            text: str | None = value if _COMMON.fullmatch(value) else _checked(value)
            amount, form = None, None
        elif isinstance(value, Quantity):
            text, amount, form = value._text, value._amount, value._format
        else:
            text, amount, form = _checked(_number_text(value)), None, None
        _set(self, "_text", text)
        _set(self, "_amount", amount)
        _set(self, "_format", form)

    @classmethod
    def from_int(cls, value: int, format: QuantityFormat = QuantityFormat.DECIMAL) -> Self:  # noqa: A002
        """Returns an integer with the given suffixes: `from_int(2**30, QuantityFormat.BINARY)` is `1Gi`."""
        return cls._of(value * _NANO, format)

    @classmethod
    def from_milli(cls, value: int, format: QuantityFormat = QuantityFormat.DECIMAL) -> Self:  # noqa: A002
        """Returns a number of thousandths: `from_milli(1500)` is `1500m`."""
        return cls._of(value * 10**6, format)

    @classmethod
    def _of(cls, amount: int, form: QuantityFormat, text: str | None = None) -> Self:
        self = cls.__new__(cls)
        _set(self, "_text", text)
        _set(self, "_amount", amount)
        _set(self, "_format", form)
        return self

    def _parsed(self) -> tuple[int, QuantityFormat]:
        amount, form = self._amount, self._format
        if amount is None or form is None:
            assert self._text is not None
            amount, form = _parse(self._text)
            _set(self, "_amount", amount)
            _set(self, "_format", form)
        return amount, form

    # Value

    @property
    def format(self) -> QuantityFormat:
        """The family of suffixes that it is written with."""
        return self._parsed()[1]

    def value(self) -> int:
        """Returns the number, rounded away from zero to an integer."""
        return _divide_away_from_zero(self._parsed()[0], _NANO)

    def milli_value(self) -> int:
        """Returns the number of thousandths, rounded away from zero, as CPU time is usually counted."""
        return _divide_away_from_zero(self._parsed()[0], 10**6)

    def as_decimal(self) -> Decimal:
        """Returns the exact number."""
        # From a string, because Decimal's operators round to the precision of the current context.
        return Decimal(f"{self._parsed()[0]}e-9")

    def __float__(self) -> float:
        return self._parsed()[0] / _NANO

    def __bool__(self) -> bool:
        return self._parsed()[0] != 0

    # Form

    def canonical(self) -> str:
        """Returns the form that the API server writes: `0.5` becomes `500m`, `1.5Gi` becomes `1536Mi`."""
        return _canonical(*self._parsed())

    def __str__(self) -> str:
        if self._text is None:
            _set(self, "_text", self.canonical())
            assert self._text is not None
        return self._text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    # Comparison

    def __eq__(self, other: object) -> bool:
        amount = _amount_of(other)
        return NotImplemented if amount is None else self._parsed()[0] == amount

    def __hash__(self) -> int:
        whole, rest = divmod(self._parsed()[0], _NANO)
        # A quantity that equals an int has the same hash.
        return hash((whole, rest)) if rest else hash(whole)

    def __lt__(self, other: Quantity | int) -> bool:
        amount = _amount_of(other)
        return NotImplemented if amount is None else self._parsed()[0] < amount

    def __le__(self, other: Quantity | int) -> bool:
        amount = _amount_of(other)
        return NotImplemented if amount is None else self._parsed()[0] <= amount

    def __gt__(self, other: Quantity | int) -> bool:
        amount = _amount_of(other)
        return NotImplemented if amount is None else self._parsed()[0] > amount

    def __ge__(self, other: Quantity | int) -> bool:
        amount = _amount_of(other)
        return NotImplemented if amount is None else self._parsed()[0] >= amount

    # Arithmetic

    def __add__(self, other: Quantity | int) -> Quantity:
        amount = _amount_of(other)
        return NotImplemented if amount is None else self._combined(other, self._parsed()[0] + amount)

    __radd__ = __add__

    def __sub__(self, other: Quantity | int) -> Quantity:
        amount = _amount_of(other)
        return NotImplemented if amount is None else self._combined(other, self._parsed()[0] - amount)

    def __rsub__(self, other: int) -> Quantity:
        return -self + other

    def _combined(self, other: Quantity | int, amount: int) -> Quantity:
        form = other.format if isinstance(other, Quantity) and not self else self.format
        return Quantity._of(amount, form)

    def __mul__(self, factor: int) -> Quantity:
        if not isinstance(factor, int):
            return NotImplemented
        amount, form = self._parsed()
        return Quantity._of(amount * factor, form)

    __rmul__ = __mul__

    def __neg__(self) -> Quantity:
        amount, form = self._parsed()
        return Quantity._of(-amount, form)

    def __abs__(self) -> Quantity:
        return -self if self._parsed()[0] < 0 else self

    # Immutability

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Quantity is immutable: create a new one instead of setting .{name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Quantity is immutable: .{name} cannot be deleted")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return Quantity._of, (*self._parsed(), self._text)


_set = object.__setattr__


def _amount_of(value: object) -> int | None:
    if isinstance(value, Quantity):
        return value._parsed()[0]
    return value * _NANO if isinstance(value, int) else None


def _number_text(value: float | Decimal) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise TypeError(f"a quantity is a string such as '500m' or a number, not {type(value).__name__}")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _checked(text: str) -> str:
    """Returns the string without surrounding space. Raises ValueError if it is not a quantity."""
    stripped = text.strip()
    if len(stripped) > _MAX_TEXT:
        raise ValueError(f"{stripped[:20]}... is not a quantity: it has {len(stripped)} characters")
    match = _GRAMMAR.fullmatch(stripped)
    if match is None or not (match["whole"] or match["fraction"]):
        raise ValueError(f"{stripped!r} is not {EXPECTED}")
    return stripped


@lru_cache(maxsize=4096)
def _parse(text: str) -> tuple[int, QuantityFormat]:
    """Returns the billionths and the family of suffixes of a checked string."""
    match = _GRAMMAR.fullmatch(text)
    assert match is not None
    fraction = match["fraction"] or ""
    digits = int((match["whole"] or "") + fraction)
    scale = 9 - len(fraction)
    suffix = match["suffix"]
    if suffix in _BINARY_POWERS:
        form = QuantityFormat.BINARY
        digits <<= _BINARY_POWERS[suffix]
    elif match["exponent"]:
        form = QuantityFormat.EXPONENT
        scale += int(match["exponent"])
    else:
        form = QuantityFormat.DECIMAL
        scale += _DECIMAL_POWERS[suffix or ""]
    amount = digits * 10**scale if scale >= 0 else _divide_away_from_zero(digits, 10**-scale)
    if form is QuantityFormat.BINARY:
        amount = min(amount, _MAX_BINARY)
        if 0 < amount < _NANO:
            form = QuantityFormat.DECIMAL
    return (-amount if match["sign"] == "-" else amount), form


def _canonical(amount: int, form: QuantityFormat) -> str:
    if amount == 0:
        return "0"
    if form is QuantityFormat.BINARY and abs(amount) >= 1024 * _NANO and amount % _NANO == 0:
        number, steps = amount // _NANO, 0
        while number % 1024 == 0 and steps < 6:
            number, steps = number // 1024, steps + 1
        return f"{number}{_BINARY_SUFFIXES[steps]}"
    number, power = amount, -9
    # There is no decimal suffix beyond 10**18, but there is always an exponent.
    while number % 1000 == 0 and (power < 18 or form is QuantityFormat.EXPONENT):
        number, power = number // 1000, power + 3
    if form is QuantityFormat.EXPONENT:
        return f"{number}e{power}" if power else str(number)
    return f"{number}{_DECIMAL_SUFFIXES[power]}"


def _divide_away_from_zero(number: int, divisor: int) -> int:
    return number // divisor if number < 0 else -(-number // divisor)
