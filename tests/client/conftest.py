"""A custom resource for the tests of the client: its server knows more fields than its model."""

from __future__ import annotations

from typing import Any

import pytest

import kubewright as kw
from kubewright.api import apiextensions, from_dict
from kubewright.testing import ControlPlane


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


@pytest.fixture(scope="session")
def widget(control_plane: ControlPlane) -> type[Widget]:
    """The class of a custom resource that the control plane serves."""
    crd = from_dict(apiextensions.CustomResourceDefinition, _CRD)
    with kw.BlockingClient.connect(kubeconfig=control_plane.kubeconfig) as client:
        client.create(crd)
        for event in client.watch(apiextensions.CustomResourceDefinition, fields={"metadata.name": crd.metadata.name}):
            conditions = event.object.status.conditions or []
            if any(condition.type == "Established" and condition.status == "True" for condition in conditions):
                break
    return Widget
