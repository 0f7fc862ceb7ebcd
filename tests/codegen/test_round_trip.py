"""Types generated from a definition produce the same definition again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubewright.codegen import generate, read_definition
from kubewright.regex import QUANTITY
from tests.codegen.round_trip import classes_of, definition, differences, load, made_of, thing

KEEP = {"x-kubernetes-preserve-unknown-fields": True}
TEXT = {"type": "string"}
PAIR = {"type": "object", "properties": {"a": TEXT, "b": {"type": "integer", "format": "int64"}}}
KEYED = {"type": "object", "properties": {"name": TEXT, "port": {"type": "integer"}}, "required": ["name"]}

FIELDS: dict[str, dict[str, Any]] = {
    "text": TEXT,
    "boolean": {"type": "boolean"},
    "number without format": {"type": "number"},
    "integer without format": {"type": "integer"},
    "int32": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535},
    "float": {"type": "number", "format": "float", "minimum": 0.5, "exclusiveMinimum": True},
    "multiple": {"type": "integer", "format": "int64", "multipleOf": 5},
    "multiple of a fraction": {"type": "number", "multipleOf": 0.5},
    "length and pattern": {"type": "string", "minLength": 1, "maxLength": 63, "pattern": r"^[a-z]\d+$"},
    "a pattern that only Go reads": {"type": "string", "pattern": r"^\p{L}+$"},
    "format": {"type": "string", "format": "ipv4"},
    "format that the server does not check": {"type": "string", "format": "int-or-string"},
    "time": {"type": "string", "format": "date-time"},
    "bytes": {"type": "string", "format": "byte", "maxLength": 9},
    "choices": {"type": "string", "enum": ["a", "B-c", "", 'quo"te']},
    "choices of numbers": {"type": "integer", "enum": [1, 2]},
    "choices of one format": {"type": "integer", "format": "int32", "enum": [1, 2]},
    "choices of fractions": {"type": "number", "format": "double", "enum": [0.5, 1.5]},
    "choices with null": {"type": "string", "enum": ["a", None], "nullable": True},
    "choices twice": {"type": "string", "enum": ["a", "a"]},
    "choices and a length": {"type": "string", "enum": ["a"], "maxLength": 3},
    "nullable": {"type": "string", "nullable": True},
    "nullable choices": {"type": "string", "enum": ["a"], "nullable": True},
    "default": {"type": "integer", "format": "int64", "default": 0},
    "default text": {"type": "string", "default": "", "nullable": True},
    "default choice": {"type": "string", "enum": ["a", "b"], "default": "b"},
    "default list": {"type": "array", "items": TEXT, "default": ["a"]},
    "default map": {"type": "object", "additionalProperties": TEXT, "default": {"a": "b"}},
    "default of a model": {**PAIR, "default": {"a": "x"}},
    "default that breaks its rule": {"type": "string", "minLength": 3, "default": "a"},
    "default of a quantity": {"x-kubernetes-int-or-string": True, "pattern": QUANTITY, "default": "1Gi"},
    "default of null": {"type": "string", "nullable": True, "default": None},
    "int or string": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    "int or string with more": {"x-kubernetes-int-or-string": True, "anyOf": [{"minimum": 1}], "maxLength": 3},
    "quantity": {"x-kubernetes-int-or-string": True, "pattern": QUANTITY},
    "json": KEEP,
    "json or null": {**KEEP, "nullable": True},
    "json with a default": {**KEEP, "default": {"a": [1, None]}},
    "json with known members": {**KEEP, "properties": {"a": TEXT}},
    "open object": {"type": "object", **KEEP},
    "open model": {**PAIR, **KEEP},
    "open map": {"type": "object", "additionalProperties": {**KEEP, "nullable": True}, **KEEP},
    "any map": {"type": "object", "additionalProperties": True},
    "embedded": {"type": "object", **KEEP, "x-kubernetes-embedded-resource": True},
    "embedded with metadata": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {"metadata": {"type": "object", "description": "Its name."}, "spec": PAIR},
    },
    "embedded with known metadata": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {"metadata": PAIR},
    },
    "embedded and known": {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": PAIR}},
    "map": {"type": "object", "additionalProperties": TEXT, "minProperties": 1},
    "atomic map": {"type": "object", "additionalProperties": TEXT, "x-kubernetes-map-type": "atomic"},
    "map of lists of maps": {
        "type": "object",
        "additionalProperties": {"type": "array", "items": {"type": "object", "additionalProperties": PAIR}},
    },
    "empty object": {"type": "object"},
    "model": {**PAIR, "required": ["b", "a"], "maxProperties": 2, "x-kubernetes-map-type": "atomic"},
    "required with a default": {"type": "object", "required": ["a"], "properties": {"a": {**TEXT, "default": "x"}}},
    "required and null": {"type": "object", "required": ["a"], "properties": {"a": {**TEXT, "nullable": True}}},
    "list": {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 3},
    "set": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
    "atomic list": {"type": "array", "items": {**TEXT, "nullable": True}, "x-kubernetes-list-type": "atomic"},
    "list map": {
        "type": "array",
        "items": KEYED,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
    },
    "list map that the server refuses": {
        "type": "array",
        "items": PAIR,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["a"],
    },
    "rules": {
        "type": "integer",
        "x-kubernetes-validations": [
            {"rule": " self > 1 "},
            {"rule": "self >= oldSelf", "message": "only up", "reason": "FieldValueForbidden", "optionalOldSelf": True},
        ],
    },
    "a rule that is not ours": {
        "type": "integer",
        "x-kubernetes-validations": [{"rule": "self > 1", "message": "a\nb"}],
    },
    "a rule about changes in a list": {
        "type": "array",
        "items": {"type": "integer", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
    },
    "a rule of a model": {
        **PAIR,
        "x-kubernetes-validations": [{"rule": "has(self.a)", "fieldPath": ".a", "messageExpression": "'no ' + self.b"}],
    },
    "alternatives": {**PAIR, "oneOf": [{"required": ["a"]}, {"required": ["b"]}], "not": {"required": ["c"]}},
    "words for readers": {"type": "string", "title": "A title", "example": "x", "externalDocs": {"url": "https://a.b"}},
    "a description": {"type": "string", "description": 'Says "so".\n\n  - C:\\new\n  - """quoted"""\n'},
    "a description that ends in a quote": {"type": "string", "description": 'This is "it"'},
    "a description with what does not show": {"type": "string", "description": "a\u202eb\x00c\x0cd"},
    "a described element": {"type": "array", "items": {**TEXT, "description": "One of them."}},
}


def field_name(case: str) -> str:
    return "".join(word.capitalize() for word in case.replace("-", " ").split())


def in_every_field(wrap: Callable[[dict[str, Any]], dict[str, Any]] = lambda field: field) -> dict[str, Any]:
    """A model with a field for each case."""
    return {"type": "object", "properties": {field_name(case): wrap(field) for case, field in FIELDS.items()}}


@pytest.mark.promise(
    "Types from definitions",
    "Types generated from a definition give the same definition again, whatever its schema says.",
)
@pytest.mark.parametrize(
    "schema",
    [
        thing(in_every_field()),
        thing(in_every_field() | {"required": [field_name(case) for case in FIELDS]}) | {"required": ["spec"]},
        thing({"type": "object"}, status=in_every_field()),
        thing(in_every_field(lambda field: {"type": "array", "items": field})),
        thing(in_every_field(lambda field: {"type": "object", "additionalProperties": field})),
        in_every_field(),
    ],
    ids=["spec", "required", "status", "lists", "maps", "kind"],
)
def test_every_kind_of_field_round_trips(schema: dict[str, Any], tmp_path: Path) -> None:
    kind, made = made_of(definition(schema), tmp_path)
    assert differences(kind, [made]) == []


@pytest.mark.parametrize("required", [[], ["spec"]])
def test_spec_and_status_of_any_type_round_trip(required: list[str], tmp_path: Path) -> None:
    kinds = []
    for case, field in FIELDS.items():
        document = definition(thing(field, status=field) | {"required": required})
        name = field_name(case)
        document["spec"]["names"] = {"kind": name, "plural": name.lower()}
        kinds.append(read_definition(document, case))
    ((_, text),) = generate(kinds).items()
    classes = classes_of([load(text, tmp_path)])
    for kind in kinds:
        assert differences(kind, [classes["example.com", "v1", kind.kind]]) == []


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {"type": "object"},
        {"type": "object", **KEEP},
        {"type": "object", "properties": {"data": PAIR}, "required": ["data"], **KEEP},
        {
            "type": "object",
            "properties": {"spec": PAIR, "extra": PAIR, "validate": TEXT},
            "required": ["extra", "metadata"],
        },
        thing(PAIR) | {"properties": {"spec": PAIR, "metadata": {"type": "object", "properties": {"name": TEXT}}}},
        thing(PAIR) | {"x-kubernetes-validations": [{"rule": "self.metadata.name.size() < 9"}]},
        thing({"type": "object", "properties": {"a": {**TEXT, "default": "x"}}}),
        thing({"type": "object", "properties": {"a": {**TEXT, "default": "x"}}, "default": {}}),
        thing(PAIR, status={"type": "object", "properties": {"a": TEXT}, "required": ["a"]}),
        thing(PAIR, status={"type": "string"}),
        {**thing({**PAIR, "description": "Asked for."}), "description": "A thing."},
    ],
)
def test_kind_round_trips(schema: dict[str, Any] | None, tmp_path: Path) -> None:
    kind, made = made_of(definition(schema), tmp_path)
    assert differences(kind, [made]) == []


@pytest.mark.promise(
    "Types from definitions",
    "Types generated from a definition give the same definition again, whatever its schema says.",
)
@pytest.mark.parametrize(
    "version",
    [
        {"subresources": {"status": {}}},
        {"subresources": {"scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}}},
        {
            "subresources": {
                "status": {},
                "scale": {
                    "specReplicasPath": ".spec.nowhere",
                    "statusReplicasPath": ".status.n",
                    "labelSelectorPath": ".status.s",
                },
            }
        },
        {"served": False, "deprecated": True},
        {"deprecated": True, "deprecationWarning": 'use "v2"'},
        {"selectableFields": [{"jsonPath": ".spec.s"}]},
        {
            "additionalPrinterColumns": [
                {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                {"name": "N", "type": "integer", "jsonPath": ".spec.n", "format": "int32", "priority": 1},
                {"name": "Nowhere", "type": "string", "jsonPath": ".spec.nowhere.at.all", "description": "Lost."},
                {"name": "Last", "type": "string", "jsonPath": ".spec.list[-1:].a"},
                {"name": "Ready", "type": "string", "jsonPath": ".spec.list[?(@.a=='Ready')].a"},
            ]
        },
    ],
)
def test_names_columns_and_subresources_round_trip(version: dict[str, Any], tmp_path: Path) -> None:
    fields = {"n": {"type": "integer"}, "s": TEXT, "list": {"type": "array", "items": PAIR}}
    schema = thing({"type": "object", "properties": fields}, status={"type": "object", "properties": fields})
    kind, made = made_of(definition(schema, **version), tmp_path)
    assert differences(kind, [made]) == []


def test_round_trips_without_descriptions(tmp_path: Path) -> None:
    schema = thing({**PAIR, "description": "a"}, status={"type": "object", "description": "b"}) | {"description": "c"}
    kind, made = made_of(definition(schema), tmp_path, descriptions=False)
    assert differences(kind, [made], descriptions=False) == []
    assert made.__doc__ is None


names = st.sampled_from(
    [
        "name",
        "Name",
        "from",
        "list",
        "str",
        "kw",
        "$ref",
        "x-y",
        "x_y",
        "xY",
        "1st",
        "-",
        "ü",
        "class",
        "validate",
        "JSON",
        "None",
    ]
)
texts = st.text(alphabet=st.sampled_from("ab\"\\'\n\t \u200b{}é"), max_size=8)


def numbers(type_: str) -> st.SearchStrategy[Any]:
    return st.integers(-5, 5) if type_ == "integer" else st.floats(-5, 5, width=16)


@st.composite
def scalars(draw: st.DrawFn) -> dict[str, Any]:
    type_ = draw(st.sampled_from(["string", "integer", "number", "boolean"]))
    made: dict[str, Any] = {"type": type_}
    value: st.SearchStrategy[Any] = st.booleans()
    if type_ == "string":
        value = texts
        made |= draw(st.sampled_from([{}, {"minLength": 1}, {"maxLength": 5}, {"format": "uuid"}, {"format": "x"}]))
    elif type_ != "boolean":
        value = numbers(type_)
        made |= draw(
            st.sampled_from([{}, {"minimum": 0}, {"maximum": 2, "exclusiveMaximum": True}, {"format": "int32"}])
        )
    if draw(st.booleans()):
        made["enum"] = draw(st.lists(value, min_size=1, max_size=3))
    if draw(st.booleans()):
        made["default"] = draw(value)
    return made


def nodes(children: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    @st.composite
    def models(draw: st.DrawFn) -> dict[str, Any]:
        properties = draw(st.dictionaries(names, children, max_size=4))
        required = draw(st.lists(st.sampled_from(sorted(properties)), unique=True)) if properties else []
        return {"type": "object", "properties": properties, "required": required}

    lists = children.map(lambda items: {"type": "array", "items": items})
    maps = children.map(lambda values: {"type": "object", "additionalProperties": values})
    return models() | lists | maps


decorations = st.fixed_dictionaries(
    {},
    optional={
        "nullable": st.booleans(),
        "description": texts,
        "title": texts,
        "x-kubernetes-preserve-unknown-fields": st.just(True),
        "x-kubernetes-validations": st.just([{"rule": "self == oldSelf"}]),
    },
)


def decorated(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.tuples(inner, decorations).map(lambda pair: pair[0] | pair[1])


schemas = st.recursive(decorated(scalars()) | st.just(KEEP), lambda children: decorated(nodes(children)), max_leaves=12)


@pytest.mark.promise(
    "Types from definitions",
    "Types generated from a definition give the same definition again, whatever its schema says.",
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=schemas, status=schemas, extra=st.dictionaries(names, schemas, max_size=2))
def test_any_schema_round_trips(
    spec: dict[str, Any], status: dict[str, Any], extra: dict[str, Any], tmp_path: Path
) -> None:
    schema = {"type": "object", "properties": extra | {"spec": spec, "status": status}}
    kind, made = made_of(definition(schema), tmp_path)
    assert differences(kind, [made]) == []
