"""Differences and patches of plain JSON, as dry runs use them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewright.controller.fields import minus, without_fields
from kubewright.diff import (
    ABSENT,
    ListKeys,
    PatchFailed,
    diff,
    field_differences,
    json_patched,
    merge_patched,
    rebased,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "b/c", "~"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["name", "a", "b/c", "~d"]), inner),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from(["spec", "data", "a/b"]), VALUES)


@given(before=OBJECTS, after=OBJECTS)
def test_a_json_patch_leads_to_the_object_that_it_was_made_of(before: Any, after: Any) -> None:
    assert json_patched(before, diff(ListKeys(Any), before, before, after)) == after


@given(reference=OBJECTS, other=OBJECTS)
def test_changes_of_one_side_are_taken(reference: Any, other: Any) -> None:
    assert rebased(reference, reference, other) == other
    assert rebased(reference, other, reference) == other


def test_merges_changes_of_different_fields_and_elements() -> None:
    reference = {"spec": {"a": 1, "b": 1, "c": 1}, "list": [{"name": "x", "v": 1}, {"name": "y"}]}
    ours = {"spec": {"a": 2, "b": 1, "c": 1, "own": 1}, "list": [{"name": "x", "v": 2}, {"name": "y"}]}
    theirs = {"spec": {"a": 1, "b": 2}, "list": [{"name": "x", "v": 1}, {"name": "z"}]}
    assert rebased(reference, ours, theirs) == {
        "spec": {"a": 2, "b": 2, "own": 1},
        "list": [{"name": "x", "v": 2}, {"name": "z"}],
    }


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/a/b"},
        {"op": "replace", "path": "/x", "value": 1},
        {"op": "add", "path": "/list/5", "value": 1},
        {"op": "add", "path": "/list/x", "value": 1},
        {"op": "add", "path": "/a/b/c", "value": 1},
        {"op": "test", "path": "/a", "value": 2},
        {"op": "jump", "path": "/a"},
    ],
)
def test_rejects_an_operation_that_does_not_fit(operation: dict[str, Any]) -> None:
    with pytest.raises(PatchFailed):
        json_patched({"a": 1, "list": [1]}, [operation])


def test_applies_every_operation() -> None:
    operations: list[dict[str, Any]] = [
        {"op": "test", "path": "/a", "value": 1},
        {"op": "add", "path": "/list/-", "value": 3},
        {"op": "move", "from": "/list/0", "path": "/list/1"},
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "replace", "path": "/a", "value": 2},
    ]
    assert json_patched({"a": 1, "list": [1, 2]}, operations) == {"a": 2, "b": 1, "list": [2, 1, 3]}


def test_merge_patch_removes_null() -> None:
    assert merge_patched({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": {"e": None, "f": 1}}}) == {
        "a": {"c": 2, "d": {"f": 1}}
    }


@given(before=OBJECTS, after=OBJECTS)
def test_equal_objects_have_no_differences_and_others_have_some(before: Any, after: Any) -> None:
    assert bool(list(field_differences(before, after))) == (repr(before) != repr(after) and before != after) or (
        before == after and repr(before) != repr(after)  # True and 1 are equal in Python
    )


def test_lists_differences_with_names_of_elements() -> None:
    before = {"spec": {"containers": [{"name": "web", "image": "a"}], "args": ["x"]}}
    after = {"spec": {"containers": [{"name": "log"}, {"name": "web", "image": "b"}], "args": ["x", "y"], "empty": {}}}
    found = [(one.op, one.name, one.before, one.after) for one in field_differences(before, after)]
    assert found == [
        ("replace", "spec.containers[name=web].image", "a", "b"),
        ("add", "spec.containers[name=log].name", ABSENT, "log"),
        ("add", "spec.args[1]", ABSENT, "y"),
        ("add", "spec.empty", ABSENT, {}),
    ]


def test_field_sets_are_subtracted_and_removed() -> None:
    ours = {"f:spec": {"f:a": {}, "f:b": {"f:c": {}}, "f:list": {'k:{"name":"x"}': {".": {}, "f:name": {}}}}}
    left = minus(ours, {"f:spec": {"f:a": {}}})
    assert left == {"f:spec": {"f:b": {"f:c": {}}, "f:list": {'k:{"name":"x"}': {".": {}, "f:name": {}}}}}
    value = {"spec": {"a": 1, "b": {"c": 1}, "list": [{"name": "x"}, {"name": "y"}]}}
    assert without_fields(value, minus(ours, {"f:spec": {"f:a": {}, "f:list": {}}})) == {
        "spec": {"a": 1, "list": [{"name": "x"}, {"name": "y"}]}
    }
    only_x: dict[str, Any] = {"f:spec": {"f:list": {'k:{"name":"x"}': {}}}}
    assert without_fields(value, only_x) == {"spec": {"a": 1, "b": {"c": 1}, "list": [{"name": "y"}]}}
