"""What only the schema can say: `Schema`, `Format(None)`, `Nullable(False)`, columns that are not checked."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

import kubewright as kw
from kubewright.api import JSON
from kubewright.crd import crd_of, schema_of


def field(hint: Any, default: Any = ...) -> dict[str, Any]:
    """The schema of a field."""
    body: dict[str, Any] = {"__annotations__": {"value": hint}}
    if default is not ...:
        body["value"] = default
    metaclass: Any = type(kw.Model)
    found: dict[str, Any] = schema_of(metaclass("Spec", (kw.Model,), body))["properties"]["value"]
    return found


def test_a_schema_adds_replaces_and_takes_away() -> None:
    hint = Annotated[int, kw.Range(1), kw.Schema({"format": None, "minimum": 2, "x-more": [1]})]
    assert field(hint) == {"type": "integer", "minimum": 2, "x-more": [1]}


def test_a_schema_has_the_last_word_also_about_null_defaults_and_elements() -> None:
    assert field(Annotated[int | None, kw.Schema({"nullable": None})]) == {"type": "integer", "format": "int64"}
    assert field(Annotated[str, kw.Schema({"default": "b"})], "a") == {"type": "string", "default": "b"}
    assert field(list[Annotated[str, kw.Schema({"x-a": 1})]])["items"] == {"type": "string", "x-a": 1}


def test_a_schema_of_a_model_changes_properties_one_by_one() -> None:
    @kw.constrain(kw.Schema({"properties": {"a": {"x-a": 1}, "b": None}, "required": None}))
    class Pair(kw.Model):
        a: str
        b: str
        c: bool

    assert schema_of(Pair) == {
        "type": "object",
        "properties": {"a": {"type": "string", "x-a": 1}, "c": {"type": "boolean"}},
    }


def test_a_schema_of_a_kind_reaches_its_metadata() -> None:
    name = {"properties": {"name": {"type": "string", "maxLength": 9}}}

    @kw.resource("example.com/v1")
    @kw.constrain(kw.Schema({"properties": {"metadata": name}}))
    class Short(kw.Object):
        pass

    assert schema_of(Short)["properties"]["metadata"] == {"type": "object", **name}


@pytest.mark.parametrize("members", [{}, [], {1: 2}])
def test_rejects_schema_without_members(members: Any) -> None:
    with pytest.raises(ValueError, match="Schema needs a dict of schema members by name"):
        kw.Schema(members)


def test_a_number_may_be_without_format() -> None:
    assert field(Annotated[int, kw.Format(None)]) == {"type": "integer"}
    assert field(Annotated[float, kw.Format(None)]) == {"type": "number"}


def test_json_may_refuse_null_and_nothing_else_needs_to() -> None:
    keep = {"x-kubernetes-preserve-unknown-fields": True}
    assert field(Annotated[JSON, kw.Nullable(False)]) == keep
    assert field(Annotated[dict[str, JSON], kw.PreserveUnknown()]) == {"type": "object", **keep}
    with pytest.raises(TypeError, match=r"Spec.value: Nullable\(False\) is for JSON"):
        field(Annotated[str, kw.Nullable(False)])


def test_unchecked_column_needs_a_type() -> None:
    @kw.resource("example.com/v1", columns={"Last": kw.Column(".status.all[-1:].name", type="string", checked=False)})
    class Shown(kw.Resource[None, None]):
        pass

    (column,) = crd_of(Shown).spec.versions[0].additional_printer_columns or []
    assert (column.json_path, column.type) == (".status.all[-1:].name", "string")
    with pytest.raises(ValueError, match="needs a type, because its path is not checked"):
        kw.Column(".a", checked=False)


def test_checks_patterns_that_only_go_can_read() -> None:
    class Spec(kw.Model):
        name: Annotated[str, kw.Schema({"pattern": r"^\p{L}+$", "maxLength": 3})]

    @kw.resource("example.com/v1")
    class Named(kw.Resource[Spec, None]):
        pass

    kw.validate(Named(spec=Spec(name="é")))
    with pytest.raises(kw.ValidationError, match="must match"):
        kw.validate(Named(spec=Spec(name="1")))
    with pytest.raises(kw.ValidationError, match="at most 3 characters"):
        kw.validate(Named(spec=Spec(name="1234")))
