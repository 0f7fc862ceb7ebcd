"""Requests to the embedded cluster."""

from __future__ import annotations

from typing import Any

from tests.attacks.conftest import Api
from tests.attacks.harness import COPIES

MAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
YAML, APPLY = "application/yaml", "application/apply-patch+yaml"
JSON_PATCH, MERGE_PATCH = "application/json-patch+json", "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def answers(*codes: int) -> tuple[int, ...]:
    """These status codes and, for many copies, 0: a connection that the server closed without an answer.

    Many copies exceed the connections, or the bytes of bodies, that a server holds, so it closes some. `assault` checks
    that it closed none for another reason.
    """
    return codes if COPIES == 1 else (*codes, 0)


async def refused(api: Api, method: str, path: str, body: bytes, kind: str, *codes: int) -> None:
    """Asserts that a request is answered by the server with one of these codes, and not with an internal error."""
    status, text = await api.send(method, path, body, kind)
    assert status in answers(*codes), f"{status}: {text[:500]}"
