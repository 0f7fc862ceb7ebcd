"""Definitions as they are found: v1, v1beta1, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubewright.codegen import CodegenError, read_definition
from tests.codegen.round_trip import definition, differences, made_of, thing

TEXT = {"type": "string"}
SCHEMA = thing({"type": "object", "properties": {"name": TEXT}}, status={"type": "object", "properties": {"n": TEXT}})


def old_definition(**spec: Any) -> dict[str, Any]:
    """As they were written before apiextensions v1."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "version": "v1",
            "names": {"kind": "Thing", "plural": "things"},
            "validation": {"openAPIV3Schema": SCHEMA},
            "additionalPrinterColumns": [{"name": "Name", "type": "string", "JSONPath": ".spec.name"}],
            "subresources": {"status": {}},
            "preserveUnknownFields": False,
        }
        | spec,
    }


@pytest.mark.promise("Types from definitions", "Definitions of v1beta1 are read as their new form.")
def test_an_old_definition_is_read_as_its_new_form() -> None:
    column = {"name": "Name", "type": "string", "jsonPath": ".spec.name"}
    new = definition(SCHEMA, additionalPrinterColumns=[column], subresources={"status": {}})
    assert read_definition(old_definition(), "a") == read_definition(new, "a")


def test_v1beta1_shares_fields_between_versions() -> None:
    other = {"openAPIV3Schema": thing({"type": "object"})}
    versions = [
        {"name": "v1", "served": True, "storage": True},
        {"name": "v2", "served": False, "storage": False, "schema": other, "additionalPrinterColumns": []},
    ]
    first, second = read_definition(old_definition(versions=versions), "a").versions
    assert (first.schema["properties"]["spec"], second.schema["properties"]["spec"]) == (
        {"type": "object", "properties": {"name": TEXT}},
        {"type": "object"},
    )
    assert (first.has_status, second.has_status, second.served) == (True, True, False)


@pytest.mark.parametrize(
    "changes", [{"preserveUnknownFields": True}, {"preserveUnknownFields": None}, {"validation": None}]
)
def test_v1beta1_preserves_unknown_fields_by_default(changes: dict[str, Any], tmp_path: Path) -> None:
    old = old_definition(**{name: value for name, value in changes.items() if value is not None})
    for name, value in changes.items():
        if value is None:
            del old["spec"][name]
    kind, made = made_of(old, tmp_path)
    assert kind.versions[0].schema["x-kubernetes-preserve-unknown-fields"] is True
    assert differences(kind, [made]) == []


@pytest.mark.promise("Types from definitions", "A schema that is not structural is refused, with the place.")
@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"properties": {}}, "Thing v1: the type is missing. The API server would reject this schema"),
        (thing({"properties": {"a": TEXT}}), "Thing v1.spec: the type is missing."),
        (thing({"type": "object", "properties": {"a": {"type": "text"}}}), "Thing v1.spec.a: there is no type 'text'."),
        (thing({"type": "array"}), "Thing v1.spec: the items of the list have no schema."),
        (thing({"type": "array", "items": {}}), r"Thing v1.spec\[\*\]: the type is missing."),
        (thing({"$ref": "#/a"}), r"Thing v1.spec: \$ref cannot be used."),
        (
            thing({"type": "object", "properties": {"a": "string"}}),
            "Thing v1.spec.a: a schema is an object, not 'string'.",
        ),
    ],
)
def test_rejects_nonstructural_schema_and_names_field(schema: dict[str, Any], message: str) -> None:
    with pytest.raises(CodegenError, match=f"a.yaml: {message}"):
        read_definition(definition(schema), "a.yaml")


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (
            {"additionalPrinterColumns": [{"name": "A", "type": "bool", "jsonPath": ".a"}]},
            "the type of column .a is one of",
        ),
        ({"additionalPrinterColumns": [{"name": "A", "type": "string"}]}, "'jsonPath' is missing"),
        (
            {"additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".a"}] * 2},
            "two columns have the same name: A, A",
        ),
        ({"subresources": {"scale": {"specReplicasPath": ".spec.n"}}}, "'statusReplicasPath' is missing"),
        (
            {"subresources": {"scale": {"specReplicasPath": ".n", "statusReplicasPath": ".status.n"}}},
            "the spec path of a Scale is below .spec",
        ),
    ],
)
def test_rejects_invalid_columns_and_subresources(version: dict[str, Any], message: str) -> None:
    with pytest.raises(CodegenError, match=message):
        read_definition(definition(SCHEMA, **version), "a.yaml")


def test_rejects_deep_schema() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(300):
        schema = {"type": "array", "items": schema}
    with pytest.raises(CodegenError, match="more than 200 levels deep"):
        read_definition(definition(thing(schema)), "a.yaml")


def test_lenient_reader_treats_missing_type_as_any_json(tmp_path: Path) -> None:
    schema = thing({"type": "object", "properties": {"a": {"description": "Anything."}, "b": {"type": "array"}}})
    kind = read_definition(definition(schema), "a", lenient=True)
    spec = kind.versions[0].schema["properties"]["spec"]["properties"]
    keep = {"x-kubernetes-preserve-unknown-fields": True}
    assert spec == {"a": {"description": "Anything.", **keep}, "b": {"type": "array", "items": keep}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"group": "example"}, "would reject the group 'example'"),
        ({"group": "../../etc.d"}, r"would reject the group '../../etc.d'"),
        ({"names": {"kind": "A B", "plural": "abs"}}, "would reject the kind 'A B'"),
        ({"names": {"kind": "Ab", "plural": 'a"b'}}, "would reject the plural"),
        ({"names": {"kind": "Ab", "plural": "abs", "shortNames": ["a\nb"]}}, "would reject the short name"),
        ({"names": {"kind": "Ab"}}, "not a complete CustomResourceDefinition: 'plural' is missing"),
        ({"names": None}, "not a complete CustomResourceDefinition: unexpected structure"),
        ({"versions": None}, "not a complete CustomResourceDefinition: 'version' is missing"),
        ({"versions": [{"name": "V1", "served": True, "storage": True}]}, "would reject the version 'V1'"),
        ({"versions": [{"name": "v1", "served": True, "storage": False}]}, "exactly one version .* must be the stored"),
        ({"versions": [{"name": "v1", "served": True, "storage": True}] * 2}, "has a version twice: v1, v1"),
    ],
)
def test_rejects_invalid_names(change: dict[str, Any], message: str) -> None:
    document = definition(SCHEMA)
    document["spec"] |= change
    with pytest.raises(CodegenError, match=message):
        read_definition(document, "a.yaml")
