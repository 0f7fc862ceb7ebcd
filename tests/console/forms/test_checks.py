"""What is wrong with an object, each problem at its place."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.api import DecodeError
from kubewright.client import ApiError, BadRequest, Conflict, Forbidden, Invalid, Status
from kubewright.client._errors import error_from
from kubewright.console.forms import (
    Checker,
    Problem,
    explain_rejection,
    form_for,
    inline_references,
    minimal_object,
    olm_examples,
    schema_example,
)
from tests.console.forms.kinds import EVERYTHING, an_object

FORM = form_for("Everything", EVERYTHING, namespaced=True)
CHECKER = Checker(FORM, namespaced=True)


def told(value: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, str]:
    from kubewright.console.forms import format_path

    return {format_path(problem.path): problem.message for problem in CHECKER.check(value, old)}


def test_an_object_without_faults_has_no_problems() -> None:
    assert told(an_object(tags=["a"], ports=[{"name": "web", "number": 80}], limits={"a.b/c": 1})) == {}


@pytest.mark.promise(
    "Forms of the console",
    "What is wrong is told at its field while somebody types, CEL messages too.",
)
@pytest.mark.parametrize(
    ("spec", "place", "message"),
    [
        ({"size": 11}, "spec.size", "must be at most 10, not 11"),
        ({"size": "many"}, "spec.size", "must be an integer, not a string"),
        ({"title": "x"}, "spec.title", "must have at least 2 characters, not 1"),
        ({"step": 7}, "spec.step", "must be a multiple of 5, as 7 is not"),
        ({"color": "pink"}, "spec.color", 'must be one of "red", "green", "<b>blue</b>", not "pink"'),
        ({"tags": ["a", "a"]}, "spec.tags[1]", 'is a duplicate: "a"'),
        ({"ports": [{"number": 1}]}, "spec.ports[0].name", "is required"),
        ({"limits": {"a.b/c": -1}}, "spec.limits[a.b/c]", "must be at least 0, not -1"),
        (
            {"nested": {"inner": {"deep": "too long"}}},
            "spec.nested.inner.deep",
            "must have at most 5 characters, not 8",
        ),
        ({"nonsense": 1}, "spec.nonsense", "is not a field of this kind"),
    ],
)
def test_each_problem_is_at_its_field(spec: dict[str, Any], place: str, message: str) -> None:
    assert told(an_object(**spec)) == {place: message}


@pytest.mark.promise(
    "Forms of the console",
    "What is wrong is told at its field while somebody types, CEL messages too.",
)
def test_cel_messages_are_where_their_rules_or_their_field_paths_are() -> None:
    assert told(an_object(size=6)) == {"spec": "a large one needs a reason"}
    assert told(an_object(ratio=1.5)) == {"spec.ratio": "a ratio is at most 1"}


def test_rules_about_changes_are_asked_when_there_was_an_object() -> None:
    assert told(an_object(fixed="b")) == {}
    assert told(an_object(fixed="b"), an_object(fixed="a")) == {"spec.fixed": "is fixed for good"}
    assert told(an_object(fixed="a"), an_object(fixed="a")) == {}


def test_an_object_keeps_its_name_and_its_kind() -> None:
    renamed = an_object("two", "elsewhere") | {"kind": "Other"}
    assert told(renamed, an_object()) == {
        "kind": "cannot be changed",
        "metadata.name": "cannot be changed",
        "metadata.namespace": "cannot be changed",
    }


def test_a_name_may_be_left_to_the_server() -> None:
    value = an_object()
    value["metadata"] = {"generateName": "one-", "namespace": "default"}
    assert told(value) == {}


def test_names_labels_and_annotations_have_the_rules_of_kubernetes() -> None:
    value = an_object()
    value["metadata"] = {"name": "Bad Name", "labels": {"a b": "x", "ok": "not ok!"}, "annotations": {"n": 1}}
    found = told(value)
    assert found["metadata.name"].startswith("a lowercase RFC 1123 subdomain must consist of")
    assert found["metadata.namespace"] == "is required"
    assert found["metadata.labels[a b]"].startswith("name part must consist of")
    assert found["metadata.labels.ok"].startswith("a valid label must be an empty string")
    assert found["metadata.annotations.n"] == "must be a text"
    value["metadata"] = {"namespace": "default"}
    assert told(value) == {"metadata.name": "is required"}


def test_a_missing_name_does_not_hide_what_rules_say() -> None:
    value = an_object(size=6)
    value["metadata"] = {}
    assert told(value)["spec"] == "a large one needs a reason"


def test_what_may_be_unknown_is_no_problem() -> None:
    assert told(an_object(open={"known": "a", "more": 1}, nested={"anything": {"x": [1]}})) == {}


def test_a_kind_without_a_schema_checks_its_metadata() -> None:
    form = form_for("Blob", None, namespaced=False)
    assert Checker(form, namespaced=False).check({"metadata": {}, "data": {"a": 1}}) == [
        Problem(("metadata", "name"), "is required")
    ]


# A server that refuses


def invalid(*causes: dict[str, str]) -> ApiError:
    import msgspec

    body = {"kind": "Status", "code": 422, "reason": "Invalid", "message": "no", "details": {"causes": list(causes)}}
    return error_from(422, {}, msgspec.json.encode(body), request="create everythings")


@pytest.mark.promise(
    "Forms of the console",
    "What the server refuses is told at the field that it names; who denies is named.",
)
def test_the_causes_of_a_refusal_are_at_their_fields() -> None:
    error = invalid(
        {"field": "spec.ports[1].number", "message": "Invalid value: 0"},
        {"field": "spec.limits[a.b/c]", "message": "Invalid value: -1"},
        {"field": "<nil>", "message": "something as a whole"},
        {"field": "spec.unheard.of", "message": "what?"},
    )
    value = an_object(ports=[{"name": "a"}, {"name": "b"}], limits={"a.b/c": -1})
    rejection = explain_rejection(error, FORM, value)
    assert rejection.title == "The server refuses this object."
    assert rejection.problems == [
        Problem(("spec", "ports", 1, "number"), "Invalid value: 0"),
        Problem(("spec", "limits", "a.b/c"), "Invalid value: -1"),
        Problem((), "something as a whole"),
        Problem(("spec",), "spec.unheard.of: what?"),
    ]


def test_unknown_fields_are_read_from_the_servers_message() -> None:
    error = BadRequest(Status(code=400, message='strict decoding error: unknown field "spec.nonsense"'))
    rejection = explain_rejection(error, FORM, an_object(nonsense=1))
    assert rejection.problems == [Problem(("spec", "nonsense"), "is not a field of this kind")]


@pytest.mark.parametrize(
    ("message", "title"),
    [
        (
            'admission webhook "check.example.com" denied the request: no digits left',
            "The admission webhook check.example.com refuses this: no digits left",
        ),
        (
            "one is forbidden: ValidatingAdmissionPolicy 'small' with binding 'small' denied request: too big",
            "The policy small refuses this: too big",
        ),
        ("everythings is forbidden: User", "You may not do this (create everythings): everythings is forbidden: User"),
    ],
)
def test_who_refuses_is_named(message: str, title: str) -> None:
    error = Forbidden(Status(code=403, reason="Forbidden", message=message))
    error.verb, error.resource = "create", "everythings"
    assert explain_rejection(error, FORM, an_object()).title == title


def test_other_failures_say_what_to_do() -> None:
    assert "changed meanwhile" in explain_rejection(Conflict(Status(code=409, message="x")), FORM, {}).title
    assert (
        "This is not an object"
        in explain_rejection(DecodeError("Everything one", "metadata.labels", "expected a text"), FORM, {}).title
    )
    assert "refuses this object: odd" in explain_rejection(Invalid(Status(code=422, message="odd")), FORM, {}).title


# Samples


def test_a_new_object_has_what_is_required() -> None:
    assert minimal_object("forms.example.com/v1", "Everything", FORM, "default") == {
        "apiVersion": "forms.example.com/v1",
        "kind": "Everything",
        "metadata": {"name": "", "namespace": "default"},
        "spec": {"title": "", "size": 1},
    }


def test_defaults_are_left_to_the_server() -> None:
    spec = {"type": "object", "default": {"size": 1}, "properties": {"size": {"type": "integer", "default": 1}}}
    form = form_for("Mild", {"type": "object", "properties": {"spec": spec}}, namespaced=False)
    assert minimal_object("a/v1", "Mild", form, None)["spec"] == {}


def test_metadata_inside_an_object_needs_no_name() -> None:
    meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    reference = {"allOf": [{"$ref": f"#/components/schemas/{meta}"}], "default": {}}
    itself = {"$ref": "#/components/schemas/Outer"}
    outer = {"type": "object", "properties": {"metadata": reference, "inner": reference, "again": itself}}
    schema = inline_references({"Outer": outer, meta: {"type": "object"}}, "Outer")
    form = form_for("Outer", schema, namespaced=False)
    value = {"metadata": {"name": "x"}, "inner": {"labels": {"a": "b"}, "finalizers": ["c"]}, "again": {"any": 1}}
    assert Checker(form, namespaced=False).check(value) == []
    assert form.members["again"].shape == "yaml"  # what contains itself is no form


def test_examples_come_from_the_definition_or_from_olm() -> None:
    whole = {"apiVersion": "a/v1", "kind": "A", "spec": {"x": 1}}
    assert schema_example({"example": whole}) == whole
    assert schema_example({"properties": {"spec": {"example": {"x": 1}}}}) == {"spec": {"x": 1}}
    assert schema_example({"properties": {}}) is None
    assert olm_examples(['[{"apiVersion": "a/v1", "kind": "A"}, {"kind": "B"}, 3]', "no json"], "a/v1", "A") == [
        {"apiVersion": "a/v1", "kind": "A"}
    ]
