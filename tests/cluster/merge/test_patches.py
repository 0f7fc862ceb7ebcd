"""Properties of patches of arbitrary documents, in addition to the tables of `patch_cases`."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubewright.cluster.merge import Refused, json_patch, merge_patch, strategic_merge_patch
from kubewright.cluster.schema import builtin_schema

# No deadline: the machine may be busy.
PATIENT = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "~/"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c~d", "e/f"]), inner),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(st.sampled_from(["a", "b", "c"]), VALUES, max_size=3)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def difference(before: Any, after: Any) -> Any:
    """Returns a merge patch from one document to another that has no nulls in its objects."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    patch: dict[str, Any] = {name: None for name in before if name not in after}
    for name, value in after.items():
        # Compares as JSON: in Python, false equals 0 and [false] equals [0].
        if name not in before or canonical(before[name]) != canonical(value):
            patch[name] = difference(before.get(name), value)
    return patch


@pytest.mark.promise("How the embedded cluster merges", "A patch never changes the object that it is applied to.")
@PATIENT
@given(DOCUMENTS, DOCUMENTS)
def test_merge_patch_transforms_any_document(before: dict[str, Any], after: dict[str, Any]) -> None:
    before, after = without_nulls(before), without_nulls(after)
    kept = json.dumps(before)
    patched = merge_patch(before, difference(before, after))
    assert canonical(patched) == canonical(merge_patch({}, after))
    assert json.dumps(before) == kept


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@PATIENT
@given(DOCUMENTS, DOCUMENTS)
def test_merge_patch_is_idempotent(document: dict[str, Any], patch: dict[str, Any]) -> None:
    patch = {name: without_nulls(value) for name, value in patch.items()}
    once = merge_patch(document, patch)
    assert merge_patch(once, patch) == once


def pointers(value: Any, at: str = "") -> list[str]:
    """Yields every location in a document."""
    found = [at] if at else []
    if isinstance(value, dict):
        for name, item in value.items():
            found += pointers(item, at + "/" + name.replace("~", "~0").replace("/", "~1"))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            found += pointers(item, f"{at}/{index}")
    return found


def patched(document: Any, *operations: dict[str, Any]) -> Any:
    return json_patch(document, json.dumps(operations).encode())


@pytest.mark.promise("How the embedded cluster merges", "A patch never changes the object that it is applied to.")
@PATIENT
@given(DOCUMENTS, st.data())
def test_json_patch_can_be_reverted(document: dict[str, Any], data: st.DataObject) -> None:
    places = pointers(document)
    if not places:
        return
    place = data.draw(st.sampled_from(places))
    kept = canonical(document)
    value = value_at(document, place)
    removed = patched(document, {"op": "remove", "path": place})
    assert canonical(patched(removed, {"op": "add", "path": place, "value": value})) == kept
    replaced = patched(document, {"op": "replace", "path": place, "value": "other"})
    restored = patched(
        replaced, {"op": "test", "path": place, "value": "other"}, {"op": "replace", "path": place, "value": value}
    )
    assert canonical(restored) == kept
    assert canonical(document) == kept


def value_at(document: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


@PATIENT
@given(DOCUMENTS)
def test_copy_operation_copies_the_value(document: dict[str, Any]) -> None:
    result = patched(
        {"a": document}, {"op": "copy", "from": "/a", "path": "/b"}, {"op": "add", "path": "/b/new", "value": 1}
    )
    assert result["a"] == document
    assert result["b"] == document | {"new": 1}


@pytest.mark.parametrize("text", [b"", b"{", b"[1]", b'{"op": "add"}', b'"x"'])
def test_rejects_invalid_json_patch(text: bytes) -> None:
    with pytest.raises(Refused) as refused:
        json_patch({}, text)
    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")


@pytest.mark.parametrize("step", ["01x", "--1", "9" * 40, " 1", "1.0", "²"])
def test_rejects_unusual_array_indexes(step: str) -> None:
    with pytest.raises(Refused) as refused:
        patched({"a": [1, 2]}, {"op": "remove", "path": f"/a/{step}"})
    assert refused.value.code == 422


DEPLOYMENT = builtin_schema("apps/v1", "Deployment")
CONTAINERS = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("abcd")}, optional={"image": st.sampled_from("12")}),
    max_size=4,
    unique_by=lambda container: container["name"],
)


def deployment(containers: list[dict[str, str]]) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": containers}}}}


def containers_of(obj: dict[str, Any]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = obj["spec"]["template"]["spec"]["containers"]
    return found


@pytest.mark.promise("How the embedded cluster merges", "A patch never changes the object that it is applied to.")
@PATIENT
@given(CONTAINERS, CONTAINERS)
def test_strategic_patch_merges_by_key_and_keeps_order(live: list[dict[str, str]], patch: list[dict[str, str]]) -> None:
    assert DEPLOYMENT is not None
    before = deepcopy((live, patch))
    merged = containers_of(strategic_merge_patch(deployment(live), deployment(patch), DEPLOYMENT))
    assert (live, patch) == before
    by_name = {each["name"]: each for each in live}
    for each in patch:
        by_name[each["name"]] = by_name.get(each["name"], {}) | each
    assert {each["name"]: each for each in merged} == by_name
    names = [each["name"] for each in merged]
    assert [name for name in names if name in {each["name"] for each in patch}] == [each["name"] for each in patch]
    only_live = [each["name"] for each in live if each["name"] not in {other["name"] for other in patch}]
    assert [name for name in names if name in only_live] == only_live


@PATIENT
@given(CONTAINERS, CONTAINERS)
def test_strategic_replace_leaves_only_the_patch(live: list[dict[str, str]], patch: list[dict[str, str]]) -> None:
    assert DEPLOYMENT is not None
    replacing = deployment([{"$patch": "replace"}, *patch])
    merged = strategic_merge_patch(deployment(live), replacing, DEPLOYMENT)
    assert containers_of(merged) == patch


def test_strategic_patch_rejects_unknown_field() -> None:
    assert DEPLOYMENT is not None
    with pytest.raises(Refused) as refused:
        strategic_merge_patch({"spec": {"nope": {"a": 1}}}, {"spec": {"nope": {"b": 1}}}, DEPLOYMENT)
    assert refused.value.message == 'unable to find api field in struct DeploymentSpec for the json field "nope"'


def test_bounds_total_size_of_copies() -> None:
    """A patch of a thousand bytes once used 13 GB."""
    doubling = [{"op": "copy", "from": "/a", "path": f"/a/b{n}"} for n in range(40)]
    with pytest.raises(Refused) as refused:
        json_patch({"a": {"x": "0123456789"}}, msgspec.json.encode(doubling))
    assert (refused.value.code, refused.value.reason) == (422, "Invalid")
    same = [{"op": "copy", "from": "/a", "path": "/b"}] * 4
    assert json_patch({"a": "x" * 700_000}, msgspec.json.encode(same))["b"]
    with pytest.raises(Refused):
        json_patch({"a": "x" * 800_000}, msgspec.json.encode(same))


def test_rejects_patch_that_nests_too_deeply() -> None:
    wrapping = [
        operation
        for _ in range(300)
        for operation in (
            {"op": "copy", "from": "/a", "path": "/b"},
            {"op": "replace", "path": "/a", "value": {}},
            {"op": "move", "from": "/b", "path": "/a/a"},
        )
    ]
    with pytest.raises(Refused, match="nested too deeply") as refused:
        json_patch({"a": {}}, msgspec.json.encode(wrapping))
    assert refused.value.code == 400


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def test_rejects_excessive_nesting() -> None:
    assert DEPLOYMENT is not None
    deep = nested(5000)
    for patch in (
        lambda: merge_patch(deep, deep),
        lambda: strategic_merge_patch({"spec": deep}, {"spec": deep}, DEPLOYMENT),
        lambda: json_patch({}, b"[" * 5000 + b"]" * 5000),
        lambda: json_patch(deep, b"[]"),
    ):
        with pytest.raises(Refused) as refused:
            patch()
        assert refused.value.code == 400
