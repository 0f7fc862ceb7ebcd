"""Webhooks served on loopback, and a client that calls them like the API server."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec

import kubewright as kw
from kubewright.api import Object, info_of, to_dict
from kubewright.clock import Clock
from kubewright.webhook import EphemeralCertificate, WebhookServer

UID = "705ab4f5-6393-11e8-b7cc-42010a800002"


class Asker:
    """Calls webhooks like the API server."""

    def __init__(self, server: WebhookServer, session: aiohttp.ClientSession) -> None:
        self.server = server
        self.session = session

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.server.port}"

    async def post(self, path: str, body: bytes, **query: str) -> dict[str, Any]:
        """Returns the review in the response. Fails if there is none."""
        headers = {"Content-Type": "application/json"}
        async with self.session.post(self.url + path, data=body, params=query, headers=headers) as answer:
            assert answer.status == 200, await answer.text()
            assert answer.content_type == "application/json"
            found: dict[str, Any] = await answer.json()
            return found

    async def ask(self, path: str, review: dict[str, Any], **query: str) -> dict[str, Any]:
        """Returns the admission response to an AdmissionReview."""
        answer = await self.post(path, msgspec.json.encode(review), **query)
        assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
        response: dict[str, Any] = answer["response"]
        assert response["uid"] == review["request"]["uid"]
        return response


@asynccontextmanager
async def asking(operator: kw.Operator, clock: Clock | None = None, **options: Any) -> AsyncIterator[Asker]:
    """Serves an operator's webhooks at a free port, without a cluster."""
    certificate = EphemeralCertificate(["127.0.0.1"])
    trust = ssl.create_default_context(cadata=certificate.ca_bundle.decode())
    server = WebhookServer(operator.webhooks, certificate, port=0, clock=clock, **options)
    async with server, aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:
        yield Asker(server, session)


def review(
    obj: Object | dict[str, Any] | None, operation: str = "CREATE", *, old: Object | None = None, **request: Any
) -> dict[str, Any]:
    """An AdmissionReview about an object, as the API server makes them."""
    one = obj if obj is not None else old
    assert one is not None
    content = one if isinstance(one, dict) else to_dict(one)
    group, _, version = content["apiVersion"].rpartition("/")
    plural = info_of(one).plural if isinstance(one, Object) else f"{content['kind'].lower()}s"
    asked: dict[str, Any] = {
        "uid": UID,
        "kind": {"group": group, "version": version, "kind": content["kind"]},
        "resource": {"group": group, "version": version, "resource": plural},
        "requestKind": {"group": group, "version": version, "kind": content["kind"]},
        "requestResource": {"group": group, "version": version, "resource": plural},
        "name": content["metadata"].get("name", ""),
        "namespace": content["metadata"].get("namespace", ""),
        "operation": operation,
        "userInfo": {"username": "alice", "uid": "1", "groups": ["system:authenticated"], "extra": {"scope": ["a"]}},
        "object": content if obj is not None else None,
        "oldObject": None if old is None else to_dict(old),
        "dryRun": False,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": f"{operation.capitalize()}Options"},
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked | request}
