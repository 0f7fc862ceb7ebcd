"""Responses that a dry run makes itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol

import msgspec

from kubewright.client import Request
from kubewright.controller import TerminalError

__all__ = ["Answer", "CannotSimulate", "Forward", "conflict", "not_found", "object_answer"]


class CannotSimulate(TerminalError):
    """A request was not sent, because the server cannot do it as a dry run."""


class Answer:
    """A complete response."""

    def __init__(self, status: int, body: bytes, warned: list[str] | None = None) -> None:
        self.status = status
        self.headers: Mapping[str, str] = {"Content-Type": "application/json"}
        self.body = body
        self.warned = warned or []

    @property
    def content(self) -> dict[str, Any]:
        """The body as plain JSON."""
        return msgspec.json.decode(self.body, type=dict[str, Any])

    def warnings(self) -> list[str]:
        """Returns the values of the `Warning` headers."""
        return self.warned

    async def read(self) -> bytes:
        """Returns the body."""
        return self.body

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yields the body."""
        yield self.body

    def close(self) -> None:
        """Does nothing: there is no connection."""


class Forward(Protocol):
    """Sends a request to the server as a dry run, with some parts replaced."""

    async def __call__(
        self,
        request: Request,
        *,
        method: str | None = None,
        path: str | None = None,
        body: bytes | None = None,
        content_type: str | None = None,
    ) -> Answer:
        """Returns the whole response, also if it is an error."""


def object_answer(content: dict[str, Any]) -> Answer:
    """Returns the response with an object."""
    return Answer(200, msgspec.json.encode(content))


def conflict(request: Request, reason: str, message: str, *, code: int = 409) -> Answer:
    """Returns the error response to a write."""
    return _error(request, code, reason, message)


def not_found(request: Request) -> Answer:
    """Returns the 404 response for an object that does not exist."""
    return _error(request, 404, "NotFound", f'"{request.name}" not found')


def _error(request: Request, code: int, reason: str, message: str) -> Answer:
    resource, _, group = request.resource.partition("/")[0].partition(".")
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": f"{request.resource} {message}",
        "details": {"name": request.name, "group": group, "kind": resource},
    }
    return Answer(code, msgspec.json.encode(status))
