"""Sets of fields: how they are read and written, and the laws of their algebra."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubewright.cluster.merge import FieldSet, path

# A busy machine is no failure.
PATIENT = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
STEPS = st.sampled_from(["f:a", "f:b", "f:c", 'k:{"name":"x"}', 'k:{"name":"y"}', 'v:"x"', "v:1", "v:true"])
PATHS = st.lists(STEPS, min_size=1, max_size=4).map(tuple)
SETS = st.lists(PATHS, max_size=12).map(lambda paths: FieldSet.of(*paths))


def members(fields: FieldSet) -> set[tuple[str, ...]]:
    return set(fields)


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Sets of fields follow the laws of sets, and are written in the server's order.",
)
@PATIENT
@given(SETS, SETS)
def test_the_operations_are_those_of_sets_of_paths(one: FieldSet, other: FieldSet) -> None:
    assert members(one | other) == members(one) | members(other)
    assert members(one & other) == members(one) & members(other)
    assert members(one - other) == members(one) - members(other)


@PATIENT
@given(SETS, SETS)
def test_taking_away_with_what_is_below(one: FieldSet, other: FieldSet) -> None:
    def is_below(field: tuple[str, ...]) -> bool:
        return any(field[: len(above)] == above for above in members(other))

    assert members(one.without_below(other)) == {field for field in members(one) if not is_below(field)}


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Sets of fields follow the laws of sets, and are written in the server's order.",
)
@PATIENT
@given(SETS, SETS, SETS)
def test_laws(one: FieldSet, two: FieldSet, three: FieldSet) -> None:
    assert one | two == two | one
    assert one & two == two & one
    assert (one | two) | three == one | (two | three)
    assert one & (two | three) == (one & two) | (one & three)
    assert (one - two) | (one & two) == one
    assert not (one - one)
    assert one | FieldSet() == one


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Sets of fields follow the laws of sets, and are written in the server's order.",
)
@PATIENT
@given(SETS)
def test_what_is_written_is_read_back(fields: FieldSet) -> None:
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
    "Sets of fields follow the laws of sets, and are written in the server's order.",
)
def test_steps_are_written_in_the_servers_order() -> None:
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


def test_steps_of_others_are_read_whatever_their_spelling() -> None:
    odd = FieldSet.parse({'k:{"protocol": "TCP", "port": 80}': {"f:x": {}}})
    assert odd == FieldSet.parse({'k:{"port":80,"protocol":"TCP"}': {"f:x": {}}})


def test_a_kind_of_step_that_is_not_known_is_left_out() -> None:
    assert FieldSet.parse({"q:new": {}, "f:a": {}}) == FieldSet.parse({"f:a": {}})


@pytest.mark.parametrize(
    "broken", [[], "x", {"f": {}}, {"nocolon": {}}, {"k:[1]": {}}, {"k:{": {}}, {"i:x": {}}, {"f:a": [1]}]
)
def test_what_is_no_set_is_refused(broken: Any) -> None:
    with pytest.raises(ValueError):
        FieldSet.parse(broken)


def test_paths_read_as_people_write_them() -> None:
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


def test_text_is_escaped_as_go_escapes_it() -> None:
    assert path(("<a&b>",)) == ('v:"\\u003ca\\u0026b\\u003e"',)
    assert path({"name": 'a"b'}) == ('k:{"name":"a\\"b"}',)
