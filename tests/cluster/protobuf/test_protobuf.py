"""Decoding of Kubernetes' protobuf to JSON."""

from __future__ import annotations

import base64
import contextlib
import json
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewright.cluster.protobuf import ProtobufError, decode
from kubewright.testing import KUBERNETES_VERSION
from kubewright.testing.binaries import download_module

# Kinds of responses and webhooks, never of request bodies; WatchEvent has no type meta.
NEVER_SENT = {
    "admission.k8s.io.v1.AdmissionReview",
    "admission.k8s.io.v1beta1.AdmissionReview",
    "apidiscovery.k8s.io.v2.APIGroupDiscovery",
    "apidiscovery.k8s.io.v2beta1.APIGroupDiscovery",
    "core.v1.WatchEvent",
    "imagepolicy.k8s.io.v1alpha1.ImageReview",
}


@cache
def goldens() -> dict[str, Path]:
    folder = download_module("k8s.io/api", "v0." + KUBERNETES_VERSION.partition(".")[2])
    return {path.stem: path for path in (folder / "testdata" / "HEAD").glob("*.pb")}


# A minimal encoder that writes what Go writes.


def varint(number: int) -> bytes:
    number &= 0xFFFF_FFFF_FFFF_FFFF
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    body = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(body)) + body


def envelope(api_version: str, kind: str, raw: bytes, encoding: str = "") -> bytes:
    return b"k8s\x00" + field(1, field(1, api_version) + field(2, kind)) + field(2, raw) + field(3, encoding)


@pytest.mark.parametrize("group", ["apiextensions.k8s.io/v1", "apiregistration.k8s.io/v1", "example.com/v1alpha1"])
def test_reads_delete_options_in_every_group_version(group: str) -> None:
    sent = envelope(group, "DeleteOptions", field(4, "Foreground"))
    assert decode(sent) == {"apiVersion": group, "kind": "DeleteOptions", "propagationPolicy": "Foreground"}


@pytest.mark.promise(
    "The embedded cluster",
    "Kubernetes' protobuf is decoded; malformed bytes raise `ProtobufError`.",
)
def test_decodes_golden_objects_like_json() -> None:
    assert goldens().keys() > NEVER_SENT
    differing = []
    for name in sorted(goldens().keys() - NEVER_SENT):
        path = goldens()[name]
        if decode(path.read_bytes()) != json.loads(path.with_suffix(".json").read_bytes()):
            differing.append(name)
    assert differing == []
    assert len(goldens()) - len(NEVER_SENT) > 170


@pytest.mark.promise(
    "The embedded cluster",
    "Kubernetes' protobuf is decoded; malformed bytes raise `ProtobufError`.",
)
def test_decodes_zero_values_but_not_absent_fields() -> None:
    container = field(1, "web") + field(2, "") + field(16, 0)  # name, image, stdin: not pointers in Go
    spec = field(2, container) + field(4, 0)  # terminationGracePeriodSeconds: a pointer to 0
    pod = decode(envelope("v1", "Pod", field(2, spec)))
    assert pod == {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {"containers": [{"name": "web", "image": "", "stdin": False}], "terminationGracePeriodSeconds": 0},
    }


def test_decodes_negative_numbers() -> None:
    deployment = decode(envelope("apps/v1", "Deployment", field(2, field(1, -1) + field(6, 2**31 - 1))))
    assert deployment["spec"] == {"replicas": -1, "revisionHistoryLimit": 2**31 - 1}


def test_decodes_empty_time_as_null_and_zero_as_1970() -> None:
    def created(time: bytes) -> object:
        return decode(envelope("v1", "Pod", field(1, field(8, time))))["metadata"]["creationTimestamp"]

    assert created(b"") is None
    assert created(field(1, 0)) == "1970-01-01T00:00:00Z"
    assert created(field(1, 1_200_000_000)) == "2008-01-10T21:20:00Z"


def test_decodes_maps_of_bytes_strings_and_quantities() -> None:
    secret = decode(envelope("v1", "Secret", field(2, field(1, "a") + field(2, b"\x00\xff")) + field(2, field(1, "b"))))
    assert secret["data"] == {"a": base64.b64encode(b"\x00\xff").decode(), "b": ""}
    limits = field(1, field(1, "cpu") + field(2, field(1, "100m")))
    pod = decode(envelope("v1", "Pod", field(2, field(2, field(8, limits)))))
    assert pod["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "100m"}}


@pytest.mark.parametrize("packed", [True, False])
def test_decodes_packed_and_unpacked_lists(packed: bool) -> None:
    groups = field(4, varint(1) + varint(300)) if packed else field(4, 1) + field(4, 300)
    pod = decode(envelope("v1", "Pod", field(2, field(14, groups))))
    assert pod["spec"]["securityContext"]["supplementalGroups"] == [1, 300]


def test_decodes_schema_or_simple_value() -> None:
    def schema_with(number: int, value: bytes) -> dict[str, object]:
        version = field(1, "v1") + field(4, field(1, field(number, value)))
        crd = envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, field(7, version)))
        schema: dict[str, object] = decode(crd)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        return schema

    text = field(5, "string")
    assert schema_with(30, field(1, 1)) == {"additionalProperties": True}
    assert schema_with(30, field(1, 0)) == {"additionalProperties": False}
    assert schema_with(30, field(1, 1) + field(2, text)) == {"additionalProperties": {"type": "string"}}
    assert schema_with(24, field(1, text)) == {"items": {"type": "string"}}
    assert schema_with(24, field(2, text) + field(2, text)) == {"items": [{"type": "string"}] * 2}
    assert schema_with(8, field(1, b'{"a":[1]}')) == {"default": {"a": [1]}}


def test_skips_unknown_fields() -> None:
    new = field(3000, 1) + field(3001, "text") + varint(3002 << 3 | 1) + bytes(8) + varint(3003 << 3 | 5) + bytes(4)
    assert decode(envelope("v1", "Namespace", new)) == {"apiVersion": "v1", "kind": "Namespace"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"kind":"Pod"}', "does not begin as Kubernetes' protobuf does"),
        (envelope("example.com/v1", "Foo", b""), "kind 'Foo' of 'example.com/v1' has no protobuf form"),
        (envelope("v1", "Pod", b"", "gzip"), "content encoding 'gzip'"),
        (envelope("v1", "Pod", field(1, "x" * 9)[:-1]), "cut off"),
        (envelope("v1", "Pod", b"\x80"), "a number is cut off"),
        (envelope("v1", "Pod", field(1, 5)), "a number stands where a message"),
        (envelope("v1", "Pod", field(1, field(1, b"\xff"))), "not UTF-8"),
        (envelope("v1", "Pod", field(2, field(4, "text"))), "a text stands where a number"),
        (envelope("v1", "Pod", field(1, field(8, field(1, 2**62)))), "out of range"),
        (envelope("v1", "Pod", b"\x0b"), "wire type 3"),
        (envelope("apps/v1", "ControllerRevision", field(2, field(1, b"{"))), "JSON inside the object"),
    ],
)
def test_reports_why_a_body_is_invalid(body: bytes, message: str) -> None:
    with pytest.raises(ProtobufError, match=message):
        decode(body)


def test_rejects_excessive_nesting() -> None:
    schema = b""
    for _ in range(200):
        schema = field(31, field(1, "a") + field(2, schema))  # properties
    version = field(4, field(1, schema))
    with pytest.raises(ProtobufError, match="nested more than"):
        decode(envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, field(7, version))))


@pytest.mark.promise(
    "The embedded cluster",
    "Kubernetes' protobuf is decoded; malformed bytes raise `ProtobufError`.",
)
@given(st.sampled_from(["v1 Pod", "apps/v1 Deployment", "v1 DeleteOptions", "v1 Secret"]), st.binary(max_size=200))
def test_arbitrary_bytes_decode_or_raise_protobuf_error(kind: str, raw: bytes) -> None:
    api_version, _, name = kind.partition(" ")
    with contextlib.suppress(ProtobufError):
        decode(envelope(api_version, name, raw))


@given(st.data())
def test_modified_bytes_decode_or_raise_protobuf_error(data: st.DataObject) -> None:
    body = bytearray(goldens()["core.v1.Pod"].read_bytes())
    at = data.draw(st.integers(0, len(body) - 1))
    body[at] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ProtobufError):
        decode(bytes(body))
