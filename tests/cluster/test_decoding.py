"""Request bodies: formats, limits, hostile input."""

from __future__ import annotations

import json

import pytest

from kubewright.cluster import Cluster
from kubewright.cluster.machinery import ReadProblem, UnreadableObject, duplicate_fields, read_metadata, reader_of
from tests.cluster.conftest import Raw

MAPS = "/api/v1/namespaces/default/configmaps"


def test_finds_duplicate_fields_at_any_depth() -> None:
    assert duplicate_fields(b'{"a":1,"b":{"c":[{"d":1,"d":2,"d":3}]},"a":2}') == ["b.c[0].d", "a"]
    assert duplicate_fields(b'{"a":1}') == []


def test_omits_and_fills_in_fields_by_go_tags() -> None:
    read = reader_of("apps/v1.Deployment")
    made = read({"metadata": {"name": "a", "labels": {}}, "spec": {"replicas": 0, "paused": False}}, "", None)
    assert made == {
        "metadata": {"name": "a"},
        "spec": {
            "replicas": 0,
            "selector": None,
            "template": {"metadata": {}, "spec": {"containers": None}},
            "strategy": {},
        },
        "status": {},
    }


def test_reports_unknown_fields_by_path() -> None:
    problems: list[ReadProblem] = []
    pod = {"spec": {"containers": [{"name": "a", "imagee": "b"}]}, "foo": 1}
    reader_of("core/v1.Pod")(pod, "", problems)
    assert [problem.message for problem in problems] == [
        'unknown field "spec.containers[0].imagee"',
        'unknown field "foo"',
    ]


def test_rejects_wrong_type_with_message_of_go() -> None:
    with pytest.raises(UnreadableObject) as error:
        reader_of("apps/v1.Deployment")({"spec": {"replicas": "3"}}, "", None)
    assert str(error.value) == (
        "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
    )
    with pytest.raises(UnreadableObject):
        read_metadata({"labels": {"a": 1}})


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"{",
        b'{"metadata":null}',
        b'{"metadata":[]}',
        b'{"metadata":{"name":{}}}',
        b'{"metadata":{"name":"a","managedFields":[null]}}',
        b'{"metadata":{"name":"a","ownerReferences":[null]}}',
        b'{"metadata":{"name":"a","labels":{"a":null}}}',
        b"[" * 5_000,
        b'{"data":' * 5_000,
        b"\xff\xfe",
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "merge", "json", "strategic", "apply", "DELETE"])
async def test_invalid_bodies_never_cause_internal_errors(raw: Raw, body: bytes, method: str) -> None:
    await raw("POST", MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    types = {
        "merge": "application/merge-patch+json",
        "json": "application/json-patch+json",
        "strategic": "application/strategic-merge-patch+json",
        "apply": "application/apply-patch+yaml",
    }
    verb = "PATCH" if method in types else method
    path = MAPS if method == "POST" else f"{MAPS}/a"
    query = "?fieldManager=me" if method == "apply" else ""
    got = await raw(verb, path + query, body, type=types.get(method, "application/json"))
    assert got.status != 500, got.body


async def test_rejects_too_large_body(raw: Raw) -> None:
    body = json.dumps({"metadata": {"name": "a"}, "data": {"k": "v" * 4_000_000}}).encode()
    got = await raw("POST", MAPS, body)
    assert (got.status, got.body["reason"]) == (413, "RequestEntityTooLarge")


async def define_anything(raw: Raw) -> str:
    """Defines a kind whose objects may contain anything, and returns its path."""
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    version = {"name": "v1", "served": True, "storage": True}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": "anys", "kind": "Any"}
    spec = {"group": "ex.com", "scope": "Cluster", "names": names, "versions": [{**version, "schema": schema}]}
    await raw("POST", definitions, {"metadata": {"name": "anys.ex.com"}, "spec": spec})
    return "/apis/ex.com/v1/anys"


@pytest.mark.parametrize("depth", [198, 250, 5_000, 100_000])
@pytest.mark.parametrize("style", ["json", "yaml", "dashes", "apply", "merge", "add"])
async def test_stores_deep_bodies_whole_or_rejects_them(raw: Raw, depth: int, style: str) -> None:
    path, deep = await define_anything(raw), b"[" * depth + b"]" * depth
    start = b'{"apiVersion":"ex.com/v1","kind":"Any","metadata":{"name":"a"}'
    if style == "json":
        got = await raw("POST", path, start + b',"a":' + deep + b"}")
    elif style in ("yaml", "dashes"):
        content = deep if style == "yaml" else b"- " * depth
        text = b"apiVersion: ex.com/v1\nkind: Any\nmetadata: {name: a}\na:\n  " + content
        got = await raw("POST", path, text, type="application/yaml")
    elif style == "apply":
        text = b"apiVersion: ex.com/v1\nkind: Any\nmetadata: {name: a}\na: " + deep
        got = await raw("PATCH", f"{path}/a?fieldManager=me", text, type="application/apply-patch+yaml")
    else:
        await raw("POST", path, start + b"}")
        body = b'{"a":' + deep + b"}" if style == "merge" else b'[{"op":"add","path":"/a","value":' + deep + b"}]"
        got = await raw(
            "PATCH", f"{path}/a", body, type=f"application/{'merge' if style == 'merge' else 'json'}-patch+json"
        )
    assert (got.status in (200, 201)) == (depth < 199), got.body
    assert got.status in (200, 201, 400)
    if got.status != 400:
        for method in ("GET", "DELETE"):
            assert (await raw(method, f"{path}/a")).status == 200


async def test_rejects_object_beyond_limit_of_etcd(raw: Raw) -> None:
    path = await define_anything(raw)
    made = await raw("POST", path, {"apiVersion": "ex.com/v1", "kind": "Any", "metadata": {"name": "a"}})
    for size, message in ((1_600_000, "etcdserver: request is too large"), (2_500_000, "code = ResourceExhausted")):
        got = await raw("PATCH", f"{path}/a", {"a": "v" * size}, type="application/merge-patch+json")
        assert got.status == 500
        assert message in got.body["message"]
    assert (await raw("GET", f"{path}/a")).body == made.body


async def test_rejects_deprecated_watch_paths(raw: Raw) -> None:
    assert (await raw("GET", "/api/v1/watch/namespaces/default/configmaps")).status == 501


async def test_serves_autoscalers_in_both_versions(raw: Raw) -> None:
    path = "/namespaces/default/horizontalpodautoscalers"
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "maxReplicas": 3, "targetCPUUtilizationPercentage": 70}
    made = await raw("POST", f"/apis/autoscaling/v1{path}", {"metadata": {"name": "a"}, "spec": spec})
    assert made.body["spec"]["targetCPUUtilizationPercentage"] == 70
    shown = await raw("GET", f"/apis/autoscaling/v2{path}/a")
    assert shown.body["spec"]["metrics"] == [
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}
    ]
    target_value = {"type": "AverageValue", "averageValue": "1Gi"}
    memory = {"type": "Resource", "resource": {"name": "memory", "target": target_value}}
    spec = {"scaleTargetRef": target, "maxReplicas": 3, "metrics": [memory]}
    await raw("POST", f"/apis/autoscaling/v2{path}", {"metadata": {"name": "b"}, "spec": spec})
    refused = await raw("GET", f"/apis/autoscaling/v1{path}/b")
    assert refused.status == 501
    assert "other metrics than CPU in autoscaling/v1: use v2" in refused.body["message"]


@pytest.mark.parametrize("served", [False, True], ids=["in process", "served"])
async def test_reads_long_yaml_also_in_turns(embedded: Cluster, raw: Raw, served: bool) -> None:
    """A cluster that listens on a port reads long YAML in turns of the event loop."""
    if served:
        await embedded.serve()
    data = "".join(f"  key{number}: 'value {number}'\n" for number in range(3_000))
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: long}}\ndata:\n{data}".encode()
    assert (await raw("POST", MAPS, text, type="application/yaml")).status == 201
    stored = (await raw("GET", f"{MAPS}/long")).body["data"]
    assert stored == {f"key{number}": f"value {number}" for number in range(3_000)}
    applied = await raw("PATCH", f"{MAPS}/long?fieldManager=me&force=true", text, type="application/apply-patch+yaml")
    assert applied.status == 200
    wrong = await raw("POST", MAPS, text + b"\t- [", type="application/yaml")
    assert wrong.status == 400
    assert "yaml: line " in wrong.body["message"]
