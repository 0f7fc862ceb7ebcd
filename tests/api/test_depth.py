"""JSON that is too deep to be decoded is cut by its brackets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.api.wire import cut_list, shallow

VALUES = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.just("items"), inner, max_size=3)
    ),
    max_leaves=5,
)


@pytest.mark.promise(
    "What the cache keeps",
    "So it is with one that is nested too deeply for a decoder, in a watch and in a page of a list.",
)
@settings(max_examples=20)
@given(st.lists(st.dictionaries(st.text() | st.just("items"), VALUES, max_size=2), max_size=3), VALUES, st.booleans())
def test_a_list_is_cut_into_its_items_whatever_is_in_them(items: list[Any], other: Any, first: bool) -> None:
    whole = {"a": other, "items": items, "z": "items"} if first else {"items": items, "a": other}
    for indent in (None, 1):
        rest, found = cut_list(json.dumps(whole, indent=indent).encode())
        assert [json.loads(item) for item in found] == items
        assert json.loads(rest) == {**whole, "items": []}


@settings(max_examples=20)
@given(VALUES)
def test_shallow_json_is_unchanged(value: Any) -> None:
    raw = json.dumps(value).encode()
    assert shallow(raw) == raw


def test_deep_json_becomes_null() -> None:
    deep = b"[" * 9000 + b'"]}\\""' + b"]" * 9000
    found = json.loads(shallow(b'{"a":%b,"b":{"c":[%b,1]},"d":"}"}' % (deep, deep)))
    assert (found["d"], found["b"]["c"][1]) == ("}", 1)
    levels, inner = 0, found["a"]
    while inner is not None:
        [inner] = inner
        levels += 1
    assert levels == 31, "and one for the object around it"


def test_returns_other_and_truncated_json_unchanged() -> None:
    for raw in (b"", b"7", b'{"items":7}', b'{"metadata":{"items":[{}]}}', b'[{"items":[]}]', b'{"items":[{"a":1}'):
        assert cut_list(raw) == (raw, [])
