"""A custom resource of which the server knows more than the model."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

import kubewright as kw
from kubewright.api import apiextensions, from_dict, is_condition_true
from kubewright.client import AlreadyExists
from tests.transports.scripted import ScriptedTransport


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


@pytest.fixture
def scripted() -> type[ScriptedTransport]:
    """The class of scripted servers."""
    return ScriptedTransport
