"""The patch that `update` sends, checked by applying it (RFC 6902) to what the server holds."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import hypothesis.strategies as st
import pytest
from hypothesis import given

from kubewright.api import Model, core
from kubewright.diff import ListKeys, diff


def patched(document: Any, operations: list[dict[str, Any]]) -> Any:
    """Apply a JSON patch; any operation that does not fit raises."""
    document = copy.deepcopy(document)
    for operation in operations:
        path = operation["path"]
        if operation["op"] == "move":
            value = _take(document, operation["from"])
            _put(document, path, value, replace=False)
        elif operation["op"] == "remove":
            _take(document, path)
        else:
            _put(document, path, copy.deepcopy(operation["value"]), replace=operation["op"] == "replace")
    return document


def _walk(document: Any, path: str) -> tuple[Any, Any]:
    *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]
    for part in parents:
        document = document[int(part)] if isinstance(document, list) else document[part]
    return document, int(last) if isinstance(document, list) else last


def _take(document: Any, path: str) -> Any:
    parent, last = _walk(document, path)
    return parent.pop(last)


def _put(document: Any, path: str, value: Any, *, replace: bool) -> None:
    parent, last = _walk(document, path)
    if isinstance(parent, list) and not replace:
        assert 0 <= last <= len(parent)
        parent.insert(last, value)
    else:
        assert not replace or last in (range(len(parent)) if isinstance(parent, list) else parent)
        parent[last] = value


def changes(raw: Any, before: Any, after: Any, type_: Any = None) -> list[dict[str, Any]]:
    return list(diff(ListKeys(type_), raw, before, after))


class Item(Model):
    name: str
    size: int | None = None


class Holder(Model):
    __list_keys__: ClassVar[dict[str, tuple[str, ...]]] = {"items": ("name",)}

    items: list[Item] | None = None
    plain: list[Item] | None = None


def test_nothing_changed_is_an_empty_patch() -> None:
    assert changes({"a": 1, "x": 2}, {"a": 1}, {"a": 1}) == []


def test_only_what_changed_is_sent() -> None:
    raw = {"spec": {"a": 1, "b": 2, "unknown": 3}}
    patch = changes(raw, {"spec": {"a": 1, "b": 2}}, {"spec": {"a": 1, "b": 5}})
    assert patch == [{"op": "replace", "path": "/spec/b", "value": 5}]


def test_a_parent_that_the_server_does_not_have_is_added_whole() -> None:
    # The model shows an empty spec where the server has none.
    assert changes({}, {"spec": {}}, {"spec": {"a": 1}}) == [{"op": "add", "path": "/spec", "value": {"a": 1}}]
    assert changes({"spec": None}, {"spec": {}}, {"spec": {"a": 1}}) == [
        {"op": "add", "path": "/spec", "value": {"a": 1}}
    ]


def test_a_default_of_the_model_that_the_server_does_not_have_is_not_sent() -> None:
    assert changes({"spec": {}}, {"spec": {"size": 0}}, {"spec": {"size": 0}}) == []
    assert changes({"spec": {}}, {"spec": {"size": 0}}, {"spec": {}}) == []


def test_json_distinguishes_true_from_one() -> None:
    assert changes({"a": 1}, {"a": 1}, {"a": True}) == [{"op": "replace", "path": "/a", "value": True}]


def test_names_with_slashes_and_tildes_are_escaped() -> None:
    patch = changes({"l": {"a/b": "1"}}, {"l": {"a/b": "1"}}, {"l": {"a/b": "2", "c~d": "3"}})
    assert patch == [
        {"op": "replace", "path": "/l/a~1b", "value": "2"},
        {"op": "add", "path": "/l/c~0d", "value": "3"},
    ]


@pytest.mark.promise("Writing with the client", "List elements are aligned by their keys.")
def test_keyed_elements_keep_their_unknown_fields_while_others_come_go_and_move() -> None:
    raw = {"items": [{"name": "a", "x": 1}, {"name": "b", "x": 2}, {"name": "c", "x": 3}]}
    before = {"items": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}
    after = {"items": [{"name": "c", "size": 9}, {"name": "new"}, {"name": "a"}]}
    patch = changes(raw, before, after, Holder)
    assert patched(raw, patch) == {"items": [{"name": "c", "size": 9, "x": 3}, {"name": "new"}, {"name": "a", "x": 1}]}


def test_a_list_without_declared_keys_is_aligned_by_a_usual_key() -> None:
    raw = {"plain": [{"name": "a", "x": 1}, {"name": "b", "x": 2}]}
    before = {"plain": [{"name": "a"}, {"name": "b"}]}
    after = {"plain": [{"name": "b"}, {"name": "new"}, {"name": "a"}]}
    patch = changes(raw, before, after, Holder)
    assert patched(raw, patch) == {"plain": [{"name": "b", "x": 2}, {"name": "new"}, {"name": "a", "x": 1}]}


def test_elements_without_any_key_keep_their_unknown_fields_around_an_insertion() -> None:
    raw = {"plain": [{"size": 1, "x": 1}, {"size": 2, "x": 2}]}
    before = {"plain": [{"size": 1}, {"size": 2}]}
    after = {"plain": [{"size": 1}, {"size": 3}, {"size": 2}]}
    patch = changes(raw, before, after, Holder)
    assert patched(raw, patch) == {"plain": [{"size": 1, "x": 1}, {"size": 3}, {"size": 2, "x": 2}]}


def test_duplicate_keys_fall_back_to_order() -> None:
    raw = {"items": [{"name": "a", "x": 1}, {"name": "a", "x": 2}]}
    before = {"items": [{"name": "a"}, {"name": "a"}]}
    after = {"items": [{"name": "a"}, {"name": "a", "size": 1}]}
    assert patched(raw, changes(raw, before, after, Holder)) == {
        "items": [{"name": "a", "x": 1}, {"name": "a", "x": 2, "size": 1}]
    }


def test_containers_are_aligned_by_name() -> None:
    place = ListKeys(core.Pod).member("spec").member("containers")
    assert place.here() == ("name",)
    assert place.element().member("ports").here() == ("containerPort", "protocol")
    assert ListKeys(core.Pod).member("nothing").member("at").element().member("all").here() == ()


scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2)
documents = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=4)
)
objects = st.dictionaries(st.text("abc", min_size=1, max_size=2), documents, max_size=4)


@given(objects, objects)
def test_the_patch_turns_any_document_into_any_other(before: Any, after: Any) -> None:
    assert patched(before, changes(before, before, after)) == after


keyed = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("abcdef")}, optional={"size": st.integers(0, 2)}),
    max_size=6,
    unique_by=lambda element: element["name"],
)


@pytest.mark.promise("Writing with the client", "List elements are aligned by their keys.")
@given(keyed, keyed)
def test_every_surviving_keyed_element_keeps_unknown_fields(before: Any, after: Any) -> None:
    raw = {"items": [{**element, "secret": f"of {element['name']}"} for element in before]}
    result = patched(raw, changes(raw, {"items": before}, {"items": after}, Holder))
    survivors = {element["name"] for element in before}
    assert result == {
        "items": [
            {**element, **({"secret": f"of {element['name']}"} if element["name"] in survivors else {})}
            for element in after
        ]
    }
