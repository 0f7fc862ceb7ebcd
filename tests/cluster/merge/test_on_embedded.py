"""The embedded cluster answers every request of the tables as the real server did."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubewright.client import Client
from kubewright.cluster import Cluster
from tests.cluster.merge.table import Case, Object, recorded, recorded_random
from tests.cluster.merge.test_on_control_plane import CASES, Run, install

NAMESPACE = "tables"

# What is not the same yet, and why. The list may only become shorter.
_NULLS = "nulls that an apply leaves are not refused"
KNOWN = {
    "widget-filled-then-emptied": _NULLS,
    "widget-null-to-value": _NULLS,
    "random-widget-31": _NULLS,
    "random-widget-35": _NULLS,
    "widget-true-is-not-one": "the generation takes true for 1",
    "node-created": "defaults and taints of nodes",
    "node-taints": "defaults and taints of nodes",
    "node-status": "defaults and taints of nodes",
    "patch-merge-a-list": "the message of a patch that is no object",
    "patch-merge-a-text": "the message of a patch that is no object",
    "patch-merge-null": "the message of a patch that is no object",
}


@pytest.mark.promise(
    "How the embedded cluster merges",
    "The embedded cluster answers these requests as the real server did, but for a list of known differences.",
)
async def test_the_embedded_cluster_answers_as_the_real_server_did() -> None:
    async with Cluster() as cluster, cluster.client() as client:
        await client.request("POST", "/api/v1/namespaces", body={"metadata": {"name": NAMESPACE}})
        await install(client)
        different = {}
        for case, answers in [*((case, recorded()[case.name]) for case in CASES), *recorded_random()]:
            found = await difference(client, case, answers)
            if found:
                different[case.name] = found
    new = {name: found for name, found in different.items() if name not in KNOWN}
    assert new == {}


async def difference(client: Client, case: Case, answers: list[Object]) -> str:
    """The first step whose outcome is another, and both outcomes; nothing when there is none."""
    outcomes = await _Run(client, NAMESPACE, case).steps()
    for number, (ours, theirs) in enumerate(zip(outcomes, answers, strict=True)):
        if ours != theirs:
            return f"step {number}: {json.dumps(ours)} instead of {json.dumps(theirs)}"
    return ""


class _Run(Run):
    async def compare_merged(self, step: Any, live: Object, answer: Object) -> None:
        """Nothing: the server is our own."""


def test_what_is_known_to_differ_is_in_the_tables() -> None:
    assert set(KNOWN) <= {case.name for case in (*CASES, *(case for case, _ in recorded_random()))}
