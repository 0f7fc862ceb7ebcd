"""Managed fields: names, times, order and no-ops, which recorded tables cannot cover."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubewright.cluster.merge import FieldManager, Refused, keep_times, manager_name, reset_fields, same
from kubewright.cluster.schema import Schema, builtin_schema, custom_schema
from tests.cluster.merge.definitions import VERSIONS

# No deadline: the machine may be busy.
PATIENT = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
FIRST, SECOND, THIRD = (f"2026-11-15T10:00:0{second}Z" for second in range(3))


def config_maps() -> FieldManager:
    return FieldManager("v1", "ConfigMap", schema_of=lambda version: builtin_schema(version, "ConfigMap"))


def config_map(**data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


def stored(obj: dict[str, Any]) -> dict[str, Any]:
    return obj | {"metadata": obj["metadata"] | {"uid": "1"}}


def entries(obj: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    return [(each["manager"], each["operation"], each.get("time")) for each in obj["metadata"].get("managedFields", [])]


def test_manager_name_comes_from_request_or_user_agent() -> None:
    assert manager_name("me", "kubectl/v1.36") == "me"
    assert manager_name("", "kubectl/v1.36.3 (linux)") == "kubectl"
    assert manager_name("", "a\tb/1") == "a"
    assert manager_name("", "é" * 100) == "é" * 64


def test_orders_entries_by_operation_time_and_name() -> None:
    manager = config_maps()
    obj = stored(manager.update(None, config_map(a="1"), "zed", FIRST))
    obj = manager.update(obj, obj | {"data": {"a": "1", "b": "1"}}, "bob", SECOND)
    obj = manager.update(obj, obj | {"data": {"a": "1", "b": "1", "c": "1"}}, "amy", SECOND)
    obj = manager.apply(obj, config_map(d="1"), "yan", THIRD)
    assert entries(obj) == [
        ("yan", "Apply", THIRD),
        ("zed", "Update", FIRST),
        ("amy", "Update", SECOND),
        ("bob", "Update", SECOND),
    ]


def test_changes_only_the_time_of_the_writer() -> None:
    manager = config_maps()
    obj = stored(manager.update(None, config_map(a="1", b="1"), "one", FIRST))
    obj = manager.update(obj, obj | {"data": {"a": "2", "b": "1"}}, "two", SECOND)
    assert entries(obj) == [("one", "Update", FIRST), ("two", "Update", SECOND)]


@pytest.mark.promise(
    "How the embedded cluster merges",
    "A write that changes nothing keeps times and the revision.",
)
def test_no_op_update_keeps_times() -> None:
    manager = config_maps()
    obj = stored(manager.update(None, config_map(a="1"), "one", FIRST))
    again = manager.update(obj, deepcopy(obj), "one", SECOND)
    assert same(obj, keep_times(obj, again))


@pytest.mark.promise(
    "How the embedded cluster merges",
    "A write that changes nothing keeps times and the revision.",
)
def test_no_op_apply_keeps_times() -> None:
    manager = config_maps()
    obj = stored(manager.apply(None, config_map(a="1"), "one", FIRST))
    assert same(obj, manager.apply(obj, config_map(a="1"), "one", SECOND))


def test_apply_of_equal_values_adds_owner_without_time() -> None:
    manager = config_maps()
    obj = stored(manager.apply(None, config_map(a="1"), "one", FIRST))
    assert entries(manager.apply(obj, config_map(a="1"), "two", SECOND)) == [
        ("two", "Apply", None),
        ("one", "Apply", FIRST),
    ]


@pytest.mark.promise(
    "How the embedded cluster merges",
    "A write that changes nothing keeps times and the revision.",
)
def test_ignores_changes_of_times_only() -> None:
    manager = config_maps()
    obj = stored(manager.apply(None, config_map(a="1"), "one", FIRST))
    later = deepcopy(obj)
    later["metadata"]["managedFields"][0]["time"] = SECOND
    assert keep_times(obj, later) == obj
    changed = later | {"data": {"a": "2"}}
    assert keep_times(obj, changed) == changed
    assert not same(obj, later)


def test_distinguishes_one_and_true() -> None:
    assert same({"a": 1}, {"a": 1.0})
    assert not same({"a": 1}, {"a": True})
    assert not same({"a": [0]}, {"a": [False]})


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Oldest update entries are merged, owners in removed versions are dropped, and fields that became atomic "
    "are owned as a whole.",
)
def test_merges_oldest_update_entries() -> None:
    manager = config_maps()
    obj = stored(manager.update(None, config_map(k00="1"), "m00", FIRST))
    for number in range(1, 13):
        data = obj["data"] | {f"k{number:02}": "1"}
        obj = manager.update(obj, obj | {"data": data}, f"m{number:02}", SECOND)
    names = [name for name, _, _ in entries(obj)]
    assert len(names) == 10
    assert "ancient-changes" in names
    assert "m03" not in names


def test_arguments_are_not_changed() -> None:
    manager = config_maps()
    live = stored(manager.apply(None, config_map(a="1", b="1"), "one", FIRST))
    config = config_map(a="2")
    before = deepcopy((live, config))
    manager.apply(live, config, "two", SECOND, force=True)
    manager.update(live, config | {"data": {}}, "two", SECOND)
    assert (live, config) == before


def test_defaults_after_apply_have_no_owner() -> None:
    def default(obj: dict[str, Any]) -> None:
        obj["data"].setdefault("z", "default")

    manager = FieldManager(
        "v1", "ConfigMap", schema_of=lambda version: builtin_schema(version, "ConfigMap"), default=default
    )
    live = stored(manager.apply(None, config_map(a="1"), "one", FIRST))
    assert live["data"] == {"a": "1", "z": "default"}
    assert live["metadata"]["managedFields"][0]["fieldsV1"] == {"f:data": {"f:a": {}}}


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Oldest update entries are merged, owners in removed versions are dropped, and fields that became atomic "
    "are owned as a whole.",
)
def test_field_that_became_atomic_is_owned_as_a_whole() -> None:
    loose = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"map": STRINGS}}}}
    atomic = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"map": STRINGS | {"x-kubernetes-map-type": "atomic"}}}
        },
    }
    config = {"apiVersion": "g/v1", "kind": "Foo", "metadata": {"name": "a"}, "spec": {"map": {"a": "1"}}}
    before = FieldManager("g/v1", "Foo", schema_of=lambda _: custom_schema(loose))
    after = FieldManager("g/v1", "Foo", schema_of=lambda _: custom_schema(atomic))
    live = stored(before.apply(None, config, "one", FIRST))
    with pytest.raises(Refused) as refused:
        after.apply(live, config | {"spec": {"map": {"b": "1"}}}, "two", SECOND)
    assert refused.value.message == 'Apply failed with 1 conflict: conflict with "one": .spec.map'


STRINGS: dict[str, Any] = {"type": "object", "additionalProperties": {"type": "string"}}


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Oldest update entries are merged, owners in removed versions are dropped, and fields that became atomic "
    "are owned as a whole.",
)
def test_drops_owners_in_removed_versions() -> None:
    served: dict[str, Schema] = {}
    schema = custom_schema(
        {"type": "object", "properties": {"spec": {"type": "object", "properties": {"map": STRINGS}}}}
    )
    served |= {"g/v1": schema, "g/v2": schema}
    body = {"kind": "Foo", "metadata": {"name": "a"}, "spec": {"map": {"a": "1"}}}
    old = FieldManager("g/v1", "Foo", schema_of=served.get)
    new = FieldManager("g/v2", "Foo", schema_of=served.get)
    live = stored(old.apply(None, body | {"apiVersion": "g/v1"}, "one", FIRST)) | {"apiVersion": "g/v2"}
    del served["g/v1"]
    changed = body | {"apiVersion": "g/v2", "spec": {"map": {"a": "2"}}}
    assert [name for name, _, _ in entries(new.apply(live, changed, "two", SECOND))] == ["two"]


def test_invalid_managed_fields_reject_an_apply() -> None:
    manager = config_maps()
    live = stored(config_map(a="1"))
    live["metadata"]["managedFields"] = [{"manager": "x", "operation": "Guess"}]
    with pytest.raises(Refused, match="failed to decode managed fields: operation must be `Apply` or `Update`"):
        manager.apply(live, config_map(a="1"), "one", FIRST)


@pytest.mark.parametrize(
    ("kind", "subresource", "expected"),
    [
        ("Deployment", "", {"apps/v1": {"f:status": {}}}),
        ("Deployment", "status", {"apps/v1": {"f:spec": {}, "f:metadata": {"f:labels": {}}}}),
        ("Deployment", "scale", {}),
        ("ReplicaSet", "status", {"apps/v1": {"f:spec": {}}}),
    ],
)
def test_reset_fields_of_kinds(kind: str, subresource: str, expected: Any) -> None:
    assert reset_fields("apps/v1", kind, subresource, has_status=True) == expected


def test_rejects_excessive_nesting() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"a": deep}
    manager = widgets()
    with pytest.raises(Refused, match="nested too deeply"):
        manager.apply(None, widget({"free": deep}), "one", FIRST)
    with pytest.raises(Refused, match="nested too deeply"):
        manager.update(None, widget({"free": deep}), "one", FIRST)


# Invariants of arbitrary applies.

WIDGETS = custom_schema(VERSIONS["merge.example.com/v1"])
TEXTS = st.sampled_from(["1", "2"])
# An apply without any leaf leaves no owner, so the next one finds an object that no manager applied. An emptied list or
# map has no owner either (the tables show what the server does then).
SPECS = st.fixed_dictionaries(
    {"flag": st.just(True)},
    optional={
        "text": TEXTS,
        "replicas": st.integers(0, 2),
        "map": st.dictionaries(st.sampled_from("abc"), TEXTS, min_size=1, max_size=3),
        "atomicMap": st.dictionaries(st.sampled_from("ab"), TEXTS, max_size=2),
        "struct": st.fixed_dictionaries({"a": TEXTS}, optional={"b": TEXTS}),
        "list": st.lists(TEXTS, max_size=2),
        "set": st.lists(st.sampled_from("xyz"), min_size=1, max_size=3, unique=True),
        "items": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from("pqr")}, optional={"value": TEXTS, "other": TEXTS}),
            min_size=1,
            max_size=3,
            unique_by=lambda item: item["name"],
        ),
    },
)
APPLIES = st.lists(st.tuples(st.sampled_from(["one", "two", "three"]), SPECS, st.booleans()), min_size=1, max_size=6)


NOTHING = {"apiVersion": "merge.example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}


def widgets() -> FieldManager:
    return FieldManager("merge.example.com/v1", "Widget", schema_of=lambda version: WIDGETS)


def widget(spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "merge.example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec}


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Applied fields are set, applying again changes nothing, and fields without owners are removed.",
)
@PATIENT
@given(APPLIES)
def test_apply_is_complete_and_idempotent(
    applies: list[tuple[str, dict[str, Any], bool]],
) -> None:
    manager = widgets()
    live: dict[str, Any] | None = None
    for name, spec, force in applies:
        try:
            after = stored(manager.apply(live, widget(spec), name, FIRST, force=force))
        except Refused:
            if force:
                raise
            continue
        assert_contains(after["spec"], spec)
        assert same(after, manager.apply(after, widget(spec), name, SECOND))
        live = after


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Applied fields are set, applying again changes nothing, and fields without owners are removed.",
)
@PATIENT
@given(APPLIES)
def test_removes_fields_without_owner(applies: list[tuple[str, dict[str, Any], bool]]) -> None:
    manager = widgets()
    live: dict[str, Any] | None = None
    for name, spec, _ in applies:
        live = stored(manager.apply(live, widget(spec), name, FIRST, force=True))
    for name in ("one", "two", "three"):
        live = stored(manager.apply(live, NOTHING, name, SECOND))
    assert live is not None
    assert "spec" not in live
    assert entries(live) == []


def assert_contains(found: Any, wanted: Any) -> None:
    """Checks that maps contain the wanted members, lists the wanted elements, and that other values are equal."""
    if isinstance(wanted, dict):
        for name, value in wanted.items():
            if value not in ({}, []):
                assert_contains(found[name], value)
    elif isinstance(wanted, list):
        for element in wanted:
            if isinstance(element, dict):
                assert_contains(next(each for each in found if each["name"] == element["name"]), element)
            else:
                assert element in found
    else:
        assert found == wanted
