"""Sends the same request to both servers, for tests that compare tables of requests."""

from __future__ import annotations

import json
from typing import Any

from kubewright.client import ConnectionLost, Request, Transport
from kubewright.cluster.machinery import ResourceType
from kubewright.cluster.registry import builtin_types

WIDGETS = "/apis/pairs.example.com/v1/namespaces/default/widgets"
WIDGET: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.pairs.example.com"},
    "spec": {
        "group": "pairs.example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"},
                },
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
"""A custom resource, which both servers serve in these tests."""


def path_of(type_: ResourceType) -> str:
    """Returns the path of a resource, in the namespace `default`."""
    prefix = f"/apis/{type_.api_version}" if type_.group else "/api/v1"
    return f"{prefix}/namespaces/default/{type_.plural}" if type_.namespaced else f"{prefix}/{type_.plural}"


def paths_by_version() -> dict[str, str]:
    """Returns the path of one resource of each group version that has one that can be written."""
    found: dict[str, str] = {}
    for type_ in builtin_types():
        if {"create", "delete", "list"} <= set(type_.verbs):
            found.setdefault(type_.api_version, path_of(type_))
    return {**found, "pairs.example.com/v1": WIDGETS}


async def answer(
    transport: Transport,
    method: str,
    path: str,
    body: bytes | None = None,
    *,
    type_: str = "application/json",
    accept: str = "application/json",
) -> tuple[int, str]:
    """Returns the status and the message, or the kind of a success. (0, "closed") if the connection is closed."""
    path, _, query = path.partition("?")
    request = Request(
        method=method,
        path=path,
        query=[(name, value) for name, _, value in (part.partition("=") for part in query.split("&") if part)],
        headers={"Content-Type": type_, "Accept": accept, "User-Agent": "test/1"},
        body=body,
    )
    try:
        response = await transport.send(request)
        content = await response.read()
    except ConnectionLost:
        return 0, "closed"
    try:
        found = json.loads(content)
    except ValueError:
        return response.status, content[:80].decode(errors="replace")
    return response.status, found.get("message", found.get("kind", ""))
