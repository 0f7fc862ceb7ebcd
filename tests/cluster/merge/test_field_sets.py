"""Field sets: parsing, formatting, and their algebra."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubewright.cluster.merge import FieldSet, path

# No deadline: the machine may be busy.
PATIENT = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
STEPS = st.sampled_from(["f:a", "f:b", "f:c", 'k:{"name":"x"}', 'k:{"name":"y"}', 'v:"x"', "v:1", "v:true"])
PATHS = st.lists(STEPS, min_size=1, max_size=4).map(tuple)
SETS = st.lists(PATHS, max_size=12).map(lambda paths: FieldSet.of(*paths))


def members(fields: FieldSet) -> set[tuple[str, ...]]:
    return set(fields)


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Field sets follow the laws of sets and are written in the server's order.",
)
@PATIENT
@given(SETS, SETS)
def test_operations_match_sets_of_paths(one: FieldSet, other: FieldSet) -> None:
    assert members(one | other) == members(one) | members(other)
    assert members(one & other) == members(one) & members(other)
    assert members(one - other) == members(one) - members(other)


@PATIENT
@given(SETS, SETS)
def test_recursive_difference_removes_fields_below(one: FieldSet, other: FieldSet) -> None:
    def is_below(field: tuple[str, ...]) -> bool:
        return any(field[: len(above)] == above for above in members(other))

    assert members(one.without_below(other)) == {field for field in members(one) if not is_below(field)}


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Field sets follow the laws of sets and are written in the server's order.",
)
@PATIENT
@given(SETS, SETS, SETS)
def test_set_laws_hold(one: FieldSet, two: FieldSet, three: FieldSet) -> None:
    assert one | two == two | one
    assert one & two == two & one
    assert (one | two) | three == one | (two | three)
    assert one & (two | three) == (one & two) | (one & three)
    assert (one - two) | (one & two) == one
    assert not (one - one)
    assert one | FieldSet() == one


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Field sets follow the laws of sets and are written in the server's order.",
)
@PATIENT
@given(SETS)
def test_round_trips_fields_v1(fields: FieldSet) -> None:
    written = json.loads(json.dumps(fields.fields_v1()))
    assert FieldSet.parse(written) == fields
    assert FieldSet.parse(written).fields_v1() == written
    assert list(FieldSet.parse(written)) == list(fields)


@PATIENT
@given(SETS, SETS)
def test_operations_change_neither_set(one: FieldSet, other: FieldSet) -> None:
    before = json.dumps([one.fields_v1(), other.fields_v1()])
    for _ in (one | other, one & other, one - other, one.without_below(other)):
        assert json.dumps([one.fields_v1(), other.fields_v1()]) == before


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Field sets follow the laws of sets and are written in the server's order.",
)
def test_orders_path_elements_like_the_server() -> None:
    fields: dict[str, Any] = {
        'k:{"port":443,"protocol":"TCP"}': {},
        'k:{"port":80,"protocol":"UDP"}': {},
        'k:{"port":80,"protocol":"TCP"}': {"f:port": {}, ".": {}},
    }
    assert list(FieldSet.parse(fields).fields_v1()) == [
        'k:{"port":80,"protocol":"TCP"}',
        'k:{"port":80,"protocol":"UDP"}',
        'k:{"port":443,"protocol":"TCP"}',
    ]
    assert list(FieldSet.parse({'v:"b"': {}, "v:10": {}, "v:9": {}, 'v:"a"': {}, "f:z": {}}).fields_v1()) == [
        "f:z",
        "v:9",
        "v:10",
        'v:"a"',
        'v:"b"',
    ]


def test_normalizes_path_elements() -> None:
    odd = FieldSet.parse({'k:{"protocol": "TCP", "port": 80}': {"f:x": {}}})
    assert odd == FieldSet.parse({'k:{"port":80,"protocol":"TCP"}': {"f:x": {}}})


def test_drops_unknown_path_elements() -> None:
    assert FieldSet.parse({"q:new": {}, "f:a": {}}) == FieldSet.parse({"f:a": {}})


@pytest.mark.parametrize(
    "broken", [[], "x", {"f": {}}, {"nocolon": {}}, {"k:[1]": {}}, {"k:{": {}}, {"i:x": {}}, {"f:a": [1]}]
)
def test_rejects_invalid_field_sets(broken: Any) -> None:
    with pytest.raises(ValueError):
        FieldSet.parse(broken)


def test_formats_paths_for_messages() -> None:
    fields = FieldSet.of(
        path("spec", "template", "spec", "containers", {"name": "nginx"}, "image"),
        path("spec", "ports", {"protocol": "TCP", "port": 80}),
        path("metadata", "finalizers", ("a/b",)),
    )
    assert str(fields) == (
        '.metadata.finalizers[="a/b"]\n'
        '.spec.ports[port=80,protocol="TCP"]\n'
        '.spec.template.spec.containers[name="nginx"].image'
    )
    assert path("metadata", "finalizers", ("a/b",)) in fields
    assert path("metadata") not in fields
    assert len(fields) == 3
    assert fields


def test_escapes_strings_like_go() -> None:
    assert path(("<a&b>",)) == ('v:"\\u003ca\\u0026b\\u003e"',)
    assert path({"name": 'a"b'}) == ('k:{"name":"a\\"b"}',)
