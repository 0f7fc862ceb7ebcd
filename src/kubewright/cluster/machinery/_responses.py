"""Responses of the server: a `Response` of the client's transport, with a body or a stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from kubewright.cluster.machinery._failures import Failure, PlainFailure
from kubewright.http import ByteStream, memory_streams

__all__ = ["JSON", "ApiResponse", "Headers", "NoResponse", "Stream", "encode", "error_response"]

JSON = "application/json"
_encoder = msgspec.json.Encoder()


def encode(value: Any) -> bytes:
    """Encodes a value as JSON."""
    return _encoder.encode(value)


class Headers(Mapping[str, str]):
    """Response headers with case-insensitive names. The last value of a name counts; `pairs` has all."""

    __slots__ = ("_pairs", "_values")

    def __init__(self, values: Mapping[str, str] | Sequence[tuple[str, str]]) -> None:
        self._pairs = [*values.items()] if isinstance(values, Mapping) else [*values]
        self._values = {name.lower(): (name, value) for name, value in self._pairs}

    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()][1]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._values.values())

    def __len__(self) -> int:
        return len(self._values)

    def pairs(self) -> list[tuple[str, str]]:
        """Returns every header, in order."""
        return list(self._pairs)


class NoResponse(Exception):
    """A request without a response: its connection is closed, or, with `timeout`, the client's timeout expires."""

    def __init__(self, *, timeout: bool) -> None:
        super().__init__("the server sends no response")
        self.timeout = timeout


class Stream(Protocol):
    """A body of unknown length: a watch."""

    def chunks(self) -> AsyncIterator[bytes]:
        """Yields the body as it is produced."""

    def may_stall(self) -> bool:
        """Whether the stream may stop producing although the cluster runs."""

    def close(self) -> None:
        """Ends the stream because the client stopped reading."""

    def when_closed(self, callback: Callable[[], None]) -> None:
        """Calls `callback` once when the stream has ended."""


class ApiResponse:
    """A response. For a watch, `stream` is set and `body` is empty; with status 101, `upgrade` is set."""

    __slots__ = ("__weakref__", "_running", "_warnings", "body", "headers", "status", "stream", "upgrade")

    def __init__(
        self,
        body: bytes = b"",
        *,
        status: int = 200,
        content_type: str = JSON,
        warnings: list[str] | None = None,
        stream: Stream | None = None,
        headers: Mapping[str, str] | None = None,
        upgrade: Callable[[ByteStream], Awaitable[None]] | None = None,
    ) -> None:
        self.status = status
        self.upgrade = upgrade
        self._running: asyncio.Task[None] | None = None
        self.body = body
        self.stream = stream
        typed = {"Content-Type": content_type} if body or stream is not None else {}
        self.headers = Headers({**typed, **(headers or {})})
        self._warnings = warnings or []

    def warnings(self) -> list[str]:
        """Returns the values of the `Warning` headers."""
        return [f"299 - {encode(text).decode()}" for text in self._warnings]

    @property
    def is_json(self) -> bool:
        """Whether the body is a JSON document."""
        return bool(self.body) and self.headers["Content-Type"] == JSON

    async def in_yaml(self) -> None:
        """Converts the JSON body to YAML."""
        from kubewright.cluster.machinery._yaml import yaml_of

        self.body = await yaml_of(self.body)
        self.headers = Headers({**self.headers, "Content-Type": "application/yaml"})

    def add_header(self, name: str, value: str) -> None:
        """Adds a header."""
        self.headers = Headers([*self.headers.pairs(), (name, value)])

    def drop_warnings(self) -> None:
        """Removes all warnings."""
        self._warnings = []

    async def read(self) -> bytes:
        """Returns the whole body."""
        if self.stream is None:
            return self.body
        return b"".join([chunk async for chunk in self.stream.chunks()])

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yields the body as it arrives."""
        if self.stream is None:
            if self.body:
                yield self.body
            return
        async for chunk in self.stream.chunks():
            yield chunk

    def upgraded(self) -> ByteStream:
        """Returns the connection after an upgrade, for a client in this process."""
        near, far = memory_streams()
        self._running = asyncio.get_running_loop().create_task(self._upgrade(far))
        return near

    async def _upgrade(self, stream: ByteStream) -> None:
        try:
            if self.upgrade is not None:
                await self.upgrade(stream)
        finally:
            stream.close()

    def may_stall(self) -> bool:
        """Whether the rest of the body may fail to arrive although the cluster runs."""
        return self.stream is not None and self.stream.may_stall()

    def close(self) -> None:
        """Discards the rest of the body."""
        if self.stream is not None:
            self.stream.close()


def error_response(failure: Failure | PlainFailure, warnings: list[str] | None = None) -> ApiResponse:
    """Returns the response for an error."""
    if isinstance(failure, PlainFailure):
        return ApiResponse(failure.text.encode(), status=failure.code, content_type="text/plain; charset=utf-8")
    headers = {"Retry-After": str(failure.retry_after)} if failure.retry_after is not None else None
    return ApiResponse(encode(failure.status), status=failure.code, warnings=warnings, headers=headers)
