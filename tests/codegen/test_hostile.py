"""Whatever codegen accepts can be imported; everything else is refused with the source and the reason."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.codegen import CodegenError, generate, read_definition

PIECES = """
a A a-b a.b 1 ' " \\ a\\ \\N{x} é 😀 \u202e class None self __init__ __slots__ _a kw msgspec {} {a} # $(x) `
.spec .spec.a .spec['a'] .spec["a"] .spec[*] .spec.a[?(@.b)] spec .. . .status.b .metadata.name .spec." .spec.\\
validate apiVersion kind metadata status spec int str type from a_b aB $ref x-kubernetes-a
"""
nasty = st.sampled_from(
    [*PIECES.split(), "", " ", "a b", '"""', "\n", "\r", "\t", "\0", "\x1b[0m", "\u2028", ".spec.a\n", "x" * 300]
)
texts = nasty | st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
values: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)


def sometimes(usual: Any, other: Any) -> Any:
    """Nearly always the usual, so that definitions are accepted often enough."""
    return st.integers(0, 11).flatmap(lambda number: st.just(usual) if number else other)


leaves = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer", "number", "boolean"])},
    optional={
        "description": texts,
        "title": texts,
        "default": values,
        "enum": st.lists(values, max_size=3),
        "pattern": texts,
        "format": texts,
        "nullable": st.booleans(),
        "minimum": sometimes(1, values),
        "maxLength": sometimes(1, values),
        "x-kubernetes-validations": st.lists(
            st.fixed_dictionaries({"rule": texts}, optional={"message": texts, "fieldPath": texts, "reason": texts}),
            max_size=1,
        ),
        "example": values,
        "externalDocs": values,
    },
)
schemas: Any = st.recursive(
    leaves,
    lambda inner: (
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner},
            optional={
                "x-kubernetes-list-type": st.sampled_from(["set", "map", "atomic"]),
                "x-kubernetes-list-map-keys": st.lists(texts, max_size=2),
                "description": texts,
            },
        )
        | st.fixed_dictionaries(
            {
                "type": st.just("object"),
                "properties": st.dictionaries(sometimes("a", texts) | texts, inner, max_size=3),
            },
            optional={"required": st.lists(texts, max_size=2), "description": texts, "default": values},
        )
        | st.fixed_dictionaries({"type": st.just("object"), "additionalProperties": inner})
    ),
    max_leaves=4,
)


columns = st.fixed_dictionaries(
    {"name": texts, "type": sometimes("string", texts), "jsonPath": sometimes(".spec.a", texts)},
    optional={"format": texts, "description": texts, "priority": st.integers(0, 2) | values},
)
scales = st.fixed_dictionaries(
    {"specReplicasPath": sometimes(".spec.a", texts), "statusReplicasPath": sometimes(".status.b", texts)},
    optional={"labelSelectorPath": sometimes(".status.c", texts)},
)
versions = st.fixed_dictionaries(
    {
        "name": sometimes("v1", texts),
        "served": sometimes(True, values),
        "storage": st.just(True),
        "schema": st.fixed_dictionaries(
            {
                "openAPIV3Schema": st.fixed_dictionaries(
                    {
                        "type": st.just("object"),
                        "properties": st.fixed_dictionaries(
                            {}, optional={"spec": schemas, "status": schemas, "other": schemas}
                        )
                        | st.dictionaries(texts, schemas, max_size=2),
                    },
                    optional={"description": texts},
                )
            }
        ),
    },
    optional={
        "additionalPrinterColumns": st.lists(columns, max_size=2),
        "subresources": st.fixed_dictionaries({}, optional={"scale": scales, "status": st.just({})}),
        "selectableFields": sometimes([], st.lists(st.fixed_dictionaries({"jsonPath": texts}), max_size=2)),
        "deprecated": sometimes(True, values),
        "deprecationWarning": sometimes("gone", texts | values),
    },
)
definitions = st.fixed_dictionaries(
    {
        "apiVersion": st.just("apiextensions.k8s.io/v1"),
        "kind": st.just("CustomResourceDefinition"),
        "metadata": st.fixed_dictionaries(
            {}, optional={"annotations": st.dictionaries(st.just("api-approved.kubernetes.io"), texts)}
        ),
        "spec": st.fixed_dictionaries(
            {
                "group": sometimes("example.com", texts),
                "scope": st.sampled_from(["Namespaced", "Cluster"]),
                "names": st.fixed_dictionaries(
                    {"kind": sometimes("Thing", texts), "plural": sometimes("things", texts)},
                    optional={
                        "shortNames": sometimes(["th"], st.lists(texts)),
                        "categories": sometimes([], st.lists(texts)),
                    },
                ),
                "versions": st.tuples(versions).map(list),
            }
        ),
    }
)


def imported(name: str, text: str) -> None:
    module = types.ModuleType(name)
    sys.modules[name] = module
    try:
        exec(compile(text, f"{name}.py", "exec"), module.__dict__)
    finally:
        del sys.modules[name]


def reject_unnamed(message: str) -> None:
    assert message.startswith("hostile.yaml: ")


@settings(deadline=None, max_examples=300)
@given(definitions)
def test_accepted_definitions_can_be_imported(definition: dict[str, Any]) -> None:
    try:
        modules = generate([read_definition(definition, "hostile.yaml")])
    except CodegenError as error:
        reject_unnamed(str(error))
        return
    for (package, module), text in modules.items():
        text.encode()
        imported(f"{package}_{module}", text)


def document_of(
    *, names: dict[str, Any] | None = None, schema: dict[str, Any] | None = None, **changes: Any
) -> dict[str, Any]:
    root = {"type": "object", "properties": {"spec": {"type": "object", "properties": schema or {}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}, **changes}
    all_names = {"kind": "Thing", "plural": "things", **(names or {})}
    spec = {"group": "example.com", "scope": "Cluster", "names": all_names, "versions": [version]}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}


def test_drops_duplicates() -> None:
    document = document_of(
        names={"shortNames": ["th", "th"], "categories": ["all", "all"]},
        schema={"size": {"type": "string"}},
        selectableFields=[{"jsonPath": ".spec.size"}, {"jsonPath": ".spec.size"}],
    )
    [text] = [text for _, text in generate([read_definition(document, "hostile.yaml")]).items() if "th" in text]
    imported("duplicates", text)
    assert (text.count('"th"'), text.count('"all"'), text.count('".spec.size"')) == (1, 1, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": {'a"b': {"type": "string"}}}, "Thing v1.spec: no class can have the field 'a\"b'"),
        ({"schema": {"a\\b": {"type": "string"}}}, "Thing v1.spec: no class can have the field"),
        ({"schema": {"a\nb": {"type": "string"}}}, "Thing v1.spec: no class can have the field 'a\\nb'"),
        ({"served": "yes"}, "served of version v1 must be true or false, not 'yes'"),
        ({"deprecationWarning": "a\nb"}, "deprecationWarning of version v1 must be one line"),
        ({"selectableFields": [{"jsonPath": ".spec.nope"}]}, "the selectable field .spec.nope must lead to"),
        ({"selectableFields": [{"jsonPath": "spec"}]}, "'spec' is not a path"),
        ({"subresources": {"scale": {"specReplicasPath": "a", "statusReplicasPath": ".status.b"}}}, "the spec path"),
    ],
)
def test_rejects_unimportable_fields_by_name(changes: dict[str, Any], message: str) -> None:
    document = document_of(**changes)
    with pytest.raises(CodegenError) as refused:
        read_definition(document, "hostile.yaml")
    assert message in str(refused.value)
