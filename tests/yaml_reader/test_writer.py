"""The YAML writer."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.api import to_yaml
from kubewright.yaml import dump_yaml, load_yaml, load_yaml_documents

TEXTS = st.one_of(
    st.text("aé😀\x00\x07\x7f\x85\xa0\u2028\ufeff\r\n \t", max_size=6),
    st.text("ab :#-'\"\\\n\t|>{}[],&*!%@`?~=.0123456789e+xyYnNot", max_size=12),
    st.sampled_from(["yes", "No", "on", "null", "~", "1e3", "0x1f", "1_000", "2020-01-01", ".5", ".inf", "---", "<<"]),
)
SCALARS = st.one_of(
    TEXTS, st.booleans(), st.none(), st.integers(), st.floats(allow_nan=False, allow_infinity=False, width=64)
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=20)


@pytest.mark.promise("Definitions from types", "Any content is read from its YAML as it was.")
@settings(max_examples=60)
@given(st.dictionaries(TEXTS, VALUES, max_size=5))
def test_round_trips(content: dict[str, Any]) -> None:
    content.pop("status", None)
    assert yaml.safe_load(to_yaml(content)) == content


@settings(max_examples=20)
@given(VALUES)
def test_order_of_members_does_not_matter(value: Any) -> None:
    one, other = {"a": value, "b": 1, "c": 2}, {"c": 2, "b": 1, "a": value}
    assert to_yaml(one) == to_yaml(other)


def test_strings_are_plain_where_safe() -> None:
    assert to_yaml({"a": ["plain text", "80", "no", "it's: so", "two\nlines", "ends\n", "\ttab", ""]}) == (
        "a:\n- plain text\n- '80'\n- 'no'\n- 'it''s: so'\n- |-\n  two\n  lines\n- |\n  ends\n- \"\\ttab\"\n- ''\n"
    )


def test_block_keeps_all_newlines_at_its_end() -> None:
    content = {"a": "x\n\n\n", "b": ["y\n\n"], "c": "\n\n"}
    text = dump_yaml(content, content)
    assert text.split("---\n")[0] == 'a: |+\n  x\n\n\nb:\n- |+\n  y\n\nc: "\\n\\n"\n'
    assert load_yaml_documents(text) == [content, content] == list(yaml.safe_load_all(text))


@settings(max_examples=60)
@given(st.dictionaries(TEXTS, VALUES, max_size=5))
def test_round_trips_with_the_quotes_of_kubectl(content: dict[str, Any]) -> None:
    text = dump_yaml(content, like_kubectl=True)
    assert yaml.safe_load(text) == content
    assert load_yaml(text) == load_yaml(dump_yaml(content))


def test_quotes_like_kubectl() -> None:
    content = ["500m", "80", "no", "10.0.0.1", "--v=3", "---", "2020-01-01", "12:30:45", "it's: so", "é 🎉", ""]
    assert dump_yaml(content, like_kubectl=True) == (
        "- 500m\n- \"80\"\n- \"no\"\n- 10.0.0.1\n- --v=3\n- '---'\n- '2020-01-01'\n- '12:30:45'\n"
        "- 'it''s: so'\n- é 🎉\n- \"\"\n"
    )


def test_lists_of_lists_and_empty_ones() -> None:
    assert to_yaml({"a": [[1, 2], [], {}, {"b": {}, "c": [{"d": 1}]}]}) == (
        "a:\n- - 1\n  - 2\n- []\n- {}\n- b: {}\n  c:\n  - d: 1\n"
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_rejects_nan_and_infinity(value: float) -> None:
    with pytest.raises(ValueError, match="cannot be part of a Kubernetes object"):
        to_yaml({"a": value})


def test_rejects_other_values() -> None:
    with pytest.raises(TypeError, match="cannot be part of a Kubernetes object"):
        to_yaml({"a": object()})
