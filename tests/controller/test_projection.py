"""`projection`: an object seen through what was asked of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kubewright as kw
from kubewright.api import Object, core
from kubewright.controller.fields import digest, projection
from kubewright.diff import ListKeys

POD = ListKeys(core.Pod)


def through(kind: type[Object], content: Any, asked: Any) -> Any:
    return projection(content, asked, ListKeys(kind))


def test_a_map_shows_only_the_keys_that_were_asked_for() -> None:
    content = {"data": {"a": "1", "b": "2"}, "immutable": True}
    assert through(core.ConfigMap, content, {"data": {"a": "x"}}) == {"data": {"a": "1"}}


def test_a_field_that_the_object_lacks_does_not_show() -> None:
    assert through(core.ConfigMap, {"data": {}}, {"data": {"a": "x"}, "immutable": False}) == {"data": {}}


@pytest.mark.promise(
    "Owned objects and `apply`",
    "Nothing is written when nothing would change, whatever the server made of the values.",
)
def test_a_value_shows_as_the_server_holds_it() -> None:
    asked = {"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1000m"}}}]}}
    content = {"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]}}
    seen = {"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1"}}}]}}
    assert through(core.Pod, content, asked) == seen


def test_of_a_keyed_list_the_named_elements_show_in_the_order_of_the_object() -> None:
    content = {"spec": {"containers": [{"name": "b", "image": "2"}, {"name": "sidecar"}, {"name": "a", "image": "1"}]}}
    asked = {"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b"}]}}
    seen = {"spec": {"containers": [{"name": "b"}, {"name": "a", "image": "1"}]}}
    assert through(core.Pod, content, asked) == seen


def test_an_element_finds_its_own_although_the_server_filled_in_a_part_of_its_key() -> None:
    content = {"spec": {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP", "targetPort": 53}]}}
    assert through(core.Service, content, {"spec": {"ports": [{"port": 53}]}}) == {"spec": {"ports": [{"port": 53}]}}


def test_a_keyed_list_whose_elements_have_the_same_keys_is_kept_whole() -> None:
    ports = [{"port": 1, "name": "a"}, {"port": 2, "name": "b"}]
    asked = {"spec": {"ports": [{"port": 1}, {"port": 1}]}}
    assert through(core.Service, {"spec": {"ports": ports}}, asked) == {"spec": {"ports": ports}}


def test_of_a_set_the_elements_that_were_asked_for_show() -> None:
    content = {"metadata": {"finalizers": ["b", "others", "a"]}}
    seen = {"metadata": {"finalizers": ["b", "a"]}}
    assert through(core.Pod, content, {"metadata": {"finalizers": ["a", "b"]}}) == seen


def test_an_atomic_list_shows_whole() -> None:
    content = {"spec": {"containers": [{"name": "a", "args": ["x", "y"]}]}}
    assert through(core.Pod, content, {"spec": {"containers": [{"name": "a", "args": ["x"]}]}}) == content


def test_where_the_shapes_differ_the_object_shows_as_it_is() -> None:
    assert through(core.ConfigMap, {"data": "text"}, {"data": {"a": "1"}}) == {"data": "text"}
    assert through(core.ConfigMap, {"data": None}, {"data": {"a": "1"}}) == {"data": None}


class Rule(kw.Model):
    host: str
    weight: int | None = None


class RouteSpec(kw.Model):
    __list_keys__ = {"rules": ("host",)}  # noqa: RUF012

    rules: list[Rule] | None = None


@kw.resource("projection.example.com/v1")
class Route(kw.Resource[RouteSpec, None]):
    """A kind of a user's own, with a keyed list."""


def test_the_lists_of_a_kind_of_ones_own_have_the_keys_that_it_declares() -> None:
    content = {"spec": {"rules": [{"host": "others"}, {"host": "mine", "weight": 1}]}}
    asked = {"spec": {"rules": [{"host": "mine"}]}}
    assert through(Route, content, asked) == {"spec": {"rules": [{"host": "mine"}]}}


def test_the_digest_does_not_depend_on_the_order_of_a_map() -> None:
    assert digest({"a": 1, "b": [1, 2]}) == digest({"b": [1, 2], "a": 1})
    assert digest({"b": [2, 1]}) != digest({"b": [1, 2]})
    assert digest({"a": True}) != digest({"a": 1})


# Any pod, as far as lists with keys, sets, atomic lists and maps go

NAMES = st.sampled_from(["a", "b", "c", "d"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x", "1000m"])
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)


def named(fields: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[list[dict[str, Any]]]:
    element = st.builds(lambda name, rest: {"name": name, **rest}, NAMES, fields)
    return st.lists(element, max_size=3, unique_by=lambda item: item["name"])


CONTAINERS = named(
    st.fixed_dictionaries(
        {},
        optional={
            "image": SCALARS,
            "args": st.lists(st.sampled_from(["x", "y"]), max_size=3),
            "env": named(st.fixed_dictionaries({}, optional={"value": SCALARS})),
            "resources": st.fixed_dictionaries({}, optional={"limits": st.dictionaries(NAMES, SCALARS, max_size=2)}),
        },
    )
)
PODS = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries(
            {},
            optional={
                "labels": st.dictionaries(NAMES, NAMES, max_size=3),
                "finalizers": st.lists(NAMES, max_size=3, unique=True),
            },
        ),
        "spec": st.fixed_dictionaries({}, optional={"containers": CONTAINERS, "nodeSelector": ANYTHING}),
    },
)


@given(PODS)
def test_what_was_asked_seen_through_itself_is_itself(asked: dict[str, Any]) -> None:
    assert projection(asked, asked, POD) == asked


@given(PODS, PODS)
def test_looking_twice_shows_nothing_new(content: dict[str, Any], asked: dict[str, Any]) -> None:
    seen = projection(content, asked, POD)
    assert projection(seen, asked, POD) == seen


def with_others(content: Any, asked: Any, draw: Any, place: ListKeys) -> Any:
    """The object after other clients added fields: keys to maps, elements to keyed lists and sets."""
    if isinstance(content, dict) and isinstance(asked, dict):
        grown = {
            name: with_others(value, asked[name], draw, place.member(name)) if name in asked else value
            for name, value in content.items()
        }
        return grown | {f"other-{name}": draw(SCALARS) for name in draw(st.sets(NAMES, max_size=2))}
    if isinstance(content, list) and isinstance(asked, list):
        if keys := place.here():
            wanted = {item[keys[0]]: item for item in asked}
            items = [
                with_others(item, wanted[item[keys[0]]], draw, place.element()) if item[keys[0]] in wanted else item
                for item in content
            ]
            items.insert(draw(st.integers(0, len(items))), {keys[0]: "other", "image": draw(SCALARS)})
            return items
        if place.is_set():
            return [*content, "other"]
    return content


@given(PODS, PODS, st.data())
def test_what_others_add_does_not_show(content: dict[str, Any], asked: dict[str, Any], data: st.DataObject) -> None:
    grown = with_others(content, asked, data.draw, POD)
    assert projection(grown, asked, POD) == projection(content, asked, POD)
