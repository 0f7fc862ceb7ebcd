"""A server in memory that takes every write, and what the tests of controllers have."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from kubewright.client import Request, Response
from kubewright.clock import VirtualClock
from kubewright.operator import Operator


class Answer:
    """An answer with this content."""

    def __init__(self, content: Any, status: int = 200) -> None:
        self.status = status
        self.headers: dict[str, str] = {}
        self._body = msgspec.json.encode(content)

    def warnings(self) -> list[str]:
        return []

    async def read(self) -> bytes:
        return self._body

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._body

    def close(self) -> None:
        pass


class Agreeable:
    """A server that answers a write with what was sent, and the status that the test has put in `answers`."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.answers: list[int] = []

    async def send(self, request: Request) -> Response:
        self.requests.append(request)
        status = self.answers.pop(0) if self.answers else 200
        if status >= 300:
            reason = {409: "Conflict", 503: "ServiceUnavailable"}.get(status, "")
            return Answer({"kind": "Status", "code": status, "reason": reason, "message": "no"}, status)
        sent = msgspec.json.decode(request.body) if request.body else {}
        content = (
            sent if isinstance(sent, dict) else {"spec": {"size": 7}, "status": {"ready": 7}}
        )  # what the patches of the tests make
        if "status" in content and request.resource.endswith("/status"):
            content = {"spec": {"size": 7}} | content
        meta = {"namespace": request.namespace, "name": request.name, "generation": 1, **content.get("metadata", {})}
        meta |= {"uid": f"uid-{meta['name']}", "resourceVersion": "1000"}
        names = {"apiVersion": "example.com/v1", "kind": "Thing"}
        return Answer({**names, **content, "metadata": meta})

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
