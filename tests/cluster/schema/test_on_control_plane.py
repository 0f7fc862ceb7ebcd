"""OpenAPI documents and pruning compared with a real kube-apiserver."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
import yaml

from kubewright.client import ApiError, Client
from kubewright.cluster.schema import (
    CustomKind,
    apply_defaults,
    builtin_group_versions,
    builtin_resources,
    custom_schema,
    openapi_v2,
    openapi_v2_protobuf,
    openapi_v3,
    openapi_v3_paths,
    prune,
    strict_decoding_message,
    strict_errors,
)
from kubewright.testing import ControlPlane
from tests.patience import PATIENCE

GROUP = "documents.example.com"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
                "either": {"x-kubernetes-int-or-string": True},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "template": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}},
                },
                "list": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"a": {"type": "string", "default": "x"}}},
                },
                "map": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        },
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    },
}
KINDS = "x-kubernetes-group-version-kind"
# Discovery is not part of our documents.
OF_DISCOVERY = {
    "APIGroup",
    "APIGroupList",
    "APIVersions",
    "GroupVersionForDiscovery",
    "Info",
    "ServerAddressByClientCIDR",
    "APIResource",
    "APIResourceList",
}
THING = CustomKind(
    group=GROUP,
    version="v1",
    kind="Thing",
    list_kind="ThingList",
    plural="things",
    namespaced=True,
    subresources=("status",),
    schema=SCHEMA,
)


@pytest.fixture(scope="module")
def things(control_plane: ControlPlane) -> Iterator[None]:
    """Serves the custom resource."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": SCHEMA},
        "subresources": {"status": {}},
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }
    control_plane.request("POST", path, definition)
    yield
    control_plane.request("DELETE", f"{path}/things.{GROUP}")


async def get(client: Client, path: str) -> Any:
    return json.loads(await client.request("GET", path))


async def document_of_things(client: Client) -> Any:
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                document = await get(client, f"/openapi/v3/apis/{GROUP}/v1")
                if "com.example.documents.v1.Thing" in document["components"]["schemas"]:
                    return document
            except ApiError:
                pass
            await asyncio.sleep(0.1)


def facts(schema: Any) -> Any:
    """Returns a schema without descriptions."""
    if isinstance(schema, dict):
        return {
            key: {name: facts(each) for name, each in value.items()} if key == "properties" else facts(value)
            for key, value in schema.items()
            if key != "description"
        }
    return [facts(each) for each in schema] if isinstance(schema, list) else schema


@pytest.mark.promise(
    "How the embedded cluster merges",
    "OpenAPI documents of built-in and custom kinds match the real server.",
)
async def test_documents_of_built_in_kinds_match_the_server(client: Client) -> None:
    index = await get(client, "/openapi/v3")
    served = [path for path in index["paths"] if path in openapi_v3_paths()]
    assert len(served) >= 20
    for path in served:
        theirs = await get(client, f"/openapi/v3/{path}")
        ours = openapi_v3(path.removeprefix("apis/").removeprefix("api/"))
        assert ours is not None
        schemas = ours["components"]["schemas"]
        for name, schema in theirs["components"]["schemas"].items():
            assert own_facts(name, schemas[name]) == own_facts(name, schema), name
        check_paths(ours["paths"], theirs["paths"])


def own_facts(name: str, schema: Any) -> Any:
    """Returns a comparable schema. Delete options belong to every group; each document names only some."""
    return {key: value for key, value in facts(schema).items() if key != KINDS or ".meta.v1." not in name}


def check_paths(ours: Any, theirs: Any) -> None:
    """Checks that every operation of the server exists for the same kind, except proxies and deprecated watches."""
    for path, item in theirs.items():
        for method, operation in item.items():
            action = operation.get("x-kubernetes-action") if isinstance(operation, dict) else None
            if action in (None, "connect", "watch", "watchlist"):
                continue
            found = ours[path][method]
            kind = operation["x-kubernetes-group-version-kind"]
            assert found["x-kubernetes-action"] == action, path
            assert found["x-kubernetes-group-version-kind"] == kind, path
            if action == "patch":
                names = {each["name"] for each in operation["parameters"]}
                assert {each["name"] for each in found["parameters"]} == names, path
            assert body_of(found) >= body_of(operation), (path, method)


def body_of(operation: Any) -> set[str]:
    content = operation.get("requestBody", {}).get("content", {})
    return {each["schema"]["$ref"] for each in content.values()}


async def test_resources_and_verbs_match_discovery(client: Client) -> None:
    for group_version in builtin_group_versions():
        root = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
        try:
            found = await get(client, root)
        except ApiError:
            continue  # alpha versions are not served
        ours = {facts.plural: facts for facts in builtin_resources(group_version)}
        for resource in found["resources"]:
            plural, _, sub = resource["name"].partition("/")
            if not sub:
                facts_ = ours[plural]
                assert (facts_.kind, facts_.namespaced) == (resource["kind"], resource["namespaced"])
                assert sorted(facts_.verbs) == sorted(resource["verbs"]), resource


@pytest.mark.promise(
    "How the embedded cluster merges",
    "OpenAPI documents of built-in and custom kinds match the real server.",
)
async def test_document_of_custom_kind_matches_the_server(client: Client, things: None) -> None:
    theirs = await document_of_things(client)
    ours = openapi_v3(f"{GROUP}/v1", [THING])
    assert ours is not None
    schemas = ours["components"]["schemas"]
    for name, schema in theirs["components"]["schemas"].items():
        if name.startswith("com.example"):
            assert comparable(schemas[name]) == comparable(facts(schema)), name
        else:
            assert own_facts(name, schemas[name]) == own_facts(name, schema), name
    check_paths(ours["paths"], theirs["paths"])


def comparable(schema: Any) -> Any:
    """Unwraps a reference that is alone in allOf."""
    if isinstance(schema, dict):
        if "allOf" in schema and len(schema["allOf"]) == 1:
            return comparable(schema["allOf"][0])
        return {key: comparable(value) for key, value in schema.items()}
    return [comparable(each) for each in schema] if isinstance(schema, list) else schema


@pytest.mark.promise(
    "How the embedded cluster merges",
    "OpenAPI documents of built-in and custom kinds match the real server.",
)
async def test_openapi_v2_has_the_same_kinds(client: Client, things: None) -> None:
    await document_of_things(client)
    ours = openapi_v2([THING])
    theirs = await get(client, "/openapi/v2")
    for name, schema in theirs["definitions"].items():
        if not name.startswith("com.example") and name in ours["definitions"]:
            expected = facts(schema)
            mine = ours["definitions"][name]
            assert set(mine.get("properties", {})) == set(expected.get("properties", {})), name
            assert mine.get("type") == expected.get("type"), name
    missing = set(theirs["definitions"]) - set(ours["definitions"])
    unknown = {name.rpartition(".")[2] for name in missing if name.startswith("io.k8s.")}
    assert unknown <= OF_DISCOVERY


@pytest.mark.promise(
    "How the embedded cluster merges",
    "OpenAPI documents of built-in and custom kinds match the real server.",
)
async def test_openapi_v2_protobuf_matches_the_server(client: Client) -> None:
    accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    theirs = definitions_in(await client.request("GET", "/openapi/v2", accept=accept))
    ours = definitions_in(openapi_v2_protobuf(openapi_v2()))
    compared = [name for name in theirs if name in ours and ".meta.v1." not in name]
    assert len(compared) > 500
    for name in compared:
        assert without_defaults(ours[name]) == without_defaults(theirs[name]), name


# Field numbers of the gnostic messages for schemas.
TEXTS = {1: "$ref", 2: "format"}


def fields_of(message: bytes) -> Iterator[tuple[int, Any]]:
    """Returns the fields of a protobuf message: numbers, and bytes for everything else."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        elif tag & 7 == 1:
            at += 8
            yield tag >> 3, message[at - 8 : at]
        else:
            size = varint()
            at += size
            yield tag >> 3, message[at - size : at]


def definitions_in(document: bytes) -> dict[str, Any]:
    [content] = [value for number, value in fields_of(document) if number == 9]
    return named_in(content, 1)


def named_in(message: bytes, field: int) -> dict[str, Any]:
    found = {}
    for number, value in fields_of(message):
        if number == field:
            pair = dict(fields_of(value))
            found[pair[1].decode()] = schema_in(pair.get(2, b""))
    return found


def schema_in(message: bytes) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for number, value in fields_of(message):
        if number in TEXTS:
            schema[TEXTS[number]] = value.decode()
        elif number == 19:
            schema.setdefault("required", []).append(value.decode())
        elif number == 21:
            schema["additionalProperties"] = schema_in(dict(fields_of(value))[1])
        elif number == 22:
            schema["type"] = dict(fields_of(value))[1].decode()
        elif number == 23:
            schema["items"] = schema_in(dict(fields_of(value))[1])
        elif number == 25:
            schema["properties"] = named_in(value, 1)
        elif number == 31:
            pair = dict(fields_of(value))
            schema[pair[1].decode()] = yaml.safe_load(dict(fields_of(pair[2]))[2].decode())
    return schema


def without_defaults(schema: Any) -> Any:
    """Drops enumerations, which only one of the server's documents contains."""
    if isinstance(schema, dict):
        return {key: without_defaults(value) for key, value in schema.items() if key not in ("enum", "default")}
    return [without_defaults(each) for each in schema] if isinstance(schema, list) else schema


BODIES: list[dict[str, Any]] = [
    {"spec": {"size": 1}},
    {"spec": {"size": 1, "nope": 1, "map": {"a": "b"}}, "other": 1, "metadata": {"zzz": 1}},
    {"spec": {"size": 1, "free": {"a": {"b": 1}}, "list": [{}, {"a": "y", "b": 1}]}},
    {
        "spec": {
            "size": 1,
            "template": {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "x", "q": 1},
                "spec": {"a": "1", "b": 2},
            },
        }
    },
    {"spec": {"size": 1, "mode": None, "either": "50%"}},
]


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Unknown fields are pruned and reported, and defaults are set, as on the real server.",
)
async def test_pruning_and_defaulting_match_the_server(client: Client, namespace: str, things: None) -> None:
    schema = custom_schema(SCHEMA)
    await document_of_things(client)
    for number, body in enumerate(BODIES):
        sent = named(body, f"thing-{number}")
        stored = json.loads(
            await client.request("POST", path_of(namespace), body=sent, query={"fieldValidation": "Ignore"})
        )
        ours = deepcopy(sent)
        prune(schema, ours)
        apply_defaults(schema, ours)
        assert ours["spec"] == stored["spec"]
        assert "other" not in stored


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Unknown fields are pruned and reported, and defaults are set, as on the real server.",
)
async def test_strict_validation_matches_the_server(client: Client, namespace: str, things: None) -> None:
    schema = custom_schema(SCHEMA)
    await document_of_things(client)
    bodies = [json.dumps(named(body, "strict")).encode() for body in BODIES[1:4]]
    bodies.append(bodies[0].replace(b'"size": 1', b'"size": 1, "size": 2'))
    for text in bodies:
        errors = strict_errors(schema, json.loads(text), text)
        with pytest.raises(ApiError) as refused:
            await client.request("POST", path_of(namespace), body=text, query={"fieldValidation": "Strict"})
        message = refused.value.status.message
        assert message.endswith(strict_decoding_message(errors)), message


def path_of(namespace: str) -> str:
    return f"/apis/{GROUP}/v1/namespaces/{namespace}/things"


def named(body: dict[str, Any], name: str) -> dict[str, Any]:
    metadata = {"name": name} | body.get("metadata", {})
    return {"apiVersion": f"{GROUP}/v1", "kind": "Thing", **body, "metadata": metadata}
