"""A server that follows a script: for tests of exact answers, bytes and failures."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from kubewright.client import Request, Response

__all__ = ["ScriptedResponse", "ScriptedTransport", "status_response"]


class ScriptedResponse:
    """A response with a JSON object, bytes, or bytes in pieces; a piece that is an exception is raised at its place."""

    def __init__(
        self, status: int, body: bytes | list[Any] | dict[str, Any] = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        self.status = status
        self.headers: Mapping[str, str] = headers or {}
        if isinstance(body, dict):
            body = json.dumps(body, separators=(",", ":")).encode()
        self._pieces = body if isinstance(body, list) else [body]

    def warnings(self) -> list[str]:
        return [value for name, value in self.headers.items() if name == "Warning"]

    async def read(self) -> bytes:
        return b"".join([piece async for piece in self.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            if isinstance(piece, BaseException):
                raise piece
            yield piece

    def close(self) -> None:
        """Nothing to free."""


class ScriptedTransport:
    """A server that returns scripted responses in order and records the requests.

    An answer is a status with a body and perhaps headers, or an exception.
    """

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []
        self.closed = False

    async def send(self, request: Request) -> Response:
        self.requests.append(copy.deepcopy(request))
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return ScriptedResponse(*answer)

    async def close(self) -> None:
        self.closed = True


def status_response(code: int, reason: str, message: str = "") -> ScriptedResponse:
    """Returns the response to a rejected request."""
    status = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message or reason}
    return ScriptedResponse(code, status)
