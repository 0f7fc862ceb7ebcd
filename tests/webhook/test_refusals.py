"""What refusals say."""

from __future__ import annotations

import pytest

import kubewright as kw
from kubewright.api import ValidationError, Violation
from kubewright.webhook import FieldError, Refused
from kubewright.webhook.reviews import status_of


@pytest.mark.promise(
    "Webhooks",
    "All errors of an object are reported together, each with its field, in the wording of Kubernetes.",
)
@pytest.mark.parametrize(
    ("error", "text", "reason"),
    [
        (FieldError("spec.a", "must be odd"), "spec.a: must be odd", "FieldValueInvalid"),
        (FieldError("", "odd"), "odd", "FieldValueInvalid"),
        (FieldError.invalid("spec.a", 11, "too large"), "spec.a: Invalid value: 11: too large", "FieldValueInvalid"),
        (FieldError.invalid("spec.a", "b", "no"), 'spec.a: Invalid value: "b": no', "FieldValueInvalid"),
        (FieldError.required("spec.a"), "spec.a: Required value", "FieldValueRequired"),
        (FieldError.required("spec.a", "so it is"), "spec.a: Required value: so it is", "FieldValueRequired"),
        (FieldError.forbidden("spec.a", "never"), "spec.a: Forbidden: never", "FieldValueForbidden"),
        (
            FieldError.unsupported("spec.a", "x", ["y", "z"]),
            'spec.a: Unsupported value: "x": supported values: "y", "z"',
            "FieldValueNotSupported",
        ),
        (FieldError.duplicate("spec.a[1]", "x"), 'spec.a[1]: Duplicate value: "x"', "FieldValueDuplicate"),
        (FieldError.not_found("spec.a", "x"), 'spec.a: Not found: "x"', "FieldValueNotFound"),
    ],
)
def test_field_errors_read_as_those_of_kubernetes(error: FieldError, text: str, reason: str) -> None:
    assert str(error) == text
    assert error.reason == reason


def test_truncates_long_value() -> None:
    assert len(str(FieldError.invalid("spec.a", "x" * 100_000, "long"))) < 300


def test_a_value_may_be_a_part_of_an_object() -> None:
    class Part(kw.Model):
        some_name: int = 1

    assert str(FieldError.invalid("spec.a", Part(), "no")) == 'spec.a: Invalid value: {"someName":1}: no'


def test_several_fields_become_causes_of_one_status() -> None:
    refused = Refused(FieldError.required("spec.a"), FieldError.invalid("spec.b", 1, "odd"))
    assert status_of(refused, group="example.com", kind="Foo", name="x") == {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": 'Foo.example.com "x" is invalid: [spec.a: Required value, spec.b: Invalid value: 1: odd]',
        "details": {
            "name": "x",
            "group": "example.com",
            "kind": "Foo",
            "causes": [
                {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.a"},
                {"reason": "FieldValueInvalid", "message": "Invalid value: 1: odd", "field": "spec.b"},
            ],
        },
    }


def test_without_fields_it_is_forbidden_unless_a_code_is_given() -> None:
    expected = {"status": "Failure", "code": 403, "reason": "Forbidden", "message": "not on Fridays"}
    assert status_of(Refused("not on Fridays"), group="", kind="Pod", name="x") == expected
    assert status_of(Refused("wait", code=429), group="", kind="Pod", name="x")["reason"] == "TooManyRequests"
    assert status_of(Refused("teapot", code=418), group="", kind="Pod", name="x")["reason"] == "Unknown"


def test_rejects_with_every_violated_rule() -> None:
    found = Refused.of(ValidationError("Foo x", [Violation("spec.a", "should be less"), Violation("spec.b", "odd")]))
    assert found.code == 422
    assert str(found) == "spec.a: should be less; spec.b: odd"


def test_refused_requires_reason_and_error_code() -> None:
    with pytest.raises(TypeError, match="Refused needs a reason"):
        Refused()
    with pytest.raises(ValueError, match="from 400 to 599, not 200"):
        Refused("no", code=200)
    with pytest.raises(TypeError, match="code of Refused must be a number from 400 to 599, not '403'"):
        Refused("no", code="403")  # type: ignore[arg-type]


def test_unsupported_rejects_a_string_of_values() -> None:
    with pytest.raises(TypeError, match=r"unsupported takes a list of the supported values, \['abc'\]"):
        FieldError.unsupported("spec.x", 5, "abc")
