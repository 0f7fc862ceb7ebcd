"""An in-memory server that accepts every write, and the fixtures of the controller tests."""

from __future__ import annotations

import msgspec
import pytest

from kubewright.client import Request, Response
from kubewright.clock import VirtualClock
from kubewright.operator import Operator
from tests.transports.scripted import ScriptedResponse, status_response


class Agreeable:
    """A server that responds to a write with the sent object, or with the status in `answers`."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.answers: list[int] = []

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        status = self.answers.pop(0) if self.answers else 200
        if status >= 300:
            reason = {409: "Conflict", 503: "ServiceUnavailable"}.get(status, "")
            return status_response(status, reason, "no")
        sent = msgspec.json.decode(request.body) if request.body else {}
        content = (
            sent if isinstance(sent, dict) else {"spec": {"size": 7}, "status": {"ready": 7}}
        )  # the result of the tests' patches
        if "status" in content and request.resource.endswith("/status"):
            content = {"spec": {"size": 7}} | content
        meta = {"namespace": request.namespace, "name": request.name, "generation": 1, **content.get("metadata", {})}
        meta |= {"uid": f"uid-{meta['name']}", "resourceVersion": "1000"}
        names = {"apiVersion": "example.com/v1", "kind": "Thing"}
        return ScriptedResponse(200, {**names, **content, "metadata": meta})

    async def close(self) -> None:
        pass


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def operator() -> Operator:
    return Operator("thing-operator")


@pytest.fixture
def server() -> Agreeable:
    return Agreeable()
