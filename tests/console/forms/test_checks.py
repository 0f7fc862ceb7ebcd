"""Validation of objects, with problems by field."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubewright.api import DecodeError
from kubewright.client import ApiError, BadRequest, Conflict, Forbidden, Invalid, Status
from kubewright.client.wire import error_from
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
from kubewright.console.kinds import DeclaredForm, declared_form
from tests.console.forms.kinds import EVERYTHING, an_object

FORM = form_for("Everything", EVERYTHING, namespaced=True)
CHECKER = Checker(FORM, namespaced=True)


def problems(value: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, str]:
    from kubewright.console.forms import format_path

    return {format_path(problem.path): problem.message for problem in CHECKER.check(value, old)}


def test_valid_object_has_no_problems() -> None:
    assert problems(an_object(tags=["a"], ports=[{"name": "web", "number": 80}], limits={"a.b/c": 1})) == {}


@pytest.mark.promise(
    "Forms of the console",
    "Problems are shown at their field during input, including CEL messages.",
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
def test_reports_problems_by_field(spec: dict[str, Any], place: str, message: str) -> None:
    assert problems(an_object(**spec)) == {place: message}


@pytest.mark.promise(
    "Forms of the console",
    "Problems are shown at their field during input, including CEL messages.",
)
def test_reports_cel_messages_at_rule_or_field_path() -> None:
    assert problems(an_object(size=6)) == {"spec": "a large one needs a reason"}
    assert problems(an_object(ratio=1.5)) == {"spec.ratio": "a ratio is at most 1"}


def test_checks_transition_rules_with_old_object() -> None:
    assert problems(an_object(fixed="b")) == {}
    assert problems(an_object(fixed="b"), an_object(fixed="a")) == {"spec.fixed": "is fixed for good"}
    assert problems(an_object(fixed="a"), an_object(fixed="a")) == {}


def test_name_and_kind_are_immutable() -> None:
    renamed = an_object("two", "elsewhere") | {"kind": "Other"}
    assert problems(renamed, an_object()) == {
        "kind": "cannot be changed",
        "metadata.name": "cannot be changed",
        "metadata.namespace": "cannot be changed",
    }


def test_accepts_generate_name() -> None:
    value = an_object()
    value["metadata"] = {"generateName": "one-", "namespace": "default"}
    assert problems(value) == {}


def test_validates_names_labels_and_annotations() -> None:
    value = an_object()
    value["metadata"] = {"name": "Bad Name", "labels": {"a b": "x", "ok": "not ok!"}, "annotations": {"n": 1}}
    found = problems(value)
    assert found["metadata.name"].startswith("a lowercase RFC 1123 subdomain must consist of")
    assert found["metadata.namespace"] == "is required"
    assert found["metadata.labels[a b]"].startswith("name part must consist of")
    assert found["metadata.labels.ok"].startswith("a valid label must be an empty string")
    assert found["metadata.annotations.n"] == "must be a string"
    value["metadata"] = {"namespace": "default"}
    assert problems(value) == {"metadata.name": "is required"}


def test_missing_name_does_not_hide_other_problems() -> None:
    value = an_object(size=6)
    value["metadata"] = {}
    assert problems(value)["spec"] == "a large one needs a reason"


def test_accepts_preserved_unknown_fields() -> None:
    assert problems(an_object(open={"known": "a", "more": 1}, nested={"anything": {"x": [1]}})) == {}


def test_validates_metadata_without_schema() -> None:
    form = form_for("Blob", None, namespaced=False)
    assert Checker(form, namespaced=False).check({"metadata": {}, "data": {"a": 1}}) == [
        Problem(("metadata", "name"), "is required")
    ]


# Rejections by the server


def invalid(*causes: dict[str, str]) -> ApiError:
    import msgspec

    body = {"kind": "Status", "code": 422, "reason": "Invalid", "message": "no", "details": {"causes": list(causes)}}
    return error_from(422, {}, msgspec.json.encode(body), request="create everythings")


@pytest.mark.promise(
    "Forms of the console",
    "The server's rejections are shown at the fields that they name, with the webhook or policy that denied the write.",
)
def test_maps_causes_to_fields() -> None:
    error = invalid(
        {"field": "spec.ports[1].number", "message": "Invalid value: 0"},
        {"field": "spec.limits[a.b/c]", "message": "Invalid value: -1"},
        {"field": "<nil>", "message": "something as a whole"},
        {"field": "spec.unheard.of", "message": "what?"},
    )
    value = an_object(ports=[{"name": "a"}, {"name": "b"}], limits={"a.b/c": -1})
    rejection = explain_rejection(error, FORM, value)
    assert rejection.title == "The server rejected this object."
    assert rejection.problems == [
        Problem(("spec", "ports", 1, "number"), "Invalid value: 0"),
        Problem(("spec", "limits", "a.b/c"), "Invalid value: -1"),
        Problem((), "something as a whole"),
        Problem(("spec",), "spec.unheard.of: what?"),
    ]


def test_maps_unknown_fields_from_message() -> None:
    error = BadRequest(Status(code=400, message='strict decoding error: unknown field "spec.nonsense"'))
    rejection = explain_rejection(error, FORM, an_object(nonsense=1))
    assert rejection.problems == [Problem(("spec", "nonsense"), "is not a field of this kind")]


@pytest.mark.parametrize(
    ("message", "title"),
    [
        (
            'admission webhook "check.example.com" denied the request: no digits left',
            "The admission webhook check.example.com denied this change: no digits left",
        ),
        (
            "one is forbidden: ValidatingAdmissionPolicy 'small' with binding 'small' denied request: too big",
            "The policy small denied this change: too big",
        ),
        (
            "everythings is forbidden: User",
            "You are not allowed to do this (create everythings): everythings is forbidden: User",
        ),
    ],
)
def test_names_the_denying_webhook_or_policy(message: str, title: str) -> None:
    error = Forbidden(Status(code=403, reason="Forbidden", message=message))
    error.verb, error.resource = "create", "everythings"
    assert explain_rejection(error, FORM, an_object()).title == title


def test_explains_other_errors() -> None:
    assert "changed in the meantime" in explain_rejection(Conflict(Status(code=409, message="x")), FORM, {}).title
    assert (
        "This is not a valid object"
        in explain_rejection(DecodeError("Everything one", "metadata.labels", "expected a text"), FORM, {}).title
    )
    assert "rejected this object: odd" in explain_rejection(Invalid(Status(code=422, message="odd")), FORM, {}).title


# Initial values


def test_new_object_has_required_fields() -> None:
    assert minimal_object("forms.example.com/v1", "Everything", FORM, "default") == {
        "apiVersion": "forms.example.com/v1",
        "kind": "Everything",
        "metadata": {"name": "", "namespace": "default"},
        "spec": {"title": "", "size": 1},
    }


def test_new_object_omits_defaults() -> None:
    spec = {"type": "object", "default": {"size": 1}, "properties": {"size": {"type": "integer", "default": 1}}}
    form = form_for("Mild", {"type": "object", "properties": {"spec": spec}}, namespaced=False)
    assert minimal_object("a/v1", "Mild", form, None)["spec"] == {}


def test_embedded_metadata_needs_no_name() -> None:
    meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    reference = {"allOf": [{"$ref": f"#/components/schemas/{meta}"}], "default": {}}
    itself = {"$ref": "#/components/schemas/Outer"}
    outer = {"type": "object", "properties": {"metadata": reference, "inner": reference, "again": itself}}
    schema = inline_references({"Outer": outer, meta: {"type": "object"}}, "Outer")
    form = form_for("Outer", schema, namespaced=False)
    value = {"metadata": {"name": "x"}, "inner": {"labels": {"a": "b"}, "finalizers": ["c"]}, "again": {"any": 1}}
    assert Checker(form, namespaced=False).check(value) == []
    assert form.members["again"].shape == "yaml"  # a recursive definition is edited as YAML


def test_examples_come_from_definition_or_olm() -> None:
    whole = {"apiVersion": "a/v1", "kind": "A", "spec": {"x": 1}}
    assert schema_example({"example": whole}) == whole
    assert schema_example({"properties": {"spec": {"example": {"x": 1}}}}) == {"spec": {"x": 1}}
    assert schema_example({"properties": {}}) is None
    assert olm_examples(['[{"apiVersion": "a/v1", "kind": "A"}, {"kind": "B"}, 3]', "no json"], "a/v1", "A") == [
        {"apiVersion": "a/v1", "kind": "A"}
    ]


def test_new_object_guesses_no_number_and_no_choice() -> None:
    properties = {
        "version": {"type": "string", "enum": ["9.6", "17", "16"]},
        "instances": {"type": "integer", "minimum": 0},
        "parts": {"type": "integer", "minimum": 3},
        "only": {"type": "string", "enum": ["one"]},
        "volume": {"type": "object", "properties": {"size": {"type": "string"}}},
    }
    spec = {"type": "object", "required": ["version", "instances", "parts", "only"], "properties": properties}
    form = form_for("Boat", {"type": "object", "properties": {"spec": spec}}, namespaced=False)
    assert minimal_object("a/v1", "Boat", form, None)["spec"] == {"parts": 3, "only": "one"}
    annotation = {
        "initial": {".spec.instances": 2, ".spec.volume.size": "1Gi", ".spec.gone": 1, ".spec.version.no": 1},
        "newest": [".spec.version", ".spec.instances"],
    }
    declared = declared_form(_annotated(json.dumps(annotation)))
    assert minimal_object("a/v1", "Boat", form, None, declared)["spec"] == {
        "parts": 3,
        "only": "one",
        "instances": 2,
        "volume": {"size": "1Gi"},
        "version": "17",
    }


def _annotated(text: str) -> dict[str, Any]:
    return {"metadata": {"annotations": {"console.kubewright.dev/form": text}}}


def test_definition_declares_confirmation_of_deletion() -> None:
    declared = declared_form(_annotated('{"confirm_deletion": "namespace/name"}'))
    assert declared.confirm_deletion == "namespace/name"
    assert DeclaredForm().confirm_deletion == "name"


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        '{"initial": []}',
        '{"confirm_deletion": "uid"}',
        '{"newest": ["spec.version"]}',
        '{"labels": {".metadata.name": "Name"}}',
        '{"sections": [{"title": "A", "fields": [".spec.list[0]"]}]}',
        '{"labels": {".spec.a": "' + "x" * 70_000 + '"}}',
        '{"initial": {".spec.a": ' + "[" * 20_000 + "}}",
    ],
)
def test_invalid_form_of_a_definition_counts_as_absent(text: str) -> None:
    assert declared_form(_annotated(text)) == DeclaredForm()
