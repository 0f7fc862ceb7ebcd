"""OpenAPI documents of the embedded cluster and of the real server are equal."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from kubewright.cluster.openapi.protobuf import definitions_v2, head_v2, parts_v3, paths_v2
from tests.cluster.openapi import wire
from tests.cluster.openapi.definitions import DEFINITIONS
from tests.cluster.openapi.servers import Server, differences, without_prose
from tools.generate_cluster.openapi import facts

V2: Final = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
V3: Final = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
GROUPS: Final = {each["spec"]["group"] for each in DEFINITIONS}
VERSIONS: Final = sorted(
    {
        f"{each['spec']['group']}/{version['name']}"
        for each in DEFINITIONS
        for version in each["spec"]["versions"]
        if version["served"]
    }
)
promised = pytest.mark.promise(
    "How the embedded cluster merges", "OpenAPI documents of built-in and custom kinds match the real server."
)


def of_custom_kinds(document: Any) -> Any:
    """Returns the paths and definitions of the definitions of this test in OpenAPI v2."""
    return {
        "paths": {path: item for path, item in document["paths"].items() if group_of(path) in GROUPS},
        "definitions": {name: each for name, each in document["definitions"].items() if name.startswith("com.example")},
    }


def group_of(path: str) -> str:
    return path.split("/")[2]


@promised
@pytest.mark.parametrize("group_version", VERSIONS)
async def test_v3_document_of_custom_kinds_matches(group_version: str, embedded: Server, real: Server) -> None:
    path = f"/openapi/v3/apis/{group_version}"
    ours, theirs = await embedded.json(path), await real.json(path)
    schemas = theirs["components"]["schemas"]
    built_in = {name: facts(each) for name, each in schemas.items() if name.startswith("io.k8s.")}
    theirs["components"]["schemas"] = {**schemas, **built_in}
    assert list(differences(without_prose(ours), without_prose(theirs))) == []


@promised
async def test_v2_paths_and_definitions_of_custom_kinds_match(embedded: Server, real: Server) -> None:
    ours, theirs = [of_custom_kinds(await server.json("/openapi/v2")) for server in (embedded, real)]
    assert len(ours["definitions"]) == 2 * len([v for d in DEFINITIONS for v in d["spec"]["versions"] if v["served"]])
    assert list(differences(without_prose(ours), without_prose(theirs))) == []


async def test_index_has_the_same_documents(embedded: Server, real: Server) -> None:
    ours, theirs = [await server.json("/openapi/v3") for server in (embedded, real)]
    others = {path for path in theirs["paths"] if path.endswith(".test/v1") or "example.com" in path} - {
        f"apis/{each}" for each in VERSIONS
    }
    assert {*ours["paths"]} == {*theirs["paths"]} - others
    for path, address in ours["paths"].items():
        assert address["serverRelativeURL"].startswith(f"/openapi/v3/{path}?hash=")


@promised
async def test_documents_of_built_in_kinds_match(embedded: Server, real: Server) -> None:
    index = await embedded.json("/openapi/v3")
    compared = [path for path in index["paths"] if not path.endswith(tuple(VERSIONS))]
    assert len(compared) > 40
    for path in compared:
        ours, theirs = await embedded.json(f"/openapi/v3/{path}"), await real.json(f"/openapi/v3/{path}")
        assert list(differences(ours, facts(theirs))) == [], f"{path}: run python -m tools.generate_cluster"
    ours, theirs = [await server.json("/openapi/v2") for server in (embedded, real)]
    for name in ("definitions", "paths"):
        built_in = {each: value for each, value in facts(theirs[name]).items() if each in ours[name]}
        own = {each: value for each, value in ours[name].items() if not is_custom(each)}
        assert list(differences(own, {each: built_in[each] for each in built_in if not is_custom(each)})) == []
    for name in ("swagger", "info", "parameters", "security", "securityDefinitions"):
        assert ours[name] == facts(theirs[name])


def is_custom(name: str) -> bool:
    return name.startswith("com.example") or "example.com" in name


@promised
async def test_v2_protobuf_is_that_of_the_server(real: Server) -> None:
    """Encoding the server's JSON results in the server's protobuf."""
    document = json.loads((await real.get("/openapi/v2", Accept="application/json")).body)
    ours = head_v2(document) + paths_v2(document["paths"]) + definitions_v2(document["definitions"])
    theirs = (await real.get("/openapi/v2", Accept=V2)).body
    check(wire.merged(ours, 8, 9), wire.merged(theirs, 8, 9))


@promised
@pytest.mark.parametrize("group_version", [*VERSIONS, "apps/v1"])
async def test_v3_protobuf_is_that_of_the_server(group_version: str, real: Server) -> None:
    path = f"/openapi/v3/apis/{group_version}"
    document = json.loads((await real.get(path, Accept="application/json")).body)
    ours, theirs = b"".join(parts_v3(document)), (await real.get(path, Accept=V3)).body
    mine, other = (wire.merged(each, 4, 5) for each in (ours, theirs))
    check(mine[:-1], other[:-1])
    # Components: the schemas, and for built-in kinds the security schemes.
    check(*(wire.merged(components[-1][1], 1, 7) for components in (mine, other)))


def check(ours: list[tuple[int, Any]], theirs: list[tuple[int, Any]]) -> None:
    assert [number for number, _ in ours] == [number for number, _ in theirs]
    for (number, value), (_, expected) in zip(ours, theirs, strict=True):
        assert list(wire.differences(value, expected, str(number)))[:5] == []


async def test_embedded_protobuf_has_the_content_of_its_json(embedded: Server) -> None:
    document = await embedded.json("/openapi/v2")
    expected = head_v2(document) + paths_v2(document["paths"]) + definitions_v2(document["definitions"])
    check(wire.merged((await embedded.get("/openapi/v2", Accept=V2)).body, 8, 9), wire.merged(expected, 8, 9))
    path = f"/openapi/v3/apis/{VERSIONS[0]}"
    expected = b"".join(parts_v3(await embedded.json(path)))
    assert (await embedded.get(path, Accept=V3)).body == expected
