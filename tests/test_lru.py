"""The bounded memory."""

from __future__ import annotations

import pytest

from kubewright.lru import LRUMemory


def test_evicts_the_least_recently_used_entry() -> None:
    memory: LRUMemory[str, int] = LRUMemory(2)
    assert memory.put("a", 1) is None
    assert memory.put("b", 2) is None
    assert memory.get("a") == 1
    memory.put("c", 3)
    assert (memory.get("a"), memory.get("b"), memory.get("c")) == (1, None, 3)
    assert len(memory) == 2


def test_put_counts_as_use_and_returns_the_former_value() -> None:
    memory: LRUMemory[str, int] = LRUMemory(2)
    memory.put("a", 1)
    memory.put("b", 2)
    assert memory.put("a", 3) == 1
    memory.put("c", 4)
    assert memory.get("b") is None
    memory.discard("a")
    memory.discard("a")
    assert memory.get("a") is None


def test_rejects_a_size_without_room() -> None:
    with pytest.raises(ValueError, match="at least 1, not 0"):
        LRUMemory(0)


def test_evicts_until_the_weight_fits() -> None:
    memory: LRUMemory[str, bytes] = LRUMemory(10, max_weight=10, weigh=len)
    for name in "abc":
        memory.put(name, b"1234")
    assert memory.keys() == ["b", "c"]
    assert memory.weight == 8
    memory.put("b", b"12")
    assert (memory.keys(), memory.weight) == (["c", "b"], 6)
    assert memory.pop("c") == b"1234"
    assert (memory.values(), memory.weight) == ([b"12"], 2)


def test_keeps_the_newest_entry_even_if_it_is_too_heavy() -> None:
    memory: LRUMemory[str, bytes] = LRUMemory(10, max_weight=3, weigh=len)
    memory.put("a", b"1")
    memory.put("b", b"12345")
    assert memory.keys() == ["b"]


def test_peek_and_in_do_not_count_as_use() -> None:
    memory: LRUMemory[str, int] = LRUMemory(2)
    memory.put("a", 1)
    memory.put("b", 2)
    assert memory.peek("a") == 1
    assert "a" in memory
    memory.put("c", 3)
    assert "a" not in memory
    assert memory.peek("a") is None
