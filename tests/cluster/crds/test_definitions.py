"""Rejected definitions: the same errors as on the real server."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from kubewright.client import Client, Invalid
from kubewright.cluster import Cluster
from kubewright.testing import ControlPlane

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ROOT = "spec.versions.0.schema.openAPIV3Schema"
SPEC = f"{ROOT}.properties.spec"
A = f"{SPEC}.properties.a"
GOOD: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "foos.bad.example.com"},
    "spec": {
        "group": "bad.example.com",
        "scope": "Namespaced",
        "names": {"kind": "Foo", "plural": "foos"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}},
                    }
                },
            }
        ],
    },
}
TEXT = {"type": "string"}
PAIR = {"type": "object", "properties": {"k": TEXT, "v": TEXT}}

# Each case changes the valid definition at some paths; None removes a field.
CASES: dict[str, dict[str, Any]] = {
    "nothing is wrong": {},
    "another name": {"metadata.name": "others.bad.example.com"},
    "no group": {"spec.group": ""},
    "a group with a space": {"spec.group": "bad example.com", "metadata.name": "foos.bad example.com"},
    "a group without a dot": {"spec.group": "bad", "metadata.name": "foos.bad"},
    "a protected group": {"spec.group": "bad.k8s.io", "metadata.name": "foos.bad.k8s.io"},
    "a protected group, approved": {
        "spec.group": "bad.k8s.io",
        "metadata.name": "foos.bad.k8s.io",
        "metadata.annotations": {"api-approved.kubernetes.io": "unapproved, sample"},
    },
    "a protected group with nonsense": {
        "spec.group": "bad.k8s.io",
        "metadata.name": "foos.bad.k8s.io",
        "metadata.annotations": {"api-approved.kubernetes.io": "yes"},
    },
    "a made-up scope": {"spec.scope": "Galaxy"},
    "no scope": {"spec.scope": None},
    "no kind": {"spec.names.kind": ""},
    "a bad plural": {"spec.names.plural": "Foos!", "metadata.name": "Foos!.bad.example.com"},
    "a bad kind": {"spec.names.kind": "Foo_Bar"},
    "a bad short name": {"spec.names.shortNames": ["ok", "N O"]},
    "a bad category": {"spec.names.categories": ["ALL"]},
    "the kind of the list": {"spec.names.listKind": "Foo"},
    "a bad version": {"spec.versions.0.name": "V1"},
    "no schema": {"spec.versions.0.schema": None},
    "a warning without deprecation": {"spec.versions.0.deprecationWarning": "old"},
    "a column without anything": {
        "spec.versions.0.additionalPrinterColumns": [{"name": "", "type": "", "jsonPath": ""}]
    },
    "a column of a made-up type": {
        "spec.versions.0.additionalPrinterColumns": [
            {"name": "A", "type": "text", "format": "nice", "jsonPath": ".spec.a"}
        ]
    },
    "a column without a dot": {
        "spec.versions.0.additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": "spec.a"}]
    },
    "scale without paths": {
        "spec.versions.0.subresources": {"scale": {"specReplicasPath": "", "statusReplicasPath": ""}}
    },
    "scale with wrong paths": {
        "spec.versions.0.subresources": {
            "scale": {
                "specReplicasPath": ".status.a",
                "statusReplicasPath": ".spec.a",
                "labelSelectorPath": ".metadata.a",
            }
        }
    },
    "too many selectable fields": {
        f"{SPEC}.properties": {f"f{number}": TEXT for number in range(9)},
        "spec.versions.0.selectableFields": [{"jsonPath": f".spec.f{number}"} for number in range(9)],
    },
    "a selectable field of the metadata": {"spec.versions.0.selectableFields": [{"jsonPath": ".metadata.name"}]},
    "selectable fields of every type": {
        f"{SPEC}.properties": {"a": TEXT, "b": {"type": "integer"}, "c": {"type": "array", "items": TEXT}},
        "spec.versions.0.selectableFields": [{"jsonPath": f".spec{path}"} for path in ("", ".a", ".b", ".c", ".none")],
    },
    "invalid and repeated selectable fields": {
        f"{SPEC}.properties": {"a": TEXT, "m": {"type": "object", "additionalProperties": TEXT}},
        "spec.versions.0.selectableFields": [
            {"jsonPath": path}
            for path in (
                ".spec.a",
                ".spec.a",
                "",
                ".",
                "spec",
                ".spec['a']",
                ".spec.m.any",
                ".spec.a.b",
                ".spec.",
                "..",
            )
        ],
    },
    "no type at the root": {f"{ROOT}.type": None},
    "a root that is a text": {f"{ROOT}": TEXT},
    "additional properties at the root": {f"{ROOT}.additionalProperties": TEXT, f"{ROOT}.properties": None},
    "a field without a type": {A: {"description": "nothing"}},
    "a made-up type": {A: {"type": "text"}},
    "the type null": {A: {"type": "null"}},
    "a list without items": {A: {"type": "array"}},
    "items without a type": {A: {"type": "array", "items": {}}},
    "unique items": {A: {"type": "array", "items": TEXT, "uniqueItems": True}},
    "properties and additional properties": {f"{SPEC}.additionalProperties": TEXT},
    "preserving nothing": {A: {"type": "object", "x-kubernetes-preserve-unknown-fields": False}},
    "int or string with a type": {A: {"type": "string", "x-kubernetes-int-or-string": True}},
    "int or string that preserves": {
        A: {"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True}
    },
    "int or string as kubebuilder writes it": {
        A: {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
    },
    "an embedded text": {A: {"type": "string", "x-kubernetes-embedded-resource": True}},
    "an embedded object without fields": {A: {"type": "object", "x-kubernetes-embedded-resource": True}},
    "types below anyOf": {A: {"type": "string", "anyOf": [{"type": "string"}, {"minLength": 1}]}},
    "descriptions below allOf": {A: {"type": "string", "allOf": [{"description": "no"}]}},
    "fields that only oneOf knows": {f"{ROOT}.oneOf": [{"properties": {"other": {"minLength": 1}}}]},
    "a schema of the metadata": {
        f"{ROOT}.properties.metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}
    },
    "a rule for the name": {
        f"{ROOT}.properties.metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}}
    },
    "a kind that is a number": {f"{ROOT}.properties.kind": {"type": "integer"}},
    "a bad default": {A: {"type": "integer", "default": "x"}},
    "a default that breaks a rule": {A: {"type": "integer", "default": 0, "minimum": 1}},
    "a made-up list type": {A: {"type": "array", "items": TEXT, "x-kubernetes-list-type": "bag"}},
    "a list type on a text": {A: {"type": "string", "x-kubernetes-list-type": "set"}},
    "a set of objects": {A: {"type": "array", "items": PAIR, "x-kubernetes-list-type": "set"}},
    "a list map without keys": {A: {"type": "array", "items": PAIR, "x-kubernetes-list-type": "map"}},
    "a list map with an optional key": {
        A: {"type": "array", "items": PAIR, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    },
    "a list map with a made-up key": {
        A: {"type": "array", "items": PAIR, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["z"]}
    },
    "a list map of texts": {
        A: {"type": "array", "items": TEXT, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    },
    "keys without a list map": {A: {"type": "array", "items": PAIR, "x-kubernetes-list-map-keys": ["k"]}},
    "a made-up map type": {SPEC + ".x-kubernetes-map-type": "odd"},
    "a map type on a text": {A: {"type": "string", "x-kubernetes-map-type": "atomic"}},
    "a nullable root": {f"{ROOT}.nullable": True},
    "a default deep inside": {A: {"type": "object", "properties": {"n": {"type": "integer"}}, "default": {"n": "x"}}},
    "two versions that differ, one of them bad": {
        "spec.versions": [
            {**GOOD["spec"]["versions"][0], "schema": {"openAPIV3Schema": {"type": "object", "properties": {"a": {}}}}},
            {**GOOD["spec"]["versions"][0], "name": "v2", "storage": False},
        ]
    },
}


def changed(case: str) -> dict[str, Any]:
    definition = copy.deepcopy(GOOD)
    for path, value in CASES[case].items():
        *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        place: Any = definition
        for parent in parents:
            place = place[parent]
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
    return definition


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def real(control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with Client.connect(kubeconfig=control_plane.kubeconfig) as client:
        yield client


async def refusals(client: Client, definition: dict[str, Any]) -> list[tuple[str, str, str]]:
    try:
        await client.request("POST", DEFINITIONS, query={"dryRun": "All"}, body=definition)
    except Invalid as error:
        return sorted((cause.reason, cause.field, cause.message) for cause in error.causes)
    return []


@pytest.mark.promise(
    "The embedded cluster",
    "Invalid definitions and invalid values are rejected with the messages of the real server.",
)
@pytest.mark.control_plane
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("case", CASES)
async def test_rejects_definition_like_the_real_server(real: Client, case: str) -> None:
    async with Cluster() as cluster, cluster.client() as embedded:
        assert await refusals(embedded, changed(case)) == await refusals(real, changed(case))
