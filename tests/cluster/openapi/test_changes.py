"""Documents follow the changes of definitions: at once on the embedded cluster, soon on the real one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio

from kubewright.client import HttpTransport, load_config
from kubewright.clock import SystemClock
from kubewright.testing import ControlPlane
from tests.cluster.openapi.definitions import definition
from tests.cluster.openapi.servers import DEFINITIONS_PATH, Server, differences, without_prose
from tests.patience import PATIENCE
from tests.yaml_files import load_yaml

SUFFIX: Final = "changes.example.com"
PLAIN: Final = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}
OPEN: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
Step = Callable[[Server, str], Awaitable[None]]
"""A change on a server, in a group."""
KNOWN: Final = load_yaml(Path(__file__).with_name("known_differences.yaml"))


@pytest_asyncio.fixture
async def server(control_plane: ControlPlane) -> AsyncIterator[Server]:
    """The real server without the definitions of other modules."""
    transport = HttpTransport(load_config(kubeconfig=control_plane.kubeconfig), SystemClock())
    yield Server(transport)
    await transport.close()


def versions(**schemas: Any) -> list[dict[str, Any]]:
    return [{"name": name, "served": True, "schema": {"openAPIV3Schema": schema}} for name, schema in schemas.items()]


def create(kind: str, *given: dict[str, Any]) -> Step:
    async def step(server: Server, group: str) -> None:
        answer = await server.send("POST", DEFINITIONS_PATH, definition(kind, *deepcopy(given), group=group))
        assert answer.status == 201, answer.body

    return step


def change(kind: str, patch: list[dict[str, Any]]) -> Step:
    async def step(server: Server, group: str) -> None:
        path = f"{DEFINITIONS_PATH}/{kind.lower()}s.{group}"
        answer = await server.send("PATCH", path, patch, Content_Type="application/json-patch+json")
        assert answer.status == 200, answer.body

    return step


def delete(kind: str) -> Step:
    async def step(server: Server, group: str) -> None:
        answer = await server.send("DELETE", f"{DEFINITIONS_PATH}/{kind.lower()}s.{group}")
        assert answer.status == 200, answer.body

    return step


def replace(path: str, value: Any) -> list[dict[str, Any]]:
    return [{"op": "replace", "path": path, "value": value}]


LIVES: Final[dict[str, list[Step]]] = {
    "a definition comes and goes": [create("One", *versions(v1=PLAIN)), delete("One")],
    "two kinds share a version": [
        create("One", *versions(v1=PLAIN)),
        create("Two", *versions(v1=OPEN)),
        delete("One"),
        delete("Two"),
    ],
    "a version is added, renamed and removed": [
        create("One", *versions(v1=PLAIN)),
        change("One", [{"op": "add", "path": "/spec/versions/-", "value": versions(v2=OPEN)[0] | {"storage": False}}]),
        change("One", replace("/spec/versions/1/name", "v3")),
        change("One", [{"op": "remove", "path": "/spec/versions/1"}]),
        delete("One"),
    ],
    "a version is no longer served, and served again": [
        create("One", *versions(v2=PLAIN, v1=PLAIN)),
        change("One", replace("/spec/versions/1/served", False)),
        change("One", replace("/spec/versions/1/served", True)),
        delete("One"),
    ],
    "the schema changes": [
        create("One", *versions(v1=PLAIN)),
        change("One", replace("/spec/versions/0/schema/openAPIV3Schema", OPEN)),
        change("One", replace("/spec/versions/0/schema/openAPIV3Schema", PLAIN)),
        delete("One"),
    ],
    "subresources and columns come": [
        create("One", *versions(v1=PLAIN)),
        change("One", [{"op": "add", "path": "/spec/versions/0/subresources", "value": {"status": {}}}]),
        change("One", [{"op": "add", "path": "/spec/versions/0/deprecated", "value": True}]),
        delete("One"),
    ],
}


async def documents(server: Server, group: str) -> Any:
    """Returns the documents of the group's served versions, by discovery; see `known_differences.yaml`."""
    v2 = await server.json("/openapi/v2")
    model = ".".join(reversed(group.split(".")))
    found: dict[str, Any] = {
        "paths": {path: item for path, item in v2["paths"].items() if group in path},
        "definitions": {name: each for name, each in v2["definitions"].items() if name.startswith(f"{model}.")},
    }
    groups = (await server.json("/apis"))["groups"]
    served = {each["groupVersion"] for entry in groups if entry["name"] == group for each in entry["versions"]}
    index = (await server.json("/openapi/v3"))["paths"]
    for group_version in served:
        path = f"apis/{group_version}"
        # While the real server removes a document, it answers with an empty body.
        if path in index and (body := (await server.get(f"/openapi/v3/{path}")).body):
            document = json.loads(body)
            schemas = document["components"]["schemas"]
            own = {name: each for name, each in schemas.items() if name.startswith("com.example")}
            found[path] = {"paths": document["paths"], "schemas": own}
    return without_prose(found)


async def become_equal(expected: Any, server: Server, group: str) -> list[str]:
    """Waits until the real server has the expected documents. Returns the differences that are left."""
    left: list[str] = []
    try:
        async with asyncio.timeout(PATIENCE / 4):
            while left := list(differences(expected, await documents(server, group))):  # noqa: ASYNC110
                await asyncio.sleep(0.1)  # real: nothing announces it
    except TimeoutError:
        return left
    return []


@pytest.mark.promise("The embedded cluster", "OpenAPI documents reflect a change of a definition immediately.")
@pytest.mark.parametrize("life", LIVES)
async def test_documents_follow_the_definitions(life: str, embedded: Server, server: Server) -> None:
    group = f"{''.join(word[0] for word in life.split())}.{SUFFIX}"
    for number, step in enumerate(LIVES[life]):
        await step(embedded, group)
        expected = await documents(embedded, group)
        await step(server, group)
        assert await become_equal(expected, server, group) == [], f"after step {number}"


async def test_real_server_keeps_the_v3_document_of_a_removed_version(embedded: Server, server: Server) -> None:
    """A known difference: if it is gone, remove it from the list."""
    assert [entry["scenario"] for entry in KNOWN] == ["the v3 document of a version that is no longer served"]
    group, path = f"stale.{SUFFIX}", f"/openapi/v3/apis/stale.{SUFFIX}/v1"
    for step in (
        create("One", *versions(v2=PLAIN, v1=PLAIN)),
        change("One", replace("/spec/versions/1/served", False)),
    ):
        await step(embedded, group)
        await step(server, group)
        assert await become_equal(await documents(embedded, group), server, group) == []
    assert [(await one.get(path)).status for one in (embedded, server)] == [404, 200]
    await delete("One")(server, group)


async def test_etag_changes_with_the_definition_and_only_its_own(embedded: Server) -> None:
    async def etags() -> dict[str, str]:
        index = (await embedded.json("/openapi/v3"))["paths"]
        return {path: each["serverRelativeURL"].partition("hash=")[2] for path, each in index.items()}

    group = f"etags.{SUFFIX}"
    before = await etags()
    await create("One", *versions(v1=PLAIN))(embedded, group)
    created = await etags()
    assert {path for path in created if created[path] != before.get(path)} == {f"apis/{group}/v1"}
    await change("One", replace("/spec/versions/0/schema/openAPIV3Schema", OPEN))(embedded, group)
    changed = await etags()
    assert {path for path in changed if changed[path] != created[path]} == {f"apis/{group}/v1"}
    await change("One", [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}])(embedded, group)
    assert await etags() == changed
