"""Endpoints answer with a Table or PartialObjectMetadata, or with 406, as on the real server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubewright.client import Transport
from tests.cluster.differential.pairs import WIDGETS, answer

CORE, APPS = "/api/v1/namespaces/default", "/apis/apps/v1/namespaces/default"
AUTHENTICATION, AUTHORIZATION = "/apis/authentication.k8s.io/v1", "/apis/authorization.k8s.io/v1"
POD = {"metadata": {"name": "formats"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
DEPLOYMENT = {
    "metadata": {"name": "formats"},
    "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD["spec"]},
    },
}
OBJECTS: dict[str, Any] = {
    f"{CORE}/pods": POD,
    f"{CORE}/serviceaccounts": {"metadata": {"name": "formats"}},
    f"{APPS}/deployments": DEPLOYMENT,
    WIDGETS: {
        "apiVersion": "pairs.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "formats"},
        "spec": {"n": 1},
    },
}
"""Objects that exist on both servers, by the path of their resource."""

TOKENS = {"spec": {"token": "x"}}
ACCESS = {"spec": {"user": "a", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}}}
REQUESTS: list[tuple[str, str, Any]] = [
    # documents
    ("GET", "/version", None),
    ("GET", "/healthz", None),
    ("GET", "/readyz", None),
    ("GET", "/api", None),
    ("GET", "/apis", None),
    ("GET", "/apis/apps", None),
    ("GET", "/apis/apps/v1", None),
    ("GET", "/api/v1", None),
    ("GET", "/apis/pairs.example.com", None),
    ("GET", "/apis/pairs.example.com/v1", None),
    ("GET", "/openapi/v3", None),
    ("GET", "/openapi/v2", None),
    ("GET", "/.well-known/openid-configuration", None),
    # objects and collections
    ("GET", f"{CORE}/pods", None),
    ("GET", f"{CORE}/pods/formats", None),
    ("GET", f"{CORE}/pods/none", None),
    ("GET", f"{WIDGETS}/formats", None),
    ("GET", f"{WIDGETS}?limit=1", None),
    ("GET", "/api/v1/componentstatuses?limit=0", None),
    ("POST", f"{CORE}/pods?dryRun=All", {**POD, "metadata": {"name": "other"}}),
    ("DELETE", f"{CORE}/pods/none", None),
    ("DELETE", f"{CORE}/pods?labelSelector=of=none", None),
    ("DELETE", f"{WIDGETS}?labelSelector=of=none", None),
    # subresources
    ("GET", f"{CORE}/pods/formats/status", None),
    ("GET", "/api/v1/namespaces/default/status", None),
    ("GET", f"{APPS}/deployments/formats/scale", None),
    ("GET", f"{APPS}/deployments/none/scale", None),
    ("PUT", f"{APPS}/deployments/formats/scale?dryRun=All", {"metadata": {"name": "formats"}, "spec": {"replicas": 1}}),
    ("GET", f"{WIDGETS}/formats/scale", None),
    ("GET", f"{WIDGETS}/formats/status", None),
    ("POST", f"{CORE}/serviceaccounts/formats/token?dryRun=All", {"spec": {}}),
    ("POST", f"{CORE}/pods/formats/binding?dryRun=All", {"target": {"kind": "Node", "name": "n"}}),
    ("POST", f"{CORE}/pods/formats/eviction?dryRun=All", {"metadata": {"name": "formats"}}),
    ("GET", "/apis/certificates.k8s.io/v1/certificatesigningrequests/none/approval", None),
    ("GET", "/apis/certificates.k8s.io/v1/certificatesigningrequests/none/status", None),
    # reviews
    ("POST", f"{AUTHENTICATION}/selfsubjectreviews", {}),
    ("POST", f"{AUTHENTICATION}/tokenreviews", TOKENS),
    ("POST", f"{AUTHORIZATION}/subjectaccessreviews", ACCESS),
    ("POST", f"{AUTHORIZATION}/selfsubjectaccessreviews", {"spec": {"resourceAttributes": {"verb": "get"}}}),
    ("POST", f"{AUTHORIZATION}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}}),
    (
        "POST",
        f"{AUTHORIZATION}/namespaces/default/localsubjectaccessreviews",
        {"spec": {**ACCESS["spec"]}, "metadata": {"namespace": "default"}},
    ),
]
FORMS = (
    "Table;g=meta.k8s.io;v=v1",
    "Table;g=meta.k8s.io;v=v1beta1",
    "Table;g=meta.k8s.io;v=v2",
    "Table;g=example.com;v=v1",
    "PartialObjectMetadata;g=meta.k8s.io;v=v1",
    "PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    "PartialObjectMetadata;g=meta.k8s.io;v=v1beta1",
    "Nonsense;g=meta.k8s.io;v=v1",
)


@pytest.mark.promise(
    "The embedded cluster", "An endpoint that has no Table answers 406 to a request for one, as the real server does."
)
@pytest.mark.parametrize(
    ("method", "path", "body"), REQUESTS, ids=lambda value: value if isinstance(value, str) else ""
)
async def test_both_servers_support_the_same_formats(
    both: tuple[Transport, Transport], method: str, path: str, body: Any
) -> None:
    content, found = None if body is None else json.dumps(body).encode(), []
    for transport in both:
        for target, obj in OBJECTS.items():
            status, problem = await answer(transport, "POST", target, json.dumps(obj).encode())
            assert status in (201, 409), problem
        answers = {}
        for form in FORMS:
            for rest in ("", ", application/json"):
                accept = f"application/json;as={form}{rest}"
                answers[accept] = await answer(transport, method, path, content, accept=accept)
        found.append(answers)
    assert found[0] == found[1]
