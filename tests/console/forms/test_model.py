"""Fields, documents and values: the model of a form."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.console.forms import (
    MISSING,
    Document,
    Field,
    Path,
    form_for,
    format_path,
    format_value,
    locate,
    parse_value,
    value_at,
)
from tests.console.forms.kinds import EVERYTHING, an_object

FORM = form_for("Everything", EVERYTHING, namespaced=True)


def field(text: str) -> Field:
    """Returns the field at a path such as `spec.ports[0].name`."""
    path, rest = locate(text, FORM, {})
    found = FORM.find(path)
    assert found is not None, (text, path, rest)
    return found


@pytest.mark.parametrize(
    ("place", "shape"),
    [
        ("spec", "object"),
        ("spec.title", "text"),
        ("spec.size", "integer"),
        ("spec.ratio", "number"),
        ("spec.enabled", "boolean"),
        ("spec.color", "choice"),
        ("spec.port", "int-or-string"),
        ("spec.tags", "list"),
        ("spec.tags[0]", "text"),
        ("spec.ports[3].hosts[1]", "text"),
        ("spec.limits", "map"),
        ("spec.limits[a.b/c]", "integer"),
        ("spec.nested.anything", "yaml"),
        ("metadata.labels", "map"),
    ],
)
def test_each_field_has_a_shape(place: str, shape: str) -> None:
    assert field(place).shape == shape


def test_required_fields_come_first() -> None:
    assert list(field("spec").members)[:3] == ["title", "size", "reason"]
    assert field("spec.title").required
    assert not field("spec.reason").required


def test_hint_describes_constraints() -> None:
    assert field("spec.size").hint == "1 to 10"
    assert field("spec.title").hint == "2 to 20 characters · matches ^[a-z]"
    assert field("spec.step").hint == "a multiple of 5"
    assert field("spec.tags").hint == "at most 3 elements · unique elements"
    assert Field("x", {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}).hint == (
        "exactly one of a, b"
    )


def test_rule_makes_field_immutable() -> None:
    assert field("spec.fixed").is_immutable
    assert not field("spec.title").is_immutable
    rules = [{"rule": "self.a == oldSelf.a"}]
    node = {"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": rules}
    assert Field("x", node).members["a"].is_immutable


def test_kind_without_schema_has_metadata_form() -> None:
    form = form_for("Blob", None, namespaced=False)
    assert list(form.members) == ["metadata"]
    assert list(form.members["metadata"].members) == ["name", "labels", "annotations"]
    assert form.preserves_unknown


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("spec.ports[0].name", ("spec", "ports", 0, "name")),
        ("metadata.labels[a.b/c]", ("metadata", "labels", "a.b/c")),
        ("metadata.labels.a.b/c", ("metadata", "labels", "a.b/c")),
        ('spec.limits["x.y"]', ("spec", "limits", "x.y")),
        ("spec.limits.plain", ("spec", "limits", "plain")),
        (".spec.size", ("spec", "size")),
        ("spec.groups[a.b/c][1]", ("spec", "groups", "a.b/c", 1)),
        ("", ()),
    ],
)
def test_locates_fields_that_a_server_names(text: str, path: Path) -> None:
    value = {"metadata": {"labels": {"a.b/c": "1"}}, "spec": {"groups": {"a.b/c": ["x", "y"]}}}
    assert locate(text, FORM, value) == (path, "")


def test_locates_unknown_fields_as_deep_as_possible() -> None:
    assert locate("spec.size.unit", FORM, {"spec": {"size": 1}}) == (("spec", "size"), ".unit")
    path, rest = locate("spec.nothing.at.all", FORM, {})
    assert (path, rest) == (("spec",), ".nothing.at.all")
    assert format_path(("spec", "ports", 0, "name")) == "spec.ports[0].name"
    assert format_path(("metadata", "labels", "a.b/c")) == "metadata.labels[a.b/c]"


# Documents


@pytest.mark.promise(
    "Forms of the console",
    "A form writes only what was edited; absent, null and empty are distinct.",
)
def test_absent_null_and_empty_are_distinct() -> None:
    document = Document({"spec": {"a": None, "b": ""}})
    assert document.get(("spec", "a")) is None
    assert document.get(("spec", "b")) == ""
    assert document.get(("spec", "c")) is MISSING
    document.remove(("spec", "a"))
    assert document.value == {"spec": {"b": ""}}


def test_removes_created_parents_with_their_last_child() -> None:
    document = Document({"spec": {}})
    document.put(("spec", "nested", "inner", "deep"), "x")
    assert document.value == {"spec": {"nested": {"inner": {"deep": "x"}}}}
    document.remove(("spec", "nested", "inner", "deep"))
    assert document.value == {"spec": {}}


def test_keeps_existing_parents() -> None:
    document = Document({"spec": {"nested": {"inner": {"deep": "x"}}}})
    document.remove(("spec", "nested", "inner", "deep"))
    assert document.value == {"spec": {"nested": {"inner": {}}}}


def test_edits_lists_and_maps() -> None:
    document = Document({})
    assert document.add(("tags",), "a") == ("tags", 0)
    assert document.add(("tags",), "b") == ("tags", 1)
    document.move(("tags", 1), 0)
    assert document.value == {"tags": ["b", "a"]}
    document.put(("limits", "x"), 1)
    document.put(("limits", "y"), 2)
    assert document.rename(("limits", "x"), "z")
    assert list(document.value["limits"].items()) == [("z", 1), ("y", 2)]
    assert not document.rename(("limits", "z"), "y")
    document.remove(("tags", 0))
    assert document.value["tags"] == ["a"]
    with pytest.raises(LookupError, match=r"tags\[5\]"):
        document.put(("tags", 5), "far")


def test_document_copies_its_input() -> None:
    given_ = {"spec": {"tags": ["a"]}}
    document = Document(given_)
    document.add(("spec", "tags"), "b")
    assert given_ == {"spec": {"tags": ["a"]}}


names = st.sampled_from(["title", "size", "reason", "port", "x.y", "é"])
json_values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.promise(
    "Forms of the console",
    "A form writes only what was edited; absent, null and empty are distinct.",
)
@settings(deadline=None)  # the machine may be busy
@given(
    st.dictionaries(names, json_values, max_size=4),
    st.lists(st.tuples(st.sampled_from(["put", "remove", "add"]), st.lists(names, min_size=1, max_size=3)), max_size=6),
)
def test_edits_leave_other_parts_untouched(untouched: dict[str, Any], edits: list[tuple[str, list[str]]]) -> None:
    value = {"metadata": {"name": "x"}, "status": untouched, "spec": {"other": untouched}}
    document = Document(value)
    for verb, steps in edits:
        path: Path = ("spec", "mine", *steps)
        try:
            if verb == "put":
                document.put(path, 1)
            elif verb == "add":
                document.add(path, "element")
            else:
                document.remove(path)
        except LookupError:
            continue  # for example below a string
    assert document.value["status"] == untouched
    assert document.value["spec"]["other"] == untouched
    assert document.value["metadata"] == {"name": "x"}


@pytest.mark.promise(
    "Forms of the console",
    "A form writes only what was edited; absent, null and empty are distinct.",
)
@settings(deadline=None)  # the machine may be busy
@given(st.lists(names, min_size=1, max_size=4), json_values)
def test_put_and_remove_leave_no_trace(steps: list[str], value: Any) -> None:
    before = an_object()
    document = Document(before)
    path: Path = ("spec", "nested", *steps)
    document.put(path, value)
    assert document.get(path) == value
    document.remove(path)
    assert document.value == before


# Values


@pytest.mark.promise("Forms of the console", "Values that are not edited round-trip through a form unchanged.")
@settings(deadline=None)  # the machine may be busy
@given(st.sampled_from(["text", "integer", "number", "int-or-string"]), st.data())
def test_values_round_trip_through_widgets(shape: str, data: st.DataObject) -> None:
    schemas: dict[str, dict[str, Any]] = {
        "text": {"type": "string"},
        "integer": {"type": "integer"},
        "number": {"type": "number"},
        "int-or-string": {"x-kubernetes-int-or-string": True},
    }
    possible: Any = {
        "text": st.text(),
        "integer": st.integers(-(2**63), 2**63 - 1) | st.text(max_size=6),
        "number": st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
        "int-or-string": st.integers() | st.text(max_size=6) | st.sampled_from(["80", "080", '"', '"x"', " 8", "1e3"]),
    }[shape]
    value = data.draw(possible)
    one = Field("x", schemas[shape])
    back = parse_value(one, format_value(one, value))
    assert back == value
    assert isinstance(back, str) == isinstance(value, str)


def test_parses_input_as_users_expect() -> None:
    assert parse_value(field("spec.port"), "80") == 80
    assert parse_value(field("spec.port"), '"80"') == "80"
    assert parse_value(field("spec.port"), "http") == "http"
    assert parse_value(field("spec.size"), "many") == "many"  # the checker reports the problem
    assert parse_value(field("spec.ratio"), "0.5") == 0.5
    assert parse_value(field("spec.title"), "12") == "12"


def test_reading_a_path_changes_nothing() -> None:
    value: dict[str, Any] = an_object(tags=["a"])
    before = copy.deepcopy(value)
    assert value_at(value, ("spec", "tags", 0)) == "a"
    assert value_at(value, ("spec", "tags", 1)) is MISSING
    assert value_at(value, ("spec", "title", "x")) is MISSING
    assert value == before
