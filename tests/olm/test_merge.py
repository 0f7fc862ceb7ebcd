"""The three-way merge: keeps edits, applies changes of the program, and reports conflicts."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubewright.olm import merge

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("abc", max_size=3),
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(st.sampled_from(["owned", "keywords", "name", "version", "path", "x"]), inside, max_size=4)
    ),
    max_leaves=12,
)
few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
OBJECTS = st.dictionaries(st.sampled_from(["metadata", "spec", "keywords", "owned"]), JSON, max_size=4)


@pytest.mark.promise(
    "Packages for OLM",
    "Edits of the ClusterServiceVersion survive, and changes of the program arrive.",
)
@few
@given(OBJECTS, OBJECTS)
def test_without_edits_the_result_is_the_generated_object(before: dict[str, Any], generated: dict[str, Any]) -> None:
    merged = merge(before, copy.deepcopy(before), generated)
    assert merged.content == generated
    assert not merged.conflicts
    assert not merged.lost


@pytest.mark.promise(
    "Packages for OLM",
    "Edits of the ClusterServiceVersion survive, and changes of the program arrive.",
)
@few
@given(OBJECTS, OBJECTS)
def test_without_changes_of_the_program_keeps_all_edits(before: dict[str, Any], mine: dict[str, Any]) -> None:
    merged = merge(before, mine, copy.deepcopy(before))
    assert merged.content == mine
    assert not merged.conflicts


@few
@given(OBJECTS, OBJECTS, OBJECTS)
def test_merging_again_changes_nothing(before: dict[str, Any], mine: dict[str, Any], generated: dict[str, Any]) -> None:
    once = merge(before, mine, generated, keep="mine")
    assert merge(generated, once.content, generated).content == once.content


@few
@given(OBJECTS, OBJECTS, OBJECTS)
def test_choosing_a_side_leaves_no_conflict(
    before: dict[str, Any], mine: dict[str, Any], generated: dict[str, Any]
) -> None:
    assert not merge(before, mine, generated, keep="mine").conflicts
    assert not merge(before, mine, generated, keep="generated").conflicts


def spec(**content: Any) -> dict[str, Any]:
    return {"spec": content}


def test_merges_list_elements_by_name() -> None:
    before = spec(specDescriptors=[{"path": "a", "displayName": "A"}, {"path": "b", "displayName": "B"}])
    mine = copy.deepcopy(before)
    mine["spec"]["specDescriptors"][0]["displayName"] = "The a"
    mine["spec"]["specDescriptors"].append({"path": "mine", "displayName": "Mine"})
    generated = spec(
        specDescriptors=[{"path": "c", "displayName": "C"}, {"path": "a", "displayName": "A", "description": "New."}]
    )
    merged = merge(before, mine, generated)
    assert merged.content["spec"]["specDescriptors"] == [
        {"path": "a", "displayName": "The a", "description": "New."},
        {"path": "mine", "displayName": "Mine"},
        {"path": "c", "displayName": "C"},
    ]
    assert not merged.conflicts


def test_merges_lists_of_plain_values_by_value() -> None:
    merged = merge({"keywords": ["a", "b"]}, {"keywords": ["mine", "a"]}, {"keywords": ["a", "b", "c"]})
    assert merged.content == {"keywords": ["mine", "a", "c"]}


def test_a_change_on_both_sides_is_a_conflict() -> None:
    merged = merge(spec(displayName="Foo"), spec(displayName="Mine"), spec(displayName="Bar"))
    [conflict] = merged.conflicts
    assert str(conflict) == (
        'spec.displayName: it was generated as "Foo", you changed it to "Mine", and now it is generated as "Bar"'
    )
    assert merged.content == spec(displayName="Mine")
    assert merge(spec(x="Foo"), spec(x="Mine"), spec(x="Bar"), keep="generated").content == spec(x="Bar")
    assert merge(spec(x="Foo"), spec(x="Mine"), spec(x="Bar"), keep="mine").content == spec(x="Mine")


def test_the_same_change_on_both_sides_is_not_a_conflict() -> None:
    merged = merge(spec(x=1), spec(x=2), spec(x=2))
    assert (merged.content, list(merged.conflicts)) == (spec(x=2), [])


def test_removes_what_is_no_longer_generated_and_reports_lost_edits() -> None:
    before = spec(owned=[{"name": "a.x", "version": "v1", "kind": "A"}])
    mine = spec(owned=[{"name": "a.x", "version": "v1", "kind": "A", "displayName": "Mine"}])
    merged = merge(before, mine, spec(owned=[]))
    assert merged.content == spec(owned=[])
    assert list(merged.lost) == [".spec.owned[a.x/v1]"]


def test_does_not_restore_what_the_user_removed() -> None:
    merged = merge(spec(x={"a": 1, "b": 1}), spec(x={"a": 1}), spec(x={"a": 1, "b": 2}))
    assert merged.content == spec(x={"a": 1})


def test_merges_examples_inside_their_json() -> None:
    def texts(*examples: tuple[str, int]) -> dict[str, Any]:
        listed = [
            {"apiVersion": "x/v1", "kind": "A", "metadata": {"name": name}, "spec": {"size": size}}
            for name, size in examples
        ]
        return {"metadata": {"annotations": {"alm-examples": json.dumps(listed)}}}

    merged = merge(texts(("a", 1), ("b", 1)), texts(("a", 5), ("b", 1)), texts(("a", 1), ("c", 1)))
    found = json.loads(merged.content["metadata"]["annotations"]["alm-examples"])
    assert [(one["metadata"]["name"], one["spec"]["size"]) for one in found] == [("a", 5), ("c", 1)]


@pytest.mark.parametrize("text", ["{broken", '{"a": 1}'])
def test_examples_that_are_not_a_list_conflict_as_a_string(text: str) -> None:
    def annotated(value: str) -> dict[str, Any]:
        return {"metadata": {"annotations": {"alm-examples": value}}}

    assert len(merge(annotated("[]"), annotated(text), annotated("[1]")).conflicts) == 1
