"""Comparison of decoded JSON values."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.api.wire import canonical_json, equal_json, identical_json, json_type


@pytest.mark.parametrize(
    ("one", "other", "equal", "identical"),
    [
        (1, 1, True, True),
        (1, 1.0, True, False),
        (1, True, False, False),
        (0, False, False, False),
        (None, False, False, False),
        ("1", 1, False, False),
        ([1, [True]], [1, [1]], False, False),
        ([1.0], [1], True, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True, True),
        ({"a": {"b": [0]}}, {"a": {"b": [False]}}, False, False),
        ({"a": 1}, {"a": 1, "b": None}, False, False),
        (2**70, 2**70, True, True),
    ],
)
def test_compares_values_as_json(one: Any, other: Any, equal: bool, identical: bool) -> None:
    assert equal_json(one, other) is equal_json(other, one) is equal
    assert identical_json(one, other) is identical_json(other, one) is identical


def test_canonical_json_sorts_members() -> None:
    assert canonical_json({"b": {"d": 1, "c": 2}, "a": 3}) == b'{"a":3,"b":{"c":2,"d":1}}'


def test_names_json_types_as_schemas_do() -> None:
    values: list[Any] = [None, True, 1, 1.0, "a", [], {}]
    assert [json_type(value) for value in values] == [
        "null",
        "boolean",
        "integer",
        "number",
        "string",
        "array",
        "object",
    ]
