"""What a request asks for, by its path."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest

from kubewright.client import Request
from kubewright.cluster import User
from kubewright.cluster.access import Question
from kubewright.cluster.access._questions import question_of, refusal

JANE = User("jane")


def asked(method: str, target: str) -> Question:
    path, _, query = target.partition("?")
    return question_of(Request(method=method, path=path, query=parse_qsl(query, keep_blank_values=True)), JANE)


@pytest.mark.promise(
    "Access to the embedded cluster",
    "Rules are matched as the real server does, and its default roles are there from the first moment.",
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
def test_requests_for_resources(request_line: str, verb: str, resource: str, namespace: str, name: str) -> None:
    question = asked(*request_line.split(" ", 1))
    named = f"{question.combined}.{question.group}" if question.group else question.combined
    assert (question.verb, named, question.namespace, question.name) == (verb, resource, namespace, name)
    assert question.path is None


@pytest.mark.parametrize(
    "path", ["/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz/etcd", "/x/y/z"]
)
def test_everything_else_is_a_path(path: str) -> None:
    question = asked("GET", path)
    assert (question.verb, question.path, question.resource) == ("get", path, "")


def test_a_refusal_cannot_be_taken_for_html() -> None:
    failure = refusal(Question(user=User("<jane> & co"), verb="get", path="/<x>"))
    assert failure.message == 'forbidden: User "&lt;jane&gt; &amp; co" cannot get path "/&lt;x&gt;"'
