"""Names of objects: for each kind, both servers accept and reject the same ones, with the same messages."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from kubewright.client import HttpTransport, Request, Transport, load_config
from kubewright.clock import SystemClock
from kubewright.cluster import Cluster
from kubewright.cluster.machinery import ResourceType
from kubewright.testing import ControlPlane

NAMES = [
    *("a", "a.b", "1a", "A", "a_b", "a:b", "a%b", "a.b/c", ".", "..", "-a", "a-", "é", "system:a", "2001:db8::1"),
    *("x" * 53, "a" * 64, "a" * 254),
]
PREFIXES = ["A", "a-", "a_", "a.", ".", "-", "1-", f"{'a' * 70}-", "a" * 300]
DEFINITIONS = "customresourcedefinitions"  # their names follow from the spec


def collection_of(type_: ResourceType) -> str:
    root = f"/apis/{type_.group}/{type_.version}" if type_.group else f"/api/{type_.version}"
    return f"{root}/namespaces/default/{type_.plural}" if type_.namespaced else f"{root}/{type_.plural}"


async def judged(transport: Transport, path: str, metadata: dict[str, str]) -> Any:
    """Returns what a dry run says about the metadata: the errors, or the status of any other answer."""
    response = await transport.send(
        Request(
            method="POST",
            path=path,
            query=[("dryRun", "All")],
            headers={"Content-Type": "application/json"},
            body=json.dumps({"metadata": metadata}).encode(),
        )
    )
    body = json.loads(await response.read())
    if response.status != 422:
        return response.status if response.status != 201 else []
    causes = body["details"]["causes"]
    found = [f"{each['field']}: {each['message']}" for each in causes if each["field"].startswith("metadata")]
    prefix = metadata.get("generateName", "")[:58]
    return [re.sub(re.escape(prefix) + r"[a-z0-9]{5}\b", "GENERATED", each) if prefix else each for each in found]


@pytest.mark.promise("The embedded cluster", "The names of each kind follow the rule of the real server.")
async def test_both_servers_accept_the_same_names(control_plane: ControlPlane) -> None:
    real = HttpTransport(load_config(kubeconfig=control_plane.kubeconfig), SystemClock())
    different: list[str] = []
    async with Cluster(seed=1, controllers=False) as cluster:
        embedded = cluster.transport()
        given = [{"name": name} for name in NAMES] + [{"generateName": prefix} for prefix in PREFIXES]
        for type_ in cluster.state.types:
            if not {"create", "get"} <= {*type_.verbs} or type_.plural == DEFINITIONS:
                continue
            ours = [await judged(embedded, collection_of(type_), metadata) for metadata in given]
            if 501 in ours:
                continue
            theirs = await asyncio.gather(*(judged(real, collection_of(type_), metadata) for metadata in given))
            different += [
                f"{type_.qualified} {metadata}: embedded {one}, real {other}"
                for metadata, one, other in zip(given, ours, theirs, strict=True)
                if one != other
            ]
    await real.close()
    assert different == []
