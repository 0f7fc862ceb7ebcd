"""Documents are built on request, in small steps, and only as far as something changed."""

from __future__ import annotations

import asyncio
import hashlib
import json
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest

from kubewright.cluster.openapi import CustomKind, OpenApiDocuments

KINDS = 100
START = datetime(2026, 1, 1, tzinfo=UTC)


class Encodings:
    """Counts how often kinds were encoded."""

    def __init__(self) -> None:
        self.count = 0

    def taken(self) -> int:
        taken, self.count = self.count, 0
        return taken


@pytest.fixture
def encodings(monkeypatch: pytest.MonkeyPatch) -> Encodings:
    counter = Encodings()
    for name in ("paths_v2", "paths_v3"):
        original = getattr(CustomKind, name)

        def counted(kind: CustomKind, original: Any = original) -> Any:
            counter.count += 1
            return original(kind)

        monkeypatch.setattr(CustomKind, name, counted)
    return counter


def kind(number: int, text: str = "") -> CustomKind:
    schema = {"type": "object", "description": text, "properties": {"spec": {"type": "object"}}}
    return CustomKind(
        group=f"g{number % 10}.example.com",
        version="v1",
        kind=f"Kind{number}",
        list_kind=f"Kind{number}List",
        plural=f"kind{number}s",
        namespaced=True,
        schema=schema,
    )


async def test_change_of_one_definition_encodes_only_its_kind(encodings: Encodings) -> None:
    kinds = [kind(number) for number in range(KINDS)]
    documents = OpenApiDocuments(lambda: kinds, lambda: START)
    first = await documents.v3_index()
    assert encodings.taken() == KINDS
    assert await documents.v3_index() is first
    await documents.v2()
    assert encodings.taken() == KINDS
    await documents.v2(protobuf=True)
    assert encodings.taken() == KINDS
    kinds[7] = kind(7, "changed")
    changed = await documents.v3_index()
    await documents.v3("apis/g7.example.com/v1")
    await documents.v2()
    await documents.v2(protobuf=True)
    assert encodings.taken() == 3
    assert changed.etag != first.etag


async def test_other_tasks_run_between_kinds() -> None:
    kinds = [kind(number) for number in range(KINDS)]
    documents = OpenApiDocuments(lambda: kinds, lambda: START)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.ensure_future(count())
    for build in (documents.v3_index(), documents.v2(), documents.v2(protobuf=True)):
        before = turns
        await build
        assert turns - before >= KINDS
    before = turns
    await documents.v3("api/v1", protobuf=True)
    assert turns - before >= 20
    before = turns
    await documents.v2_gzip()
    assert turns - before >= 4
    counting.cancel()


async def test_document_keeps_its_time_while_its_content_is_the_same() -> None:
    kinds, now = [kind(1)], [START]
    documents = OpenApiDocuments(lambda: kinds, lambda: now[0])
    before = await documents.v2()
    now[0] = START.replace(year=2027)
    kinds[0] = kind(1)  # written again, without a change
    same = await documents.v2()
    assert (same.etag, same.modified) == (before.etag, START)
    kinds[0] = kind(1, "changed")
    changed = await documents.v2()
    assert changed.etag != before.etag
    assert changed.modified == now[0]


async def test_etag_is_the_digest_of_the_json() -> None:
    documents = OpenApiDocuments(lambda: [kind(1)], lambda: START)
    for document in (
        await documents.v2(),
        await documents.v3("apis/apps/v1"),
        await documents.v3("apis/g1.example.com/v1"),
    ):
        assert document is not None
        assert document.etag == hashlib.sha512(document.body).hexdigest().upper()


async def test_custom_kind_of_a_built_in_group_version_is_added_to_its_document() -> None:
    snapshots = CustomKind(
        group="storage.k8s.io", version="v1", kind="Extra", list_kind="ExtraList", plural="extras", namespaced=False
    )
    kinds = [snapshots]
    documents = OpenApiDocuments(lambda: kinds, lambda: START)
    merged = await documents.v3("apis/storage.k8s.io/v1")
    assert merged is not None
    paths = json.loads(merged.body)["paths"]
    assert "/apis/storage.k8s.io/v1/extras" in paths
    assert "/apis/storage.k8s.io/v1/storageclasses" in paths
    kinds.clear()
    plain = await documents.v3("apis/storage.k8s.io/v1")
    assert plain is not None
    assert "/apis/storage.k8s.io/v1/extras" not in json.loads(plain.body)["paths"]


def test_nothing_is_read_before_the_first_request() -> None:
    program = """
import asyncio
from kubewright.cluster import Cluster
from kubewright.cluster.openapi import _recorded  # private: nothing public tells what was read

async def main():
    async with Cluster(controllers=False):
        print(_recorded._index.cache_info().misses)

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
