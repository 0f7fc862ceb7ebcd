"""Pruning, defaulting and strict validation compared with a real kube-apiserver."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from kubewright.client import ApiError, Client
from kubewright.cluster.schema import (
    apply_defaults,
    custom_schema,
    prune,
    strict_decoding_message,
    strict_errors,
)
from kubewright.testing import ControlPlane
from tests.patience import until

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
    async def with_things() -> Any:
        try:
            document = await get(client, f"/openapi/v3/apis/{GROUP}/v1")
        except ApiError:
            return None
        return document if "com.example.documents.v1.Thing" in document["components"]["schemas"] else None

    return await until(with_things)


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
