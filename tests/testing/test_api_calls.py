"""Requests as the authorizer sees them."""

from __future__ import annotations

import pytest

from kubewright.client import Request
from kubewright.testing.rbac import ApiCall, calls_of


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", "/api/v1/namespaces/a/pods/b", {}, "get pods b in namespace a"),
        ("GET", "/api/v1/namespaces/a/pods", {}, "list pods in namespace a"),
        ("GET", "/api/v1/pods", {"watch": "true"}, "watch pods"),
        ("GET", "/api/v1/pods?watch=1", {}, "watch pods"),
        ("GET", "/api/v1/namespaces/a/pods/b/log", {}, "get pods/log b in namespace a"),
        ("POST", "/api/v1/namespaces/a/pods/b/eviction", {}, "create pods/eviction b in namespace a"),
        ("POST", "/apis/apps/v1/namespaces/a/deployments", {}, "create deployments.apps in namespace a"),
        ("PUT", "/apis/apps/v1/namespaces/a/deployments/b", {}, "update deployments.apps b in namespace a"),
        (
            "PATCH",
            "/apis/apps/v1/namespaces/a/deployments/b/status",
            {},
            "patch deployments.apps/status b in namespace a",
        ),
        ("DELETE", "/api/v1/nodes/b", {}, "delete nodes b"),
        ("DELETE", "/api/v1/namespaces/a/pods", {}, "deletecollection pods in namespace a"),
        ("GET", "/api/v1/namespaces", {}, "list namespaces"),
        ("GET", "/api/v1/namespaces/a", {}, "get namespaces a"),
        ("PUT", "/api/v1/namespaces/a/finalize", {}, "update namespaces/finalize a"),
        ("GET", "/api/v1/nodes", {"fieldSelector": "metadata.name=b"}, "list nodes b"),
        ("GET", "/api/v1/pods", {"fieldSelector": "metadata.name=b,spec.nodeName=c"}, "list pods"),
        ("GET", "/api", {}, "get /api"),
        ("GET", "/apis/apps/v1", {}, "get /apis/apps/v1"),
        ("GET", "/metrics", {}, "get /metrics"),
    ],
)
def test_a_request_is_one_call(method: str, path: str, query: dict[str, str], expected: str) -> None:
    (call,) = calls_of(Request(method=method, path=path, query=[*query.items()]), 200)
    assert str(call) == expected


def test_apply_that_creates_is_also_a_create() -> None:
    request = Request(method="PATCH", path="/api/v1/namespaces/a/configmaps/b")
    assert [call.verb for call in calls_of(request, 201)] == ["patch", "create"]
    assert [call.verb for call in calls_of(request, 200)] == ["patch"]


def test_calls_are_sorted_and_compared_by_what_they_are() -> None:
    calls = {ApiCall(verb="get", resource="b"), ApiCall(verb="get", resource="a"), ApiCall(verb="get", resource="a")}
    assert [call.resource for call in sorted(calls)] == ["a", "b"]
