"""Types from a live cluster, which accepts their definitions."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from kubewright.api import Object, apiextensions, from_dict
from kubewright.cli import run
from kubewright.client import Client, NotFound
from kubewright.codegen import CodegenError, from_cluster, generate, read_definition
from kubewright.crd import install
from kubewright.testing import ControlPlane
from tests.codegen.round_trip import classes_of, differences, load
from tests.patience import until

GROUP = "codegen.example.com"
SCHEMA: dict[str, Any] = {
    "description": "A lamp.",
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["color", "rooms"],
            "properties": {
                "color": {"type": "string", "enum": ["red", "green"], "description": "How it shines."},
                "watts": {"type": "integer", "format": "int32", "minimum": 1, "default": 40},
                "size": {
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                    "maxLength": 9,
                },
                "rooms": {
                    "type": "array",
                    "maxItems": 5,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {"name": {"type": "string", "maxLength": 20}, "on": {"type": "boolean"}},
                        "x-kubernetes-validations": [{"rule": "self.on == oldSelf.on", "message": "stays"}],
                    },
                },
                "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "limits": {
                    "type": "object",
                    "properties": {"low": {"type": "integer"}, "high": {"type": "integer"}},
                    "oneOf": [{"required": ["low"]}, {"required": ["high"]}],
                },
            },
        },
        "status": {"type": "object", "properties": {"since": {"type": "string", "format": "date-time"}}},
    },
    "required": ["spec"],
}
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"lamps.{GROUP}"},
    "spec": {
        "group": GROUP,
        "names": {"kind": "Lamp", "plural": "lamps", "shortNames": ["lp"], "categories": ["house"]},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": SCHEMA},
                "subresources": {"status": {}},
                "selectableFields": [{"jsonPath": ".spec.color"}],
                "additionalPrinterColumns": [{"name": "Color", "type": "string", "jsonPath": ".spec.color"}],
            }
        ],
    },
}


@pytest.fixture
async def lamp(client: Client, tmp_path: Path) -> type[Object]:
    """The generated class, installed on the server."""
    (text,) = generate([read_definition(DEFINITION, "test")]).values()
    (made,) = classes_of([load(text, tmp_path)]).values()
    await install(client, made)
    return made


@pytest.mark.promise(
    "Types from definitions", "A real server accepts the generated definition, and returns it unchanged."
)
async def test_the_server_accepts_and_returns_the_generated_definition(
    client: Client, lamp: type[Object], namespace: str
) -> None:
    crd = await client.get(apiextensions.CustomResourceDefinition, f"lamps.{GROUP}")
    conditions = {condition.type: condition.status for condition in crd.status.conditions or []}
    assert conditions["Established"] == "True"
    assert "NonStructuralSchema" not in conditions
    (found,) = await from_cluster(client, [f"lamps.{GROUP}"])
    assert differences(found, [lamp]) == []
    assert found in await from_cluster(client)  # without names: all definitions
    spec = {"color": "red", "rooms": [{"name": "hall"}], "extra": {"a": 1}, "limits": {"low": 1}}
    made: Any = await client.create(from_dict(lamp, {"metadata": {"name": "a", "namespace": namespace}, "spec": spec}))
    assert (made.spec.watts, made.spec.rooms[0].name, made.spec.extra) == (40, "hall", {"a": 1})


async def documented(client: Client) -> None:
    """Waits for the OpenAPI document of the group, which the server publishes a moment after it serves the kind."""

    async def has_the_kind() -> bool:
        try:
            document = await client.request("GET", f"/openapi/v3/apis/{GROUP}/v1")
        except NotFound:
            return False
        return b"LampSpec" in document or b'"Lamp"' in document

    await until(has_the_kind)


@pytest.mark.promise(
    "Types from definitions",
    "Types are generated from a live cluster, also without permission to read definitions.",
)
async def test_falls_back_to_openapi_without_permission(
    client: Client, lamp: type[Object], control_plane: ControlPlane
) -> None:
    await documented(client)
    async with Client.connect(kubeconfig=control_plane.add_user("reader")) as reader:
        with pytest.raises(CodegenError, match="you are not allowed to list definitions; name the kinds with --kind"):
            await from_cluster(reader)
        (found,) = await from_cluster(reader, [f"lamps.{GROUP}"])
        with pytest.raises(CodegenError, match=r"it serves no kind Qxqxqxqxqx; built-in kinds are in kubewright"):
            await from_cluster(reader, ["Qxqxqxqxqx"])
    (defined,) = await from_cluster(client, [f"lamps.{GROUP}"])
    assert found.versions[0].schema == defined.versions[0].schema
    assert (found.name, found.short_names, found.categories) == (defined.name, ("lp",), ("house",))
    assert found.versions[0].has_status


@pytest.mark.promise(
    "Types from definitions",
    "Types are generated from a live cluster, also without permission to read definitions.",
)
async def test_reads_kinds_without_a_definition_from_openapi(client: Client, tmp_path: Path) -> None:
    # Served by the API server itself, without a definition, like kinds of an aggregated server.
    kinds = await from_cluster(client, ["flowschemas", "csinodes.storage.k8s.io"], descriptions=False)
    classes = classes_of([load(text, tmp_path) for text in generate(kinds).values()])
    for kind in kinds:
        versions = [classes[kind.group, version.name, kind.kind] for version in kind.versions]
        assert differences(kind, versions, descriptions=False) == []
    schemas: Any = await client.list(classes["flowcontrol.apiserver.k8s.io", "v1", "FlowSchema"])
    assert any(schema.spec.matching_precedence for schema in schemas)


async def test_the_command_reads_a_cluster(lamp: type[Object], control_plane: ControlPlane, tmp_path: Path) -> None:
    out = tmp_path / "lamp.py"
    command = [
        "codegen",
        "--cluster",
        "--kubeconfig",
        str(control_plane.kubeconfig),
        "--kind",
        f"lamps.{GROUP}",
        "--out",
        str(out),
    ]
    assert await asyncio.to_thread(run, command) == 0
    assert "class Lamp(kw.Resource[LampSpec, LampStatus]):" in out.read_text()
