"""Kinds of `meta` exist in every group version and encoding, as on the real server; CBOR is refused."""

from __future__ import annotations

import json

import pytest

from kubewright.client import Transport
from tests.cluster.differential.pairs import WIDGETS, answer, paths_by_version
from tests.cluster.protobuf.test_protobuf import envelope

KINDS = (
    "CreateOptions",
    "DeleteOptions",
    "GetOptions",
    "ListOptions",
    "PatchOptions",
    "UpdateOptions",
    "PartialObjectMetadata",
    "PartialObjectMetadataList",
    "Status",
    "Table",
    "WatchEvent",
    "Nonsense",
)
JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
PATHS = paths_by_version()
UNSUPPORTED = ("apiregistration.k8s.io/v1", "flowcontrol.apiserver.k8s.io/v1")
"""The embedded cluster rejects their writes with 501."""
WRITABLE = [version for version in PATHS if version not in UNSUPPORTED]
Both = tuple[Transport, Transport]


def encoded(api_version: str, kind: str, encoding: str) -> bytes:
    if encoding == JSON:
        return json.dumps({"apiVersion": api_version, "kind": kind}).encode()
    if encoding == YAML:
        return f"apiVersion: {api_version}\nkind: {kind}\n".encode()
    return envelope(api_version, kind, b"")


@pytest.mark.promise(
    "The embedded cluster", "DeleteOptions and the other kinds of meta work in every group version and encoding."
)
@pytest.mark.parametrize("encoding", [JSON, YAML, PROTOBUF])
@pytest.mark.parametrize("version", WRITABLE)
async def test_both_servers_know_the_same_meta_kinds(both: Both, version: str, encoding: str) -> None:
    path, found = PATHS[version], []
    # The real server crashes on requests to create a custom object from protobuf, and closes the connection.
    methods = ("DELETE",) if (path, encoding) == (WIDGETS, PROTOBUF) else ("DELETE", "POST")
    for transport in both:
        answers = {}
        for kind in KINDS:
            for of in (version, "v1", "meta.k8s.io/v1", "unknown.example.com/v3"):
                body = encoded(of, kind, encoding)
                for method in methods:
                    target = f"{path}/none" if method == "DELETE" else path
                    answers[method, of, kind] = await answer(transport, method, target, body, type_=encoding)
        found.append(answers)
    assert found[0] == found[1]


@pytest.mark.parametrize("version", PATHS)
async def test_both_servers_refuse_cbor(both: Both, version: str) -> None:
    path, found = PATHS[version], []
    for transport in both:
        answers = {}
        for type_ in ("application/cbor", "application/cbor-seq", "text/plain"):
            for accept in (type_, f"{type_}, application/json"):
                answers["list", accept] = await answer(transport, "GET", path, accept=accept)
                answers["get", accept] = await answer(transport, "GET", f"{path}/none", accept=accept)
            answers["watch", type_] = await answer(transport, "GET", f"{path}?watch=true", accept=type_)
            if version in WRITABLE:
                for method, target in (("POST", path), ("PUT", f"{path}/none"), ("DELETE", f"{path}/none")):
                    answers[method, type_] = await answer(transport, method, target, b"\xd9\xd9\xf7\xa0", type_=type_)
                answers["delete", type_] = await answer(transport, "DELETE", f"{path}/none", accept=type_)
                target = f"{path}/none?fieldManager=a"
                answers["apply", type_] = await answer(
                    transport, "PATCH", target, b"\xd9\xd9\xf7\xa0", type_="application/apply-patch+cbor"
                )
        found.append(answers)
    assert found[0] == found[1]
