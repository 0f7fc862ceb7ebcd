"""Requests about options, paths, encodings and names: the same ones for every kind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from tests.cluster.differential.generated.kinds import Kind

__all__ = ["Option", "options"]


@dataclass(frozen=True)
class Option:
    """A request to a kind."""

    verb: str
    rule: str
    method: str
    target: str
    body: Any = None
    type: str = ""
    accept: str = ""


_TABLE: Final = "application/json;as=Table;g=meta.k8s.io;v=v1"
_ACCEPTS: Final = {
    "table": _TABLE,
    "metadata": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    "metadata list": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    "yaml": "application/yaml",
    "anything": "*/*",
    "html": "text/html",
    "unknown form": "application/json;as=Other;g=meta.k8s.io;v=v1",
    "two forms": f"{_TABLE}, application/json",
}
_READS: Final = [
    "pretty=true", "resourceVersion=0", "resourceVersion=1", "resourceVersion=x", "resourceVersion=99999999999",
    "timeout=1x", "unknown=1", "includeObject=Object", "includeObject=None", "includeObject=x",
]  # fmt: skip
_LISTS: Final = [
    "limit=1", "limit=0", "limit=-1", "limit=x", "continue=x", "limit=1&continue=x", "resourceVersion=0&limit=1",
    "resourceVersion=0&resourceVersionMatch=Exact", "resourceVersion=0&resourceVersionMatch=NotOlderThan",
    "resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan", "resourceVersion=1&resourceVersionMatch=x",
    "resourceVersion=x&resourceVersionMatch=Exact", "continue=x&resourceVersion=1",
    "labelSelector=a%3Db", "labelSelector=a%3D%3Db,a", "labelSelector=!a", "labelSelector=a%20in%20(b,c)",
    "labelSelector=a%20notin%20(b)", "labelSelector=a%20in%20(b", "labelSelector=a%3Db%3Dc",
    "labelSelector=a%20%3E%201",
    "labelSelector=-", "fieldSelector=metadata.name%3Dbase", "fieldSelector=metadata.name!%3Dbase",
    "fieldSelector=metadata.namespace%3D$ns", "fieldSelector=spec.nodeName%3Dx", "fieldSelector=status.phase%3Dx",
    "fieldSelector=type%3DNormal", "fieldSelector=spec.x%3Dy", "fieldSelector=metadata.name",
    "fieldSelector=a%3D%3D%3Db",
    "fieldSelector=metadata.name%3Dbase,metadata.name%3Dbase", "sendInitialEvents=true", "allowWatchBookmarks=true",
    "watch=x&limit=1", "watch=true&sendInitialEvents=true", "watch=true&resourceVersion=x",
    "watch=true&resourceVersionMatch=NotOlderThan", "watch=true&resourceVersion=1&resourceVersionMatch=Exact",
    "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&labelSelector=%3D",
    "watch=true&fieldSelector=spec.x%3Dy", "watch=true&timeoutSeconds=x",
]  # fmt: skip
_DELETES: Final = [
    "propagationPolicy=Foreground", "propagationPolicy=Orphan", "propagationPolicy=Background", "propagationPolicy=x",
    "propagationPolicy=", "orphanDependents=true", "orphanDependents=false", "orphanDependents=x",
    "orphanDependents=true&propagationPolicy=Orphan", "gracePeriodSeconds=0", "gracePeriodSeconds=-1",
    "gracePeriodSeconds=5", "gracePeriodSeconds=x", "dryRun=x", "dryRun=All&dryRun=All",
]  # fmt: skip
_DELETE_BODIES: Final[dict[str, Any]] = {
    "empty": {},
    "kind": {"kind": "DeleteOptions", "apiVersion": "v1"},
    "kind of another group": {"kind": "DeleteOptions", "apiVersion": "apps/v1"},
    "unknown kind": {"kind": "Other", "apiVersion": "v1"},
    "unknown field": {"kind": "DeleteOptions", "apiVersion": "v1", "unknown": 1},
    "wrong uid": {"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}},
    "wrong revision": {"preconditions": {"resourceVersion": "1"}},
    "foreground": {"propagationPolicy": "Foreground"},
    "bad policy": {"propagationPolicy": "x"},
    "both policies": {"propagationPolicy": "Orphan", "orphanDependents": True},
    "grace": {"gracePeriodSeconds": 3},
    "negative grace": {"gracePeriodSeconds": -5},
    "dry run": {"dryRun": ["All"]},
    "bad dry run": {"dryRun": ["x"]},
    "wrong type": {"gracePeriodSeconds": "x"},
    "list": [],
    "broken": "{",
    "ignore errors": {"ignoreStoreReadErrorWithClusterBreakingPotential": True},
}
_WRITES: Final = [
    "dryRun=All&fieldManager=" + "m" * 129, "dryRun=All&fieldManager=%07", "dryRun=x", "dryRun=All&dryRun=x",
    "dryRun=All&fieldValidation=x", "dryRun=All&fieldManager=me", "dryRun=All&pretty=1", "dryRun=All&force=true",
]  # fmt: skip
_NAMES: Final = [
    "", "A", "a_b", "a.b", "-a", "a-", "a..b", "a b", "ü", "x" * 63, "x" * 64, "x" * 253, "x" * 254, "a/b", ".", "..",
    "a%b", "1", "1a", "a:b", "system:a", "a.b.example.com", "10.0.0.1", "2001-db8--1",
]  # fmt: skip
_METADATA: Final[dict[str, Any]] = {
    "generated name": {"name": None, "generateName": "made-"},
    "name and generated name": {"generateName": "made-"},
    "bad generated name": {"name": None, "generateName": "Made_"},
    "long generated name": {"name": None, "generateName": "m" * 300},
    "other namespace": {"namespace": "other"},
    "bad namespace": {"namespace": "A_b"},
    "resource version": {"resourceVersion": "1"},
    "uid": {"uid": "x"},
    "times": {"creationTimestamp": "2000-01-01T00:00:00Z", "deletionTimestamp": "2000-01-01T00:00:00Z"},
    "generation": {"generation": -3, "selfLink": "/x", "deletionGracePeriodSeconds": 1},
    "label value": {"labels": {"a": "b c"}},
    "label key": {"labels": {"a b": "c"}},
    "long label": {"labels": {"a": "b" * 64}},
    "annotation key": {"annotations": {"a b": "c"}},
    "large annotations": {"annotations": {"a": "b" * 270_000}},
    "finalizer": {"finalizers": ["example.com/a"]},
    "bad finalizer": {"finalizers": ["a b", "plain"]},
    "both propagation finalizers": {"finalizers": ["orphan", "foregroundDeletion"]},
    "owner": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]},
    "owner without fields": {"ownerReferences": [{}]},
    "two controllers": {
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True} for name in ("p", "q")
        ]
    },
    "event as owner": {"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "p", "uid": "u"}]},
    "bad managed fields": {"managedFields": [{"manager": "m", "operation": "x"}]},
    "managed fields": {
        "managedFields": [{"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}]
    },
    "unknown metadata": {"other": 1},
}
_BODIES: Final[dict[str, tuple[str, str]]] = {
    "broken JSON": ("{", "application/json"),
    "empty": ("", "application/json"),
    "null": ("null", "application/json"),
    "list": ("[]", "application/json"),
    "string": ('"x"', "application/json"),
    "broken YAML": ("a: [", "application/yaml"),
    "no kind": ("{}", "application/json"),
    "another kind": ('{"apiVersion":"v1","kind":"Other","metadata":{"name":"new"}}', "application/json"),
    "another version": ('{"apiVersion":"v9","kind":"$kind","metadata":{"name":"new"}}', "application/json"),
    "text": ("x", "text/plain"),
    "CBOR": ("x", "application/cbor"),
    "broken protobuf": ("k8s", "application/vnd.kubernetes.protobuf"),
    "unknown content": ("x", "a/b/c"),
    "duplicate field": (
        '{"apiVersion":"$version","kind":"$kind","metadata":{"name":"new","name":"old"}}',
        "application/json",
    ),
}
_PATCHES: Final[dict[str, tuple[str, str]]] = {
    "no type": ("{}", "application/json"),
    "empty merge": ("{}", "application/merge-patch+json"),
    "merge of a list": ("[]", "application/merge-patch+json"),
    "merge of null": ("null", "application/merge-patch+json"),
    "broken merge": ("{", "application/merge-patch+json"),
    "empty strategic": ("{}", "application/strategic-merge-patch+json"),
    "directive": ('{"metadata":{"$patch":"x"}}', "application/strategic-merge-patch+json"),
    "replace labels": (
        '{"metadata":{"labels":{"$patch":"replace","n":"m"}}}',
        "application/strategic-merge-patch+json",
    ),
    "retain keys": ('{"metadata":{"$retainKeys":["name"]}}', "application/strategic-merge-patch+json"),
    "empty JSON patch": ("[]", "application/json-patch+json"),
    "JSON patch object": ("{}", "application/json-patch+json"),
    "unknown operation": ('[{"op":"x","path":"/a"}]', "application/json-patch+json"),
    "missing path": ('[{"op":"remove","path":"/nothing"}]', "application/json-patch+json"),
    "failed test": ('[{"op":"test","path":"/metadata/name","value":"x"}]', "application/json-patch+json"),
    "copy": ('[{"op":"copy","from":"/metadata/name","path":"/metadata/labels/n"}]', "application/json-patch+json"),
    "move": ('[{"op":"move","from":"/metadata/labels/a","path":"/metadata/labels/n"}]', "application/json-patch+json"),
    "replace all": ('[{"op":"replace","path":"","value":{}}]', "application/json-patch+json"),
    "rename": ('{"metadata":{"name":"other"}}', "application/merge-patch+json"),
    "move to a namespace": ('{"metadata":{"namespace":"other"}}', "application/merge-patch+json"),
    "change uid": ('{"metadata":{"uid":"x"}}', "application/merge-patch+json"),
    "change revision": ('{"metadata":{"resourceVersion":"1"}}', "application/merge-patch+json"),
    "change kind": ('{"kind":"Other"}', "application/merge-patch+json"),
    "change version": ('{"apiVersion":"v9"}', "application/merge-patch+json"),
    "label": ('{"metadata":{"labels":{"n":"m"}}}', "application/merge-patch+json"),
    "drop managed fields": ('{"metadata":{"managedFields":[{}]}}', "application/merge-patch+json"),
    "apply without manager": ("{}", "application/apply-patch+yaml"),
    "broken apply": ("a: [", "application/apply-patch+yaml"),
    "CBOR apply": ("x", "application/apply-patch+cbor"),
    "unknown patch": ("{}", "application/other-patch+json"),
}


def options(kind: Kind) -> Iterator[Option]:
    """All such requests to a kind."""
    if "get" in kind.verbs:
        yield from _reads(kind)
    if "delete" in kind.verbs:
        yield from _deletes(kind)
    yield from _creates(kind)
    if "update" in kind.verbs:
        yield from _updates(kind)
    yield from _wrong_methods(kind)


def _reads(kind: Kind) -> Iterator[Option]:
    for query in _READS:
        yield Option("get", query, "GET", f"{kind.item}?{query}")
    for rule, accept in _ACCEPTS.items():
        yield Option("get", rule, "GET", kind.item, accept=accept)
        yield Option("list", rule, "GET", f"{kind.collection}?fieldSelector=metadata.name%3D{kind.name}", accept=accept)
    yield Option("get", "missing", "GET", f"{kind.collection}/missing")
    mine = f"fieldSelector=metadata.name%3D{kind.name}"
    for query in [*_READS, *_LISTS]:
        # Other tests write to the shared server: cluster-scoped lists are limited to the object of this run.
        own = query if kind.namespaced or "fieldSelector" in query else f"{query}&{mine}"
        if kind.namespaced or "!%3D" not in query:
            yield Option("list", query, "GET", f"{kind.collection}?{own}")
    for name in {*kind.subresources} & {"status", "scale"}:
        yield Option(f"get {name}", "plain", "GET", f"{kind.item}/{name}")
        yield Option(f"get {name}", "table", "GET", f"{kind.item}/{name}", accept=_TABLE)


def _deletes(kind: Kind) -> Iterator[Option]:
    for query in _DELETES:
        joined = query if "dryRun" in query else f"dryRun=All&{query}"
        yield Option("delete", query, "DELETE", f"{kind.item}?{joined}")
    for rule, body in _DELETE_BODIES.items():
        yield Option("delete", f"body: {rule}", "DELETE", kind.item, _dry(body))
    yield Option("delete", "missing", "DELETE", f"{kind.collection}/missing")
    yield Option("delete", "table", "DELETE", f"{kind.item}?dryRun=All", accept=_TABLE)
    if "deletecollection" not in kind.verbs or not kind.namespaced:
        return
    for query in [*_DELETES, "labelSelector=none", "labelSelector=%3D", "fieldSelector=spec.x%3Dy", "limit=1"]:
        joined = query if "dryRun" in query else f"dryRun=All&{query}"
        yield Option("deletecollection", query, "DELETE", f"{kind.collection}?{joined}")
    for rule, body in _DELETE_BODIES.items():
        yield Option("deletecollection", f"body: {rule}", "DELETE", kind.collection, _dry(body))


def _dry(body: Any) -> Any:
    """With a body, the server ignores the query."""
    return {"dryRun": ["All"]} | body if isinstance(body, dict) else body


def _creates(kind: Kind) -> Iterator[Option]:
    new = kind.object("new")
    for query in _WRITES:
        yield Option("create", query, "POST", f"{kind.collection}?{query}", new)
    for name in _NAMES:
        obj = kind.object()
        obj["metadata"]["name"] = name
        yield Option("create", f"name {name[:20]} ({len(name)})", "POST", f"{kind.collection}?dryRun=All", obj)
    for rule, metadata in _METADATA.items():
        obj = kind.object("new")
        obj["metadata"] |= metadata
        yield Option("create", rule, "POST", f"{kind.collection}?dryRun=All", obj)
    for rule, accept in _ACCEPTS.items():
        yield Option("create", f"answer: {rule}", "POST", f"{kind.collection}?dryRun=All", new, accept=accept)
    for rule, (text, type_) in _BODIES.items():
        yield Option("create", f"body: {rule}", "POST", f"{kind.collection}?dryRun=All", _filled(kind, text), type_)
    yield Option("create", "YAML", "POST", f"{kind.collection}?dryRun=All", yaml.safe_dump(new), "application/yaml")
    yield Option("create", "exists", "POST", f"{kind.collection}?dryRun=All", kind.object())
    missing = kind.collection.replace("$ns", "missing")
    yield Option("create", "missing namespace", "POST", f"{missing}?dryRun=All", new)


def _updates(kind: Kind) -> Iterator[Option]:
    for query in _WRITES:
        yield Option("update", query, "PUT", f"{kind.item}?{query}", kind.object())
    for rule, metadata in _METADATA.items():
        obj = kind.object()
        obj["metadata"] |= metadata
        yield Option("update", rule, "PUT", f"{kind.item}?dryRun=All", obj)
    for rule, (text, type_) in _BODIES.items():
        yield Option("update", f"body: {rule}", "PUT", f"{kind.item}?dryRun=All", _filled(kind, text), type_)
    yield Option("update", "missing", "PUT", f"{kind.collection}/missing?dryRun=All", kind.object("missing"))
    yield Option("update", "another name", "PUT", f"{kind.item}?dryRun=All", kind.object("another"))
    for rule, (text, type_) in _PATCHES.items():
        for place in ("", "/status") if "status" in kind.subresources else ("",):
            target = f"{kind.item}{place}?dryRun=All"
            yield Option(f"patch{place}", rule, "PATCH", target, _filled(kind, text), type_)
    yield Option("patch", "missing", "PATCH", f"{kind.collection}/missing", "{}", "application/merge-patch+json")
    body = json.dumps(kind.object("missing"))
    yield Option(
        "apply", "missing", "PATCH", f"{kind.collection}/missing?dryRun=All&fieldManager=me", body,
        "application/apply-patch+yaml",
    )  # fmt: skip
    yield Option(
        "apply", "conflict", "PATCH", f"{kind.item}?dryRun=All&fieldManager=me",
        json.dumps(kind.object() | {"metadata": {"labels": {"a": "other"}}}), "application/apply-patch+yaml",
    )  # fmt: skip


def _wrong_methods(kind: Kind) -> Iterator[Option]:
    for method, target in (("POST", kind.item), ("PUT", kind.collection), ("PATCH", kind.collection)):
        for query in ("", "dryRun=All"):
            yield Option("other", f"{method} {query}", method, f"{target}?{query}", {})
    for name in ("other", "status", "scale", "status/x"):
        if name not in kind.subresources:
            yield Option("other", f"GET {name}", "GET", f"{kind.item}/{name}")
    yield Option("other", "OPTIONS", "OPTIONS", kind.item)


def _filled(kind: Kind, text: str) -> str:
    version = f"{kind.group}/{kind.version}" if kind.group else kind.version
    return text.replace("$kind", kind.kind).replace("$version", version)
