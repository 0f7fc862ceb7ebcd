"""The embedded cluster answers every request of the tables like the real server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubewright.client import Client
from kubewright.cluster import Cluster
from tests.cluster.merge.table import Case, Object, recorded, recorded_random
from tests.cluster.merge.test_on_control_plane import CASES, Run, install

NAMESPACE = "tables"

# Known differences with their reasons. The list may only shrink.
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
    "patch-merge-a-list": "the message of a patch that is not an object",
    "patch-merge-a-text": "the message of a patch that is not an object",
    "patch-merge-null": "the message of a patch that is not an object",
}


@pytest.mark.promise(
    "How the embedded cluster merges",
    "The embedded cluster answers these requests like the real server, except for a list of known differences.",
)
async def test_embedded_cluster_matches_recorded_responses() -> None:
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
    """Returns the first step with a different outcome, and both outcomes; None if all are equal."""
    outcomes = await _Run(client, NAMESPACE, case).steps()
    for number, (ours, theirs) in enumerate(zip(outcomes, answers, strict=True)):
        if ours != theirs:
            return f"step {number}: {json.dumps(ours)} instead of {json.dumps(theirs)}"
    return ""


class _Run(Run):
    async def compare_merged(self, step: Any, live: Object, answer: Object) -> None:
        """Does nothing: this is our own server."""


def test_known_differences_are_in_the_tables() -> None:
    assert set(KNOWN) <= {case.name for case in (*CASES, *(case for case, _ in recorded_random()))}
