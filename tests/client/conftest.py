"""A custom resource of which the server knows more than the model, and scripted servers."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import AsyncIterator
from typing import Any

import pytest

import kubewright as kw
from kubewright.api import apiextensions, from_dict, is_condition_true
from kubewright.client import AlreadyExists, Request, Response


class Port(kw.Model):
    """The server also knows `note` here."""

    name: str
    number: int | None = None


class WidgetSpec(kw.Model):
    """The server also knows `hidden` here, and `labels` with any content."""

    size: int | None = None
    text: str | None = None
    tags: list[str] | None = None
    ports: list[Port] | None = None


class WidgetStatus(kw.Model):
    ready: int | None = None


@kw.resource("client.example.com/v1", scale_subresource=True)
class Widget(kw.Resource[WidgetSpec, WidgetStatus]):
    """A resource of these tests."""


_INTEGER, _STRING = {"type": "integer"}, {"type": "string"}
_PORT = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": _STRING, "number": {**_INTEGER, "default": 80}, "note": _STRING},
}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {**_INTEGER, "minimum": 0, "maximum": 100},
                "text": {**_STRING, "maxLength": 10},
                "hidden": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "tags": {"type": "array", "items": _STRING},
                "ports": {
                    "type": "array",
                    "items": _PORT,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                },
            },
        },
        "status": {"type": "object", "properties": {"ready": _INTEGER, "since": _STRING}},
    },
}
_CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.client.example.com"},
    "spec": {
        "group": "client.example.com",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "deprecated": True,
                "deprecationWarning": "client.example.com/v1 Widget is only for tests",
                "schema": {"openAPIV3Schema": _SCHEMA},
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.ready"},
                },
            }
        ],
    },
}


@pytest.fixture
async def widget(client: kw.Client) -> type[Widget]:
    """The class of a custom resource that the server serves."""
    crd = from_dict(apiextensions.CustomResourceDefinition, _CRD)
    with contextlib.suppress(AlreadyExists):  # by an earlier test: the real server is shared
        await client.create(crd)
    await client.wait_for(
        apiextensions.CustomResourceDefinition,
        crd.metadata.name,
        lambda crd: is_condition_true(crd.status, "Established"),
    )
    return Widget


class ScriptedTransport:
    """A server that returns scripted responses in order and records the requests.

    An answer is a status with a body and perhaps headers, or an exception.
    """

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []
        self.closed = False

    async def send(self, request: Request) -> Response:
        self.requests.append(copy.deepcopy(request))
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return ScriptedResponse(*answer)

    async def close(self) -> None:
        self.closed = True


class ScriptedResponse:
    """A body in pieces; a piece that is an exception is raised at its place."""

    def __init__(self, status: int, body: bytes | list[Any] = b"", headers: dict[str, str] | None = None) -> None:
        self.status = status
        self.headers = headers or {}
        self._pieces = body if isinstance(body, list) else [body]

    def warnings(self) -> list[str]:
        return [value for name, value in self.headers.items() if name == "Warning"]

    async def read(self) -> bytes:
        return b"".join([piece async for piece in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            if isinstance(piece, BaseException):
                raise piece
            yield piece

    def close(self) -> None:
        """Nothing to free."""


@pytest.fixture
def scripted() -> type[ScriptedTransport]:
    """The class of scripted servers."""
    return ScriptedTransport
