"""Lists and pages, on both clusters; what happens when it forgets a revision, on a scripted one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubewright.api import DecodeError, ObjectMeta, core
from kubewright.client import Client, Expired, NotKubernetes

pytestmark = pytest.mark.clusters


@pytest.fixture
async def seven(client: Client, namespace: str) -> str:
    for number in range(7):
        await client.create(core.ConfigMap(metadata=ObjectMeta(name=f"c{number}", namespace=namespace)))
    return namespace


@pytest.mark.promise("Reading with the client", "Lists are paged, and can be iterated a page at a time.")
async def test_awaiting_a_list_gives_everything_with_its_revision(client: Client, seven: str) -> None:
    listed = await client.list(core.ConfigMap, seven, page_size=3)
    assert [obj.metadata.name for obj in listed] == [f"c{number}" for number in range(7)]
    assert int(listed.resource_version) > 0
    assert listed[0].kind == "ConfigMap"


@pytest.mark.promise("Reading with the client", "Lists are paged, and can be iterated a page at a time.")
async def test_iterating_holds_one_page_at_a_time(client: Client, seven: str) -> None:
    pages = [len(page) async for page in client.list(core.ConfigMap, seven, page_size=3).pages()]
    assert pages == [3, 3, 1]
    names = [obj.metadata.name async for obj in client.list(core.ConfigMap, seven, page_size=3)]
    assert names == [f"c{number}" for number in range(7)]


async def test_a_limit_ends_the_list(client: Client, seven: str) -> None:
    listed = await client.list(core.ConfigMap, seven, limit=4, page_size=3)
    assert len(listed) == 4
    assert listed.remaining == 3
    assert len([obj async for obj in client.list(core.ConfigMap, seven, limit=4, page_size=3)]) == 4


async def test_a_limit_is_at_least_one_and_a_number(scripted: Any) -> None:
    server = scripted()
    unchecked: Any = Client(transport=server)
    for parameter in ("limit", "page_size"):
        right = f"^{parameter} is a whole number of at least 1, or None for all objects, not"
        for number in (0, -1):
            with pytest.raises(ValueError, match=f"{right} {number}$"):
                unchecked.list(core.ConfigMap, **{parameter: number})
        for wrong in ("1", 1.5, True):
            with pytest.raises(TypeError, match=f"{right} a {type(wrong).__name__}$"):
                unchecked.list(core.ConfigMap, **{parameter: wrong})
    with pytest.raises(ValueError, match=r"^size is a whole number of at least 1, or None for all objects, not 0$"):
        await unchecked.list_page(core.ConfigMap, size=0)
    assert server.requests == []


async def test_all_namespaces_and_one(client: Client, seven: str) -> None:
    await client.create(core.ConfigMap(metadata=ObjectMeta(generate_name="elsewhere-", namespace="default")))
    everywhere = await client.list(core.ConfigMap)
    assert {obj.metadata.namespace for obj in everywhere} > {seven}
    assert len(await client.list(core.ConfigMap, seven, page_size=None)) == 7


async def test_an_older_revision_can_be_asked_for(client: Client, seven: str) -> None:
    before = await client.list(core.ConfigMap, seven)
    await client.delete(core.ConfigMap, "c0", seven)
    then = await client.list(
        core.ConfigMap, seven, resource_version=before.resource_version, resource_version_match="Exact"
    )
    assert len(then) == 7


def page(names: str, revision: int, token: str = "") -> tuple[int, bytes]:
    items = [{"metadata": {"name": name, "resourceVersion": str(revision)}} for name in names]
    body = {"metadata": {"resourceVersion": str(revision), "continue": token}, "items": items}
    return 200, json.dumps(body).encode()


def gone(token: str = "") -> tuple[int, bytes]:
    status = {"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410, "metadata": {"continue": token}}
    return 410, json.dumps(status).encode()


@pytest.mark.promise(
    "What the cache keeps",
    "So it is with one that is nested too deeply for a decoder, in a watch and in a page of a list.",
)
async def test_an_object_that_is_nested_too_deeply_hides_no_other(scripted: Any) -> None:
    # Deeper than any interpreter decodes: Python 3.13 allows ten times as many levels as 3.11.
    deep = b'{"metadata":{"name":"b"},"spec":%b%b}' % (b"[" * 100_000, b"]" * 100_000)
    whole = page("abc", 5)[1].replace(b'{"metadata": {"name": "b", "resourceVersion": "5"}}', deep)
    client = Client(transport=scripted((200, whole), (200, whole)))
    items = (await client.list_page(core.Node)).items or []
    assert [bytes(item) == deep for item in items] == [False, True, False]
    with pytest.raises(DecodeError, match=r"^Node: nested too deeply$"):
        await client.list(core.Node)


async def test_awaiting_restarts_when_the_revision_expires(scripted: Any) -> None:
    server = scripted(page("ab", 5, "more"), gone("newer"), page("abcd", 9))
    listed = await Client(transport=server).list(core.Node, page_size=2)
    assert [obj.metadata.name for obj in listed] == ["a", "b", "c", "d"]
    assert listed.resource_version == "9"
    assert "limit" not in dict(server.requests[2].query)


async def test_iterating_continues_with_a_newer_state(scripted: Any) -> None:
    server = scripted(page("ab", 5, "more"), gone("newer"), page("d", 9))
    names = [obj.metadata.name async for obj in Client(transport=server).list(core.Node, page_size=2)]
    assert names == ["a", "b", "d"]
    assert dict(server.requests[2].query)["continue"] == "newer"


async def test_a_revision_that_was_never_there_is_expired(scripted: Any) -> None:
    with pytest.raises(Expired):
        await Client(transport=scripted(gone())).list(core.Node)
    with pytest.raises(Expired):
        _ = [obj async for obj in Client(transport=scripted(gone())).list(core.Node)]


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"{}", b'{"metadata":{}}', b'{"items":3}'])
async def test_response_that_is_not_a_list_raises_not_kubernetes(scripted: Any, body: bytes) -> None:
    with pytest.raises(NotKubernetes, match=r"^list nodes: the response is not a list of Kubernetes objects"):
        await Client(transport=scripted((200, body))).list(core.Node)


async def test_a_list_of_nothing_may_be_null(scripted: Any) -> None:
    server = scripted((200, b'{"metadata":{"resourceVersion":"1"},"items":null}'))
    assert await Client(transport=server).list(core.Node) == []
