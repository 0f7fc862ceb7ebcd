"""Requests as chance makes them: some that any client could send, some that none would."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

__all__ = ["KINDS", "WIDGETS", "Step", "steps"]

_POD_SPEC = {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}], "env": [{"name": "A"}]}]}
_TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": _POD_SPEC}
_SELECTOR = {"matchLabels": {"app": "x"}}
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}

KINDS: dict[str, dict[str, Any]] = {
    "/api/v1/namespaces/default/configmaps": {"data": {"k": "v"}},
    "/api/v1/namespaces/default/secrets": {"stringData": {"k": "v"}, "type": "Opaque"},
    "/api/v1/namespaces/default/pods": {"spec": _POD_SPEC},
    "/api/v1/namespaces/default/services": {"spec": {"ports": [{"port": 80}], "selector": {"app": "x"}}},
    "/api/v1/namespaces/default/persistentvolumeclaims": {"spec": _CLAIM},
    "/api/v1/namespaces/default/limitranges": {"spec": {"limits": [{"type": "Container"}]}},
    "/api/v1/namespaces/default/resourcequotas": {"spec": {"hard": {"pods": "10"}}},
    "/apis/apps/v1/namespaces/default/deployments": {"spec": {"selector": _SELECTOR, "template": _TEMPLATE}},
    "/apis/apps/v1/namespaces/default/statefulsets": {
        "spec": {"selector": _SELECTOR, "template": _TEMPLATE, "serviceName": "s"}
    },
    "/apis/apps/v1/namespaces/default/daemonsets": {"spec": {"selector": _SELECTOR, "template": _TEMPLATE}},
    "/apis/apps/v1/namespaces/default/replicasets": {"spec": {"selector": _SELECTOR, "template": _TEMPLATE}},
    "/api/v1/namespaces/default/replicationcontrollers": {"spec": {"selector": {"app": "x"}, "template": _TEMPLATE}},
    "/apis/batch/v1/namespaces/default/cronjobs": {
        "spec": {
            "schedule": "* * * * *",
            "jobTemplate": {"spec": {"template": {"spec": {**_POD_SPEC, "restartPolicy": "Never"}}}},
        }
    },
    "/apis/batch/v1/namespaces/default/jobs": {"spec": {"template": {"spec": {**_POD_SPEC, "restartPolicy": "Never"}}}},
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets": {"spec": {"selector": _SELECTOR, "minAvailable": 1}},
    "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers": {
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "a", "apiVersion": "apps/v1"}}
    },
    "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies": {"spec": {"podSelector": {}}},
    "/apis/networking.k8s.io/v1/namespaces/default/ingresses": {
        "spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}
    },
    "/apis/coordination.k8s.io/v1/namespaces/default/leases": {"spec": {"holderIdentity": "me"}},
    "/apis/rbac.authorization.k8s.io/v1/clusterroles": {
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    },
    "/apis/fuzz.example.com/v1/namespaces/default/widgets": {
        "spec": {"size": 1, "parts": [{"name": "a", "amount": 2}]}
    },
}
"""The collections that are written to, and what is valid in each."""

_PART = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "amount": {"type": "integer"}},
}
_PARTS = {
    "type": "array",
    "items": _PART,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
}
_SPEC = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "minimum": 0, "default": 3},
        "parts": _PARTS,
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "either": {"x-kubernetes-int-or-string": True},
    },
}
_SCHEMA = {"type": "object", "properties": {"spec": _SPEC, "status": {"type": "object", "properties": {}}}}
WIDGETS = {
    "metadata": {"name": "widgets.fuzz.example.com"},
    "spec": {
        "group": "fuzz.example.com",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": _SCHEMA},
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
                },
            }
        ],
    },
}
"""The definition of the last of them."""

_NAMES = st.sampled_from(["a", "b", "c"]) | st.sampled_from(["", "A_b", "x" * 300, "a.b", "ü"])
_TEXTS = st.sampled_from(["", "x", "app", "1", "10Gi", "-", "ü", "a/b", "*", "2030-01-01T00:00:00Z"])
_SCALARS = st.none() | st.booleans() | st.integers(-2, 2**40) | st.floats(-1e9, 1e9) | _TEXTS
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(_TEXTS | st.sampled_from(["name", "k"]), inner, max_size=3)
    ),
    max_leaves=6,
)
_FIELDS = """
    metadata labels annotations ownerReferences finalizers managedFields name namespace generateName resourceVersion
    uid generation deletionTimestamp creationTimestamp spec status template containers ports selector matchLabels
    matchExpressions data stringData binaryData immutable type image resources limits requests volumes env strategy
    replicas conditions rules apiVersion kind size parts tags open either $patch $retainKeys $setElementOrder/parts
    hard minAvailable podSelector ingress scaleTargetRef
"""
_WORDS = st.sampled_from(_FIELDS.split())
_PLACES = st.lists(_WORDS | st.integers(0, 2), min_size=1, max_size=4)


@dataclass
class Step:
    """One request."""

    method: str
    path: str
    query: dict[str, str]
    body: Any = None
    type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes | None:
        """The body as it is sent."""
        return self.body if self.body is None or isinstance(self.body, bytes) else json.dumps(self.body).encode()


def _changed(obj: Any, place: list[Any], value: Any) -> Any:
    """The object with another value somewhere."""
    if not place:
        return value
    head, rest = place[0], place[1:]
    if isinstance(obj, list) and isinstance(head, int):
        kept = list(obj)
        if head < len(kept):
            kept[head] = _changed(kept[head], rest, value)
        else:
            kept.append(_changed(None, rest, value))
        return kept
    base = obj if isinstance(obj, dict) else {}
    return {**base, str(head): _changed(base.get(str(head)), rest, value)}


def _places(obj: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in an object."""
    inner = obj.items() if isinstance(obj, dict) else enumerate(obj) if isinstance(obj, list) else ()
    return [place for name, value in inner for place in ((*above, name), *_places(value, (*above, name)))]


@st.composite
def _objects(draw: st.DrawFn, path: str, name: str) -> Any:
    obj: Any = {"metadata": {"name": name, "labels": {"app": draw(st.sampled_from("xy"))}}, **KINDS[path]}
    known = st.sampled_from(_places(obj))
    beside = st.tuples(known, _WORDS).map(lambda pair: [*pair[0][:-1], pair[1]])
    for place in draw(st.lists(known.map(list) | beside | _PLACES, max_size=3)):
        obj = _changed(obj, place, draw(_VALUES))
    return obj


_QUERY = st.fixed_dictionaries(
    {},
    optional={
        "fieldManager": st.sampled_from(["one", "two", "x" * 200, "\x00"]),
        "force": st.sampled_from(["true", "false", "x"]),
        "dryRun": st.sampled_from(["All", "all"]),
        "fieldValidation": st.sampled_from(["Strict", "Warn", "Ignore", "Odd"]),
    },
)
_READ_QUERY = st.fixed_dictionaries(
    {},
    optional={
        "labelSelector": st.sampled_from(["app=x", "app in (x,y)", "!app", "app==", ",,", "a b"]),
        "fieldSelector": st.sampled_from(
            ["metadata.name=a", "metadata.name!=a", "spec.x=1", "==", "status.phase=Pending"]
        ),
        "limit": st.sampled_from(["1", "0", "-1", "x"]),
        "continue": st.sampled_from(["x", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhXHUwMDAwIn0"]),
        "resourceVersion": st.sampled_from(["0", "1", "x", "-3"]),
        "resourceVersionMatch": st.sampled_from(["Exact", "NotOlderThan", "Odd"]),
    },
)
_ACCEPT = st.sampled_from(
    [
        "application/json",
        "application/json;as=Table;g=meta.k8s.io;v=v1",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
        "application/yaml",
        "text/html",
        "application/vnd.kubernetes.protobuf,*/*",
    ]
)
_PATCHES = st.sampled_from(
    [
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/json-patch+json",
        "application/apply-patch+yaml",
        "application/json",
    ]
)
_OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "remove", "replace", "test", "move", "copy", "odd"]),
            "path": _PLACES.map(lambda place: "/" + "/".join(map(str, place))) | _TEXTS,
        },
        optional={"value": _VALUES, "from": _PLACES.map(lambda place: "/" + "/".join(map(str, place)))},
    ),
    max_size=3,
)
_DELETE = st.fixed_dictionaries(
    {},
    optional={
        "propagationPolicy": st.sampled_from(["Orphan", "Foreground", "Background", "Odd"]),
        "gracePeriodSeconds": st.integers(-1, 60),
        "preconditions": st.fixed_dictionaries({}, optional={"uid": _TEXTS, "resourceVersion": _TEXTS}),
        "dryRun": st.sampled_from([["All"], ["odd"]]),
    },
)


_VERBS = ["create"] * 3 + ["update"] + ["patch"] * 3 + ["delete", "deletecollection", "list", "get", "raw"]


@st.composite
def _steps(draw: st.DrawFn) -> Step:
    path = draw(st.sampled_from(sorted(KINDS)))
    name = draw(_NAMES)
    subresource = draw(st.sampled_from(["", "", "", "/status", "/scale"]))
    headers = {"Accept": draw(_ACCEPT)} if draw(st.booleans()) else {}
    verb = draw(st.sampled_from(_VERBS))
    match verb:
        case "create":
            return Step("POST", path, draw(_QUERY), draw(_objects(path, name)), headers=headers)
        case "update":
            return Step("PUT", f"{path}/{name}{subresource}", draw(_QUERY), draw(_objects(path, name)), headers=headers)
        case "patch":
            type_ = draw(_PATCHES)
            body: Any = draw(_OPERATIONS) if type_.startswith("application/json-") else draw(_objects(path, name))
            if type_ == "application/apply-patch+yaml" and isinstance(body, dict) and draw(st.booleans()):
                body.setdefault("apiVersion", "v1")
                body.setdefault("kind", "ConfigMap")
            return Step("PATCH", f"{path}/{name}{subresource}", draw(_QUERY), body, type_, headers)
        case "delete":
            return Step("DELETE", f"{path}/{name}", {}, draw(_DELETE))
        case "deletecollection":
            return Step("DELETE", path, draw(_READ_QUERY), draw(_DELETE))
        case "list":
            return Step("GET", path, draw(_READ_QUERY), headers=headers)
        case "get":
            return Step("GET", f"{path}/{name}{subresource}", draw(_READ_QUERY), headers=headers)
        case _:
            method = draw(st.sampled_from(["POST", "PUT", "PATCH", "DELETE", "GET", "ODD"]))
            content = draw(st.binary(max_size=30) | st.sampled_from([b"k8s\x00\x0a\x00", b"[]", b"null", b"- a\n- b"]))
            types = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "text/plain", ""]
            return Step(
                method, draw(st.sampled_from([path, f"{path}/{name}"])), {}, content, draw(st.sampled_from(types))
            )


def steps(most: int) -> st.SearchStrategy[list[Step]]:
    """Sequences of requests."""
    return st.lists(_steps(), min_size=1, max_size=most)
