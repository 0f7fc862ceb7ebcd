"""What clients send: forms, limits, and hostile input."""

from __future__ import annotations

import json

import pytest

from kubewright.api._yaml import InvalidYaml, load_yaml
from kubewright.cluster._duplicates import duplicate_fields
from kubewright.cluster._kinds import ReadProblem, UnreadableObject
from kubewright.cluster._typed import read_metadata, reader_of
from tests.cluster.conftest import Raw

MAPS = "/api/v1/namespaces/default/configmaps"


def test_yaml_is_read_as_json_would_say_it() -> None:
    text = b"{a: 2030-01-01, 2: yes, true: x, list: [1, 2.5, null]}"
    assert load_yaml(text) == {"a": "2030-01-01", "2": True, "true": "x", "list": [1, 2.5, None]}


def test_yaml_that_unfolds_without_end_is_refused() -> None:
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    lines += [
        f"{name}: &{name} [{','.join(['*' + before] * 9)}]" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    with pytest.raises(InvalidYaml, match="too large once its anchors are unfolded"):
        load_yaml("\n".join(lines).encode())


def test_fields_that_stand_twice_are_found_everywhere() -> None:
    assert duplicate_fields(b'{"a":1,"b":{"c":[{"d":1,"d":2,"d":3}]},"a":2}') == ["b.c[0].d", "a"]
    assert duplicate_fields(b'{"a":1}') == []


def test_go_leaves_out_and_fills_in_as_its_tags_say() -> None:
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


def test_unknown_fields_are_named_by_their_path() -> None:
    problems: list[ReadProblem] = []
    pod = {"spec": {"containers": [{"name": "a", "imagee": "b"}]}, "foo": 1}
    reader_of("core/v1.Pod")(pod, "", problems)
    assert [problem.message for problem in problems] == [
        'unknown field "spec.containers[0].imagee"',
        'unknown field "foo"',
    ]


def test_a_wrong_type_is_an_error_in_gos_words() -> None:
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
async def test_no_body_is_a_bug_of_ours(raw: Raw, body: bytes, method: str) -> None:
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


async def test_a_body_that_is_too_large_is_refused(raw: Raw) -> None:
    body = json.dumps({"metadata": {"name": "a"}, "data": {"k": "v" * 4_000_000}}).encode()
    got = await raw("POST", MAPS, body)
    assert (got.status, got.body["reason"]) == (413, "RequestEntityTooLarge")


async def test_the_old_paths_of_watches_are_refused(raw: Raw) -> None:
    assert (await raw("GET", "/api/v1/watch/namespaces/default/configmaps")).status == 501


async def test_autoscalers_are_shown_in_both_versions(raw: Raw) -> None:
    path = "/namespaces/default/horizontalpodautoscalers"
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "maxReplicas": 3, "targetCPUUtilizationPercentage": 70}
    made = await raw("POST", f"/apis/autoscaling/v1{path}", {"metadata": {"name": "a"}, "spec": spec})
    assert made.body["spec"]["targetCPUUtilizationPercentage"] == 70
    shown = await raw("GET", f"/apis/autoscaling/v2{path}/a")
    assert shown.body["spec"]["metrics"] == [
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}
    ]
    memory = {"type": "Resource", "resource": {"name": "memory", "target": {"type": "Value", "value": "1Gi"}}}
    spec = {"scaleTargetRef": target, "maxReplicas": 3, "metrics": [memory]}
    await raw("POST", f"/apis/autoscaling/v2{path}", {"metadata": {"name": "b"}, "spec": spec})
    refused = await raw("GET", f"/apis/autoscaling/v1{path}/b")
    assert refused.status == 501
    assert "other metrics than CPU in autoscaling/v1: use v2" in refused.body["message"]
