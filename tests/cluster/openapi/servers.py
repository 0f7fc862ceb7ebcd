"""Requests to both servers, as any HTTP client sends them, and what is compared of their documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from kubewright.client import Request, Transport

__all__ = ["DEFINITIONS_PATH", "Answer", "Server", "differences", "without_prose"]

DEFINITIONS_PATH: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@dataclass(frozen=True)
class Answer:
    """A response. Names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Server:
    """One of the servers."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        path, _, query = path.partition("?")
        sent = {name.replace("_", "-"): value for name, value in headers.items()} | {"User-Agent": "test/1"}
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        request = Request(
            method=method,
            path=path,
            query=[(name, value) for name, _, value in (part.partition("=") for part in query.split("&") if part)],
            headers=sent,
            body=None if body is None else json.dumps(body).encode(),
        )
        response = await self._transport.send(request)
        answered = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status, answered, await response.read())

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.send("GET", path, **headers)

    async def json(self, path: str) -> Any:
        answer = await self.get(path)
        assert answer.status == 200, (path, answer.status, answer.body[:200])
        return json.loads(answer.body)


def without_prose(document: Any) -> Any:
    """Returns a document without Kubernetes' descriptions of its own fields and parameters.

    What remains of the descriptions is those of definitions, and labels such as `read the specified Foo`.
    """
    if isinstance(document, list):
        return [without_prose(each) for each in document]
    if not isinstance(document, dict):
        return document
    return {
        name: without_prose(each) for name, each in document.items() if name != "description" or not _is_prose(each)
    }


# Parts of the descriptions that the server adds to custom resources and their parameters.
_PROSE: Final = (
    "git.k8s.io/community",
    "Standard ",
    "If 'true', then the output is pretty printed.",
    "object name and auth scope",
    "When present, indicates that modifications should not be persisted.",
    "fieldManager is a name associated with",
    "fieldValidation instructs the server",
    "Force is going to",
    "allowWatchBookmarks requests",
    "The continue option",
    "A selector to restrict",
    "limit is a maximum number",
    "resourceVersion sets a constraint",
    "resourceVersionMatch determines",
    "`sendInitialEvents=true`",
    "shardSelector restricts",
    "Timeout for the list/watch call.",
    "Watch for changes",
    "The duration in seconds before",
    "if set to true, it will trigger an unsafe deletion",
    "Deprecated: please use the PropagationPolicy",
    "Whether and how garbage collection",
)


def _is_prose(description: Any) -> bool:
    return isinstance(description, str) and any(part in description for part in _PROSE)


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Yields where two documents differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted({*ours, *theirs}):
            if name not in ours or name not in theirs:
                where = "the real server" if name in theirs else "the embedded cluster"
                yield f"{path}/{name}: only on {where}"
            else:
                yield from differences(ours[name], theirs[name], f"{path}/{name}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    elif ours != theirs:
        yield f"{path}: {str(ours)[:200]} != {str(theirs)[:200]}"
