"""The values in which mutating policies write patches."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.api.cel import (
    JSON_PATCH,
    OBJECT,
    CompileError,
    Environment,
    EvaluationError,
    Struct,
    compile_expression,
    misnamed,
    to_json,
    types,
)

ENVIRONMENT = Environment({"object": types.DYN}, patches=True)


def value_of(text: str, **object_: Any) -> Any:
    return compile_expression(text, ENVIRONMENT).run({"object": object_})[0]


def test_object_has_any_fields_and_omits_empty_optionals() -> None:
    text = "Object{spec: Object.spec{replicas: object.size + 1, ?gone: object.?missing, ?there: object.?size}}"
    program = compile_expression(text, ENVIRONMENT)
    made, cost = program.run({"object": {"size": 2}})
    assert program.checked.type == OBJECT
    assert to_json(made) == {"spec": {"replicas": 3, "there": 2}}
    assert cost >= 80  # each struct costs 40


def test_operations_are_checked_and_keys_escaped() -> None:
    text = "[JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('a/b~c'), value: Object.x{n: 1}}]"
    program = compile_expression(text, ENVIRONMENT)
    assert program.checked.type == types.list_of(JSON_PATCH)
    assert to_json(program.run({"object": {}})[0]) == [{"op": "add", "path": "/data/a~1b~0c", "value": {"n": 1}}]
    with pytest.raises(EvaluationError, match="unexpected type int64 for JSONPatchType 'path' field"):
        value_of("JSONPatch{op: 'add', path: object.number}", number=3)
    with pytest.raises(CompileError, match="undefined field 'to'"):
        value_of("JSONPatch{op: 'move', to: '/a'}")


def test_the_name_of_a_type_is_the_path_to_it() -> None:
    made = value_of("Object{spec: Object.spec{items: [dyn(Object.spec.items{a: 1}), dyn(Object.spec.thing{})]}}")
    assert isinstance(made, Struct)
    expected = '"Object.spec.items", which matches field name path from root Object type'
    assert misnamed(made) == [f'unexpected type name "Object.spec.thing", expected {expected}']


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("9007199254740993", "9007199254740993"),
        ("-3", -3),
        ("5u", 5),
        ("b'abc'", "YWJj"),
        ("duration('90m')", "5400s"),
        ("timestamp('2024-02-29T12:00:00Z')", "2024-02-29T12:00:00Z"),
        ("{'a': [1.5, 2.5]}", {"a": [1.5, 2.5]}),
        ("null", None),
    ],
)
def test_values_are_written_as_json_has_them(text: str, written: Any) -> None:
    assert to_json(value_of(text)) == written


def test_rejects_values_without_json_equivalent() -> None:
    with pytest.raises(EvaluationError, match="type conversion error"):
        to_json(value_of("quantity('1Gi')"))


@pytest.mark.parametrize("text", ["Object{}", "JSONPatch{}", "jsonpatch.escapeKey('a')"])
def test_only_patches_may_write_them(text: str) -> None:
    with pytest.raises(CompileError, match="undeclared reference"):
        compile_expression(text, Environment({}))
