"""Unknown fields, duplicate fields and defaults."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.cluster.schema import (
    apply_defaults,
    builtin_schema,
    custom_schema,
    prune,
    strict_decoding_message,
    strict_errors,
    unknown_fields,
)

SCHEMA = custom_schema(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "empty": {"type": "object"},
                    "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {}}}},
                    "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
                    "free": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                        "properties": {"known": {"type": "object", "properties": {"a": {"type": "string"}}}},
                    },
                    "template": {
                        "type": "object",
                        "x-kubernetes-embedded-resource": True,
                        "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}},
                    },
                },
            }
        },
    }
)


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Unknown fields are pruned and reported, and defaults are set, as on the real server.",
)
def test_prunes_and_reports_unknown_fields() -> None:
    obj = {
        "apiVersion": "example.com/v1",
        "kind": "Foo",
        "metadata": {"name": "a", "nope": 1, "labels": {"any": "x"}},
        "nope": {"a": 1},
        "spec": {
            "text": "a",
            "nope": 1,
            "empty": {"a": 1},
            "map": {"k": {"a": {}, "b": 2}},
            "list": [{"a": "x"}, {"b": 1, "a": "y"}],
        },
    }
    names = [
        "metadata.nope",
        "nope",
        "spec.empty.a",
        "spec.list[1].b",
        "spec.map.k.b",
        "spec.nope",
    ]
    assert unknown_fields(SCHEMA, obj) == names
    assert prune(SCHEMA, obj) == names
    assert obj["spec"] == {
        "text": "a",
        "empty": {},
        "map": {"k": {"a": {}}},
        "list": [{"a": "x"}, {"a": "y"}],
    }
    assert obj["metadata"] == {"name": "a", "labels": {"any": "x"}}
    assert prune(SCHEMA, obj) == []


def test_prunes_known_fields_below_preserved_ones() -> None:
    obj = {"spec": {"free": {"x": {"y": 1}, "known": {"a": "1", "b": 2}}}}
    assert prune(SCHEMA, obj) == ["spec.free.known.b"]
    assert obj == {"spec": {"free": {"x": {"y": 1}, "known": {"a": "1"}}}}


def test_embedded_object_keeps_apiversion_kind_and_metadata() -> None:
    obj: dict[str, Any] = {
        "spec": {"template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "x": 1}, "spec": {"b": 1}}}
    }
    assert prune(SCHEMA, obj) == ["spec.template.spec.b", "spec.template.metadata.x"]
    assert obj["spec"]["template"] == {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {}}


def test_prunes_built_in_kinds_by_the_same_rules() -> None:
    schema = builtin_schema("apps/v1", "Deployment")
    assert schema is not None
    obj = {"spec": {"replicas": 1, "foo": 2, "template": {"spec": {"containers": [{"name": "a", "imagee": "x"}]}}}}
    assert prune(schema, obj) == ["spec.foo", "spec.template.spec.containers[0].imagee"]
    revision = builtin_schema("apps/v1", "ControllerRevision")
    assert revision is not None
    assert prune(revision, {"data": {"any": {"thing": 1}}, "revision": 1}) == []


def test_strict_errors_name_duplicate_and_unknown_fields() -> None:
    text = b'{"spec": {"text": "a", "text": "b", "nope": 1, "list": [{"a": "1", "a": "2"}]}}'
    obj = {"spec": {"text": "b", "nope": 1, "list": [{"a": "2"}]}}
    errors = strict_errors(SCHEMA, obj, text)
    assert errors == [
        'duplicate field "spec.text"',
        'duplicate field "spec.list[0].a"',
        'unknown field "spec.nope"',
    ]
    assert strict_decoding_message(errors[1:]) == (
        'strict decoding error: duplicate field "spec.list[0].a", unknown field "spec.nope"'
    )


def test_applies_nested_defaults() -> None:
    schema = custom_schema(
        {
            "type": "object",
            "properties": {
                "spec": {
                    "type": "object",
                    "default": {"size": 1},
                    "properties": {
                        "size": {"type": "integer"},
                        "mode": {"type": "string", "default": "auto"},
                        "nullable": {"type": "string", "default": "x", "nullable": True},
                        "list": {
                            "type": "array",
                            "items": {"type": "object", "properties": {"p": {"type": "string", "default": "TCP"}}},
                        },
                        "map": {
                            "type": "object",
                            "additionalProperties": {"type": "object", "properties": {"d": {"default": 1}}},
                        },
                    },
                }
            },
        }
    )
    obj: dict[str, Any] = {}
    apply_defaults(schema, obj)
    assert obj == {"spec": {"size": 1, "mode": "auto", "nullable": "x"}}
    obj = {"spec": {"mode": None, "nullable": None, "list": [{}, {"p": "UDP"}], "map": {"a": {}, "b": None}}}
    apply_defaults(schema, obj)
    assert obj == {
        "spec": {
            "mode": "auto",
            "nullable": None,
            "list": [{"p": "TCP"}, {"p": "UDP"}],
            "map": {"a": {"d": 1}, "b": None},
        }
    }


def test_copies_defaults_for_each_object() -> None:
    schema = custom_schema({"type": "object", "properties": {"spec": {"type": "object", "default": {"a": []}}}})
    one: dict[str, Any] = {}
    other: dict[str, Any] = {}
    apply_defaults(schema, one)
    apply_defaults(schema, other)
    one["spec"]["a"].append(1)
    assert other == {"spec": {"a": []}}
