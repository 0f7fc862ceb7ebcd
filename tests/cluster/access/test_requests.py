"""Access requests of HTTP requests."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest

from kubewright.client import Request
from kubewright.cluster import User
from kubewright.cluster.access import AccessRequest, access_request_of, refusal

JANE = User("jane")


def asked(method: str, target: str) -> AccessRequest:
    path, _, query = target.partition("?")
    return access_request_of(Request(method=method, path=path, query=parse_qsl(query, keep_blank_values=True)), JANE)


@pytest.mark.promise(
    "Access to the embedded cluster",
    "Rules are matched like on the real server, and its default roles exist from the start.",
)
@pytest.mark.parametrize(
    ("request_line", "verb", "resource", "namespace", "name"),
    [
        ("GET /api/v1/pods", "list", "pods", "", ""),
        ("GET /api/v1/namespaces/a/pods", "list", "pods", "a", ""),
        ("GET /api/v1/namespaces/a/pods?watch=true", "watch", "pods", "a", ""),
        ("GET /api/v1/namespaces/a/pods?watch=0", "list", "pods", "a", ""),
        ("GET /api/v1/namespaces/a/pods/b?watch=true", "get", "pods", "a", "b"),
        ("HEAD /api/v1/namespaces/a/pods/b", "get", "pods", "a", "b"),
        ("POST /api/v1/namespaces/a/pods", "create", "pods", "a", ""),
        ("PUT /api/v1/namespaces/a/pods/b/status", "update", "pods/status", "a", "b"),
        ("PATCH /apis/apps/v1/namespaces/a/deployments/b/scale", "patch", "deployments/scale.apps", "a", "b"),
        ("DELETE /apis/apps/v1/namespaces/a/deployments", "deletecollection", "deployments.apps", "a", ""),
        ("DELETE /apis/apps/v1/namespaces/a/deployments/b", "delete", "deployments.apps", "a", "b"),
        ("GET /api/v1/namespaces/a", "get", "namespaces", "a", "a"),
        ("PUT /api/v1/namespaces/a/finalize", "update", "namespaces/finalize", "a", "a"),
        ("GET /api/v1/namespaces", "list", "namespaces", "", ""),
        ("GET /api/v1/pods?fieldSelector=metadata.name%3Db", "list", "pods", "", "b"),
        ("GET /api/v1/pods?fieldSelector=x%3Dy,metadata.name%3D%3Db&watch=1", "watch", "pods", "", "b"),
        ("GET /api/v1/pods?fieldSelector=metadata.name!%3Db", "list", "pods", "", ""),
        ("DELETE /api/v1/pods?fieldSelector=metadata.name%3Db", "deletecollection", "pods", "", ""),
        ("GET /api/v1/watch/namespaces/a/pods", "watch", "pods", "a", ""),
        ("GET /api/v1/namespaces/a/configmaps/b%20c", "get", "configmaps", "a", "b c"),
    ],
)
def test_parses_resource_requests(request_line: str, verb: str, resource: str, namespace: str, name: str) -> None:
    found = asked(*request_line.split(" ", 1))
    named = f"{found.combined}.{found.group}" if found.group else found.combined
    assert (found.verb, named, found.namespace, found.name) == (
        verb,
        resource,
        namespace,
        name,
    )
    assert found.path is None


@pytest.mark.parametrize(
    "path", ["/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz/etcd", "/x/y/z"]
)
def test_parses_other_requests_as_paths(path: str) -> None:
    found = asked("GET", path)
    assert (found.verb, found.path, found.resource) == ("get", path, "")


def test_escapes_html_in_denials() -> None:
    failure = refusal(AccessRequest(user=User("<jane> & co"), verb="get", path="/<x>"))
    assert failure.message == 'forbidden: User "&lt;jane&gt; &amp; co" cannot get path "/&lt;x&gt;"'
