"""Schemas of built-in and custom kinds."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kubewright.cluster.registry import builtin_types
from kubewright.cluster.schema import (
    ANYTHING,
    Schema,
    builtin_schema,
    custom_schema,
    zero_object,
)


def at(schema: Schema | None, *names: str) -> Schema:
    for name in names:
        assert schema is not None
        schema = schema.items if name == "[]" else schema.fields[name] or schema.element
    assert schema is not None
    return schema


DEPLOYMENT = builtin_schema("apps/v1", "Deployment")
POD = at(DEPLOYMENT, "spec", "template", "spec")


def test_unknown_kind_has_no_schema() -> None:
    assert builtin_schema("apps/v1", "Foo") is None
    assert builtin_schema("example.com/v1", "Deployment") is None


def test_lists_have_type_keys_and_key_defaults() -> None:
    containers = at(POD, "containers")
    assert (containers.list_type, containers.keys) == ("map", ("name",))
    ports = at(containers, "[]", "ports")
    assert (ports.keys, ports.key_defaults) == (("containerPort", "protocol"), {"containerPort": 0, "protocol": "TCP"})
    assert at(containers, "[]", "args").list_type == "atomic"
    assert at(DEPLOYMENT, "metadata", "finalizers").list_type == "set"
    assert at(POD, "tolerations").list_type == "atomic"


def test_structs_and_maps_are_granular_by_default() -> None:
    assert not POD.atomic
    assert at(DEPLOYMENT, "spec", "selector").atomic
    assert at(POD, "nodeSelector").atomic
    assert not at(DEPLOYMENT, "metadata", "labels").atomic
    assert at(DEPLOYMENT, "metadata", "labels").element is not None


def test_unknown_name_has_no_schema_and_is_not_cached() -> None:
    assert DEPLOYMENT is not None
    assert DEPLOYMENT.fields["nope"] is None
    assert "nope" not in DEPLOYMENT.fields
    assert DEPLOYMENT.element is None


def test_scalars_have_the_kind_for_merging() -> None:
    assert at(DEPLOYMENT, "spec", "replicas").scalar == "numeric"
    assert at(DEPLOYMENT, "spec", "paused").scalar == "boolean"
    assert at(POD, "containers", "[]", "image").scalar == "string"
    assert at(DEPLOYMENT, "metadata", "creationTimestamp").scalar == "untyped"
    limits = at(POD, "containers", "[]", "resources", "limits")
    assert limits.element is not None
    assert limits.element.scalar == "untyped"
    port = at(POD, "containers", "[]", "livenessProbe", "httpGet", "port")
    assert port.int_or_string


def test_lists_have_strategic_merge_metadata() -> None:
    assert at(POD, "containers").patch_strategies == ("merge",)
    assert at(POD, "containers").patch_merge_key == "name"
    assert at(POD, "volumes").patch_strategies == ("merge", "retainKeys")
    assert at(DEPLOYMENT, "spec", "strategy").patch_strategies == ("retainKeys",)
    assert at(POD, "tolerations").patch_strategies == ()


def test_definitions_are_shared_and_may_be_recursive() -> None:
    crd = builtin_schema("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    schema = at(crd, "spec", "versions", "[]", "schema", "openAPIV3Schema")
    assert at(schema, "properties").element is schema
    assert at(builtin_schema("v1", "Pod"), "spec").name == POD.name


def test_schema_is_immutable() -> None:
    with pytest.raises(AttributeError, match="cannot be changed"):
        POD.atomic = True


def test_custom_kind_has_object_metadata() -> None:
    schema = custom_schema({"type": "object", "properties": {"spec": {"type": "object"}}})
    assert at(schema, "metadata", "ownerReferences").keys == ("uid",)
    assert at(schema, "kind").scalar == "string"
    assert schema.element is None


def test_custom_kind_without_schema_accepts_anything() -> None:
    schema = custom_schema(None)
    assert schema.fields["spec"] is None
    assert schema.element is ANYTHING


def test_embedded_object_has_metadata() -> None:
    embedded = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    schema = custom_schema({"type": "object", "properties": {"template": embedded}})
    assert at(schema, "template", "metadata", "labels").element is not None
    assert at(schema, "template").embedded


def test_preserved_unknown_fields_accept_anything() -> None:
    schema = custom_schema(
        {
            "type": "object",
            "properties": {
                "free": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "properties": {"known": {"type": "object", "properties": {"a": {"type": "string"}}}},
                }
            },
        }
    )
    assert at(schema, "free").element is ANYTHING
    assert at(schema, "free", "known").element is ANYTHING


def test_zero_object_has_non_pointer_fields_of_go() -> None:
    assert DEPLOYMENT is not None
    assert zero_object(DEPLOYMENT) == {
        "metadata": {},
        "spec": {
            "selector": None,
            "strategy": {},
            "template": {"metadata": {}, "spec": {"containers": None}},
        },
        "status": {},
    }
    event = builtin_schema("v1", "Event")
    assert event is not None
    assert zero_object(event)["eventTime"] is None


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Every resource of Kubernetes 1.36 has a schema, and the packaged data matches its sources.",
)
def test_every_resource_has_a_schema() -> None:
    for type_ in builtin_types():
        assert builtin_schema(type_.api_version, type_.kind) is not None, type_
        for sub in type_.subresources.values():
            where = f"{sub.group}/{sub.version}".removeprefix("/") if sub.kind else type_.api_version
            if sub.kind and sub.kind.endswith("Options"):
                continue  # of connections, which have no body
            assert builtin_schema(where if sub.version else type_.api_version, sub.kind or type_.kind) is not None, sub


@pytest.mark.promise(
    "How the embedded cluster merges",
    "Every resource of Kubernetes 1.36 has a schema, and the packaged data matches its sources.",
)
def test_committed_file_matches_the_generator() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.generate_schemas", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
