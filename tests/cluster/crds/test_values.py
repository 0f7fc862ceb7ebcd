"""Values that violate their schema: the same errors as on the real server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from kubewright.client import Client, Invalid
from kubewright.cluster.crds import drop_nulls, errors_of
from kubewright.testing import ControlPlane
from tests.patience import until

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
INTEGER = {"type": "integer"}
TWO = {"type": "object", "properties": {"a": TEXT, "b": INTEGER}}
EITHER = {"type": "object", "properties": {"a": TEXT, "b": TEXT}}

CASES: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "text": (TEXT, ["ok", "", 1, 1.5, True, [], {}, None]),
    "integer": (INTEGER, [1, 1.0, -1, 1.5, "1", False, [1], {}, 2**63 - 1]),
    "number": (NUMBER, [1, 1.5, -0.25, "1", True, []]),
    "boolean": ({"type": "boolean"}, [True, "true", 1, 0]),
    "list": ({"type": "array", "items": TEXT}, [["a"], [], ["a", 1], "a", {}, [None], [["a"]]]),
    "object": (TWO, [{}, {"a": "x", "b": 1}, {"a": 1, "b": "x"}, [], "x", 3]),
    "map": ({"type": "object", "additionalProperties": INTEGER}, [{"x": 1}, {"x": "1"}, {"a.b/c": "1"}, {"x": None}]),
    "nullable": ({"type": "string", "nullable": True}, [None, "x", 1]),
    "intOrString": ({"x-kubernetes-int-or-string": True}, [1, "1", 1.5, True, []]),
    "minimum": (INTEGER | {"minimum": 1}, [1, 0, -5]),
    "maximum": (INTEGER | {"maximum": 10}, [10, 11]),
    "exclusiveMinimum": (INTEGER | {"minimum": 1, "exclusiveMinimum": True}, [2, 1, 0]),
    "exclusiveMaximum": (NUMBER | {"maximum": 10, "exclusiveMaximum": True}, [9.9, 10, 10.5]),
    "range": (INTEGER | {"minimum": 1, "maximum": 10}, [5, 0, 11]),
    "fraction": (NUMBER | {"minimum": 0.5, "maximum": 1e21}, [0.5, 0.25, 1e22]),
    "multipleOf": (INTEGER | {"multipleOf": 5}, [10, 0, 7]),
    "multipleOfFraction": (NUMBER | {"multipleOf": 0.5}, [1.5, 0.7]),
    "minLength": (TEXT | {"minLength": 2}, ["ab", "a", "", "é"]),
    "maxLength": (TEXT | {"maxLength": 2}, ["ab", "abc", "éé"]),
    "pattern": (TEXT | {"pattern": "^(echo).*"}, ["echo hi", "ls", ""]),
    "lengthAndPattern": (TEXT | {"maxLength": 2, "pattern": "^a"}, ["ab", "bbb", "b"]),
    "enum": (TEXT | {"enum": ["One", "Two"]}, ["One", "Three", "", 'q"'] ),
    "enumOfNumbers": (INTEGER | {"enum": [1, 2]}, [1, 3]),
    "enumAndType": (TEXT | {"enum": ["One"]}, [1]),
    "minItems": ({"type": "array", "items": TEXT, "minItems": 1}, [["a"], []]),
    "maxItems": ({"type": "array", "items": TEXT, "maxItems": 1}, [["a"], ["a", "b", "c"]]),
    "minProperties": ({"type": "object", "additionalProperties": TEXT, "minProperties": 1}, [{"a": "b"}, {}]),
    "maxProperties": ({"type": "object", "additionalProperties": TEXT, "maxProperties": 1}, [{"a": "", "b": ""}]),
    "required": (TWO | {"required": ["a", "b"]}, [{"a": "x", "b": 1}, {}, {"a": "x"}, {"a": None, "b": 1}]),
    "deep": (
        {"type": "array", "items": TWO | {"required": ["a"]}},
        [[{"a": "x"}, {}, {"a": 1}], [{"b": "x"}]],
    ),
    "dateTime": (TEXT | {"format": "date-time"}, ["2026-01-01T00:00:00Z", "2026-01-01", "x"]),
    "ipv4": (TEXT | {"format": "ipv4"}, ["10.0.0.1", "10.0.0", 7]),
    "uri": (TEXT | {"format": "uri"}, ["a:b", 'say "x"']),
    "int32": (INTEGER | {"format": "int32"}, [2**31 - 1]),
    "unknownFormat": (TEXT | {"format": "made-up"}, ["x", 1]),
    "anyOf": (EITHER | {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, [{"a": ""}, {"a": "", "b": ""}, {}]),
    "oneOf": (EITHER | {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, [{"a": ""}, {"a": "", "b": ""}, {}]),
    "allOf": (TEXT | {"allOf": [{"minLength": 2}, {"pattern": "^a"}]}, ["ab", "bb", "b", "a"]),
    "not": (TEXT | {"not": {"enum": ["no"]}}, ["yes", "no"]),
    "oneOfRanges": (
        INTEGER | {"oneOf": [{"minimum": 10}, {"maximum": 3}]},
        [11, 2, 5],
    ),
    "anyOfPatterns": (TEXT | {"anyOf": [{"pattern": "^a"}, {"maxLength": 1}]}, ["ab", "b", "bb"]),
}  # fmt: skip
SCHEMA = {
    "type": "object",
    "properties": {
        "apiVersion": TEXT,
        "kind": TEXT,
        "metadata": {"type": "object"},
        "spec": {"type": "object", "properties": {name: schema for name, (schema, _) in CASES.items()}},
        "top": INTEGER,
    },
}
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "values.rules.example.com"},
    "spec": {
        "group": "rules.example.com",
        "scope": "Cluster",
        "names": {"kind": "Value", "plural": "values"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}],
    },
}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
VALUES = "/apis/rules.example.com/v1/values"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client.connect(kubeconfig=control_plane.kubeconfig) as opened:
        await opened.request("POST", DEFINITIONS, body=CRD)
        await until(lambda: _is_served(opened))
        yield opened
        await opened.request("DELETE", f"{DEFINITIONS}/values.rules.example.com")


async def _is_served(client: Client) -> bool:
    from kubewright.client import NotFound

    try:
        await client.request("GET", VALUES)
    except NotFound:
        return False
    return True


def thing(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "rules.example.com/v1", "kind": "Value", "metadata": {"name": "a"}, **fields}


async def refusals(client: Client, obj: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Returns the reason, field and message of each cause of the real server."""
    try:
        await client.request("POST", f"{VALUES}?dryRun=All", body=obj)
    except Invalid as error:
        return sorted((cause.reason, cause.field, cause.message) for cause in error.causes)
    return []


def ours(obj: dict[str, Any]) -> list[tuple[str, str, str]]:
    drop_nulls(SCHEMA, obj)
    return sorted((error.reason, error.field, error.message) for error in errors_of(SCHEMA, obj))


@pytest.mark.promise(
    "The embedded cluster",
    "Invalid definitions and invalid values are rejected with the messages of the real server.",
)
@pytest.mark.control_plane
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", CASES)
async def test_errors_match_the_real_server(client: Client, name: str) -> None:
    differing = {}
    for value in CASES[name][1]:
        obj = thing(spec={name: value})
        real = await refusals(client, obj)
        if real != ours(obj):
            differing[repr(value)] = {"real": real, "ours": ours(obj)}
    assert differing == {}
