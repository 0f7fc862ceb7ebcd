"""Forms, ETags and caching of OpenAPI documents are those of the real server."""

from __future__ import annotations

import gzip
import json
from typing import Final

import pytest

from tests.cluster.openapi.servers import Answer, Server

V2: Final = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
V3: Final = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
APPS: Final = "/openapi/v3/apis/apps/v1"
CUSTOM: Final = "/openapi/v3/apis/described.example.com/v1"
COMPARED: Final = ("content-type", "cache-control", "content-encoding")


def shown(answer: Answer) -> tuple[object, ...]:
    """Returns what must be equal, and which headers there are of those that cannot be."""
    vary = sorted(part.strip().lower() for part in answer.headers.get("vary", "").split(",") if part)
    has = {name: name in answer.headers for name in ("etag", "last-modified", "expires", "location")}
    return answer.status, {name: answer.headers.get(name) for name in COMPARED}, vary[:1], has, bool(answer.body)


@pytest.mark.parametrize(
    ("path", "accept"),
    [
        ("/openapi/v2", ""),
        ("/openapi/v2", "*/*"),
        ("/openapi/v2", "application/json"),
        ("/openapi/v2", V2),
        ("/openapi/v2", V2.replace("@", ".")),
        ("/openapi/v2", f"application/json;q=0.5, {V2}"),
        ("/openapi/v2", "text/plain"),
        ("/openapi/v2/x", ""),
        ("/openapi", ""),
        ("/openapi/v3", ""),
        ("/openapi/v3", "text/plain"),
        (APPS, ""),
        (APPS, V3),
        (APPS, V3.replace("@", ".")),
        (APPS, "text/plain"),
        (CUSTOM, ""),
        (CUSTOM, V3),
        (f"{CUSTOM}?hash=0", ""),
        ("/openapi/v3/apis/nowhere.example.com/v1", ""),
        ("/openapi/v3/apis/described.example.com", ""),
        ("/openapi/v3/version", ""),
    ],
)
async def test_answers_are_alike(path: str, accept: str, embedded: Server, real: Server) -> None:
    headers = {"Accept": accept} if accept else {}
    ours, theirs = [shown(await server.get(path, **headers)) for server in (embedded, real)]
    assert ours == theirs


@pytest.mark.promise("The embedded cluster", "An unchanged OpenAPI document is answered with 304.")
@pytest.mark.parametrize("path", ["/openapi/v2", APPS, CUSTOM])
async def test_unchanged_document_is_not_sent_again(path: str, embedded: Server, real: Server) -> None:
    seen = []
    for server in (embedded, real):
        first = await server.get(path)
        same = await server.get(path, If_None_Match=first.headers["etag"])
        several = await server.get(path, If_None_Match=f'"other", W/{first.headers["etag"]}')
        other = await server.get(path, If_None_Match='"other"')
        later = await server.get(path, If_Modified_Since=first.headers["last-modified"])
        assert same.headers["etag"] == first.headers["etag"]
        seen.append([shown(each) for each in (same, several, other, later)])
    assert seen[0] == seen[1]
    assert [answer[0] for answer in seen[0]] == [304, 304, 200, 304]


async def test_both_forms_have_one_etag(embedded: Server) -> None:
    for path, form in (("/openapi/v2", V2), (APPS, V3), (CUSTOM, V3)):
        plain, protobuf = await embedded.get(path), await embedded.get(path, Accept=form)
        assert plain.headers["etag"] == protobuf.headers["etag"]


@pytest.mark.parametrize("path", [APPS, CUSTOM])
async def test_address_with_hash_may_be_cached_forever(path: str, embedded: Server, real: Server) -> None:
    seen = []
    for server in (embedded, real):
        index = await server.json("/openapi/v3")
        address = index["paths"][path.removeprefix("/openapi/v3/")]["serverRelativeURL"]
        found = await server.get(address)
        assert found.headers["etag"].strip('"') == address.partition("hash=")[2]
        moved = await server.get(f"{path}?hash=0")
        assert moved.headers["location"] == address
        seen.append([shown(found), shown(moved)])
    assert seen[0] == seen[1]
    assert seen[0][0][1] == {"content-type": "application/json", "cache-control": "public, immutable"} | {
        "content-encoding": None
    }


async def test_v2_is_compressed_for_clients_that_accept_it(embedded: Server, real: Server) -> None:
    for accept in ("application/json", V2):
        ours = await embedded.get("/openapi/v2", Accept=accept, Accept_Encoding="gzip")
        theirs = await real.get("/openapi/v2", Accept=accept, Accept_Encoding="gzip")
        assert shown(ours) == shown(theirs)
        body = gzip.decompress(ours.body) if ours.headers.get("content-encoding") == "gzip" else ours.body
        assert body == (await embedded.get("/openapi/v2", Accept=accept)).body


async def test_document_is_json(embedded: Server) -> None:
    for path in (await embedded.json("/openapi/v3"))["paths"]:
        assert json.loads((await embedded.get(f"/openapi/v3/{path}")).body)["openapi"] == "3.0.0"
