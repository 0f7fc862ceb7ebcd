"""Sizes: both servers reject the same objects and requests as too large, with the same messages."""

from __future__ import annotations

import json
import re
import secrets
from typing import Any

import pytest

from kubewright.client import HttpTransport, Request, Transport, load_config
from kubewright.clock import SystemClock
from kubewright.cluster import Cluster
from kubewright.testing import ControlPlane

MEBIBYTE = 1024 * 1024
MAPS, SECRETS, PODS = (f"/api/v1/namespaces/NS/{plural}" for plural in ("configmaps", "secrets", "pods"))
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"


def of(name: str, **content: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, **content}


def pod(size: int) -> dict[str, Any]:
    variable = {"name": "A", "value": "x" * size}
    return of("a", spec={"containers": [{"name": "c", "image": "i", "env": [variable]}]})


STEPS: list[tuple[str, str, str, Any]] = [
    ("POST", MAPS, "", of("a", data={"k": "a" * (MEBIBYTE + 1)})),
    ("POST", MAPS, "", of("a", data={"k": "a" * 600_000}, binaryData={"b": "YWFh" * 150_000})),
    ("POST", MAPS, "", of("full", data={"k": "a" * (MEBIBYTE - 2) + "é"})),
    ("PATCH", f"{MAPS}/full", MERGE, {"data": {"l": "x"}}),
    (
        "PATCH",
        f"{MAPS}/full?fieldManager=m",
        APPLY,
        {"apiVersion": "v1", "kind": "ConfigMap", **of("full", data={"l": "x"})},
    ),
    ("POST", MAPS, "", {"metadata": {"name": "a", "annotations": {"k": "a" * 256 * 1024}}}),
    ("POST", SECRETS, "", of("a", stringData={"k": "a" * (MEBIBYTE + 1)})),
    ("POST", SECRETS, "", of("a", stringData={"k": "a" * MEBIBYTE})),
    ("POST", MAPS, "", of("a", data={"k": "a" * 3 * MEBIBYTE})),
    ("PUT", f"{MAPS}/full", "", of("full", data={"k": "a" * 3 * MEBIBYTE})),
    ("PATCH", f"{MAPS}/full", MERGE, of("full", data={"k": "a" * 3 * MEBIBYTE})),
    ("PATCH", f"{MAPS}/full?fieldManager=m&force=true", APPLY, of("full", data={"k": "a" * 3 * MEBIBYTE})),
    ("DELETE", f"{MAPS}/full", "", {"k": "a" * 3 * MEBIBYTE}),
    ("POST", PODS, "", pod(1_700_000)),
    ("POST", PODS, "", pod(2_500_000)),
]


async def answers(transport: Transport, namespace: str) -> list[tuple[int, Any]]:
    """Returns the status of each step, and the message and causes of each rejection."""
    found = []
    for method, target, media, body in [("POST", "/api/v1/namespaces", "", of(namespace)), *STEPS]:
        path, _, query = target.replace("NS", namespace).partition("?")
        pairs = [(name, value) for name, _, value in (part.partition("=") for part in query.split("&") if part)]
        headers = {"Content-Type": media or "application/json"}
        content = json.dumps(body, ensure_ascii=False).encode()
        response = await transport.send(Request(method=method, path=path, query=pairs, headers=headers, body=content))
        answer = json.loads(await response.read())
        error = (answer["message"], (answer.get("details") or {}).get("causes")) if response.status >= 400 else None
        found.append((response.status, error))
    return found


def _shown(answer: tuple[int, Any]) -> str:
    return re.sub(r"\(\d+ vs", "(SIZE vs", str(answer))[:400]


@pytest.mark.promise("The embedded cluster", "Objects and requests over the limits of the real server are rejected.")
async def test_both_servers_reject_the_same_sizes(control_plane: ControlPlane) -> None:
    namespace = f"sizes-{secrets.token_hex(4)}"
    real = HttpTransport(load_config(kubeconfig=control_plane.kubeconfig), SystemClock())
    theirs = await answers(real, namespace)
    await real.close()
    async with Cluster(seed=1, controllers=False) as cluster:
        ours = await answers(cluster.transport(), namespace)
    for step, one, other in zip(["namespace", *(f"{s[0]} {s[1]}" for s in STEPS)], ours, theirs, strict=True):
        # The real server counts the bytes of protobuf.
        assert _shown(one) == _shown(other), step
    assert [status for status, _ in theirs[1:]] == [
        422,
        422,
        201,
        422,
        422,
        422,
        422,
        201,
        413,
        413,
        413,
        413,
        413,
        500,
        500,
    ]
