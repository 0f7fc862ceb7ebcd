"""The table of shared values."""

from __future__ import annotations

from kubewright.interning import InternTable


def test_returns_the_first_of_equal_values() -> None:
    table = InternTable(10)
    first, second = tuple("ab"), tuple("ab")
    assert table.intern(first) is first
    assert table.intern(second) is first


def test_is_emptied_when_it_is_full() -> None:
    table = InternTable(3)
    for number in range(100):
        table.intern(number)
        assert len(table) <= 4
