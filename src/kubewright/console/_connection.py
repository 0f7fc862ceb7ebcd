"""`Connection`: whether the API server answers, by an active probe.

A watch without events is healthy, and so is one of a server that hangs. The probe tells them apart: it requests
`/version` every three seconds, and any response counts as an answer. It detects a hanging server within ten seconds.
A request that gets no response starts the next probe immediately, so that its page reports the outage.
While the connection is lost, requests fail immediately instead of keeping pages waiting.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final, Literal

from kubewright.client import (
    ApiError,
    Client,
    ConnectionLost,
    NotKubernetes,
    Request,
    Response,
    RetryPolicy,
    Timeout,
    Transport,
    Unavailable,
)
from kubewright.clock import CancelScope, Clock, TimeLimitExceeded
from kubewright.durations import format_duration

__all__ = ["Connection"]


class _Suspected(Exception):
    """A request got no response."""


_PROBE_SECONDS: Final = 3.0
_ANSWER_SECONDS: Final = 4.0
_RETRY_SECONDS: Final = (1.0, 2.0, 3.0, 5.0)
_ONCE: Final = RetryPolicy(attempts=1)


class Connection:
    """The connection to one API server. `run` probes it until canceled."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client.through(lambda transport: transport, retry=_ONCE, rate_limited=False)
        self._clock = clock
        self.state: Literal["connecting", "connected", "lost"] = "connecting"
        self.last_answer_at: datetime | None = None
        """When the server last answered a probe."""
        self.lost_since: datetime | None = None
        """When the server last answered, or when the first probe began; None while it is not lost."""
        self.error = ""
        """Why the last probe failed."""
        self.retry_at: datetime | None = None
        """When the next probe begins, while the connection is lost."""
        self._started_at = clock.now()
        self._failures = 0
        self._in_flight: set[CancelScope] = set()
        self._pause: CancelScope | None = None

    @property
    def lost(self) -> bool:
        """Whether the server does not answer."""
        return self.state == "lost"

    async def run(self) -> None:
        """Probes the server until canceled."""
        while True:
            await self.probe()
            pause = _PROBE_SECONDS
            if self.lost:
                pause = _RETRY_SECONDS[min(self._failures, len(_RETRY_SECONDS)) - 1]
                self.retry_at = self._clock.now() + timedelta(seconds=pause)
            with suppress(_Suspected), CancelScope() as self._pause:
                await self._clock.sleep(pause)
            self.retry_at = None

    def _suspect(self) -> None:
        if not self.lost and self._pause is not None:
            self._pause.cancel(_Suspected())

    async def probe(self) -> None:
        """Probes the server once."""
        try:
            with CancelScope() as scope:
                limit = self._clock.limit(_ANSWER_SECONDS, lambda: scope.cancel(TimeLimitExceeded()))
                try:
                    await self._client.server_version()
                finally:
                    limit.cancel()
        except TimeLimitExceeded:
            self._record_failure(f"no answer within {format_duration(_ANSWER_SECONDS)}")
        except (Unavailable, Timeout, NotKubernetes) as error:
            self._record_failure(error.status.message or str(error))
        except ApiError:
            self._answered()  # a rejection is an answer
        except OSError as error:
            self._record_failure(str(error))
        else:
            self._answered()

    def _answered(self) -> None:
        self.state, self.lost_since, self.error, self._failures = "connected", None, "", 0
        self.last_answer_at = self._clock.now()

    def _record_failure(self, error: str) -> None:
        self._failures += 1
        self.error = error
        if not self.lost:
            self.state, self.lost_since = "lost", self.last_answer_at or self._started_at
            for scope in tuple(self._in_flight):
                scope.cancel(self._lost_error())

    def _lost_error(self) -> ConnectionLost:
        return ConnectionLost(f"the API server does not respond: {self.error}", sent=True, final=True)

    def guard(self, client: Client, retry: RetryPolicy) -> Client:
        """Returns a client of the same server whose requests fail with `Unavailable` while the connection is lost.

        Watches are not affected: they reconnect by themselves.
        """
        return client.through(lambda transport: _Guarded(transport, self), retry=retry)

    async def send(self, transport: Transport, request: Request) -> Response:
        """Sends a request, unless or until the connection is lost."""
        if self.lost:
            raise self._lost_error()
        with CancelScope() as scope:
            self._in_flight.add(scope)
            try:
                return await self._forward(transport, request)
            finally:
                self._in_flight.discard(scope)

    async def _forward(self, transport: Transport, request: Request) -> Response:
        """Sends a request, also while the connection is lost."""
        try:
            return await transport.send(request)
        except ConnectionLost:
            self._suspect()
            raise


class _Guarded:
    def __init__(self, transport: Transport, connection: Connection) -> None:
        self._transport = transport
        self._connection = connection

    async def send(self, request: Request) -> Response:
        if request.stream or request.upgrade:
            return await self._connection._forward(self._transport, request)
        return await self._connection.send(self._transport, request)

    async def close(self) -> None:
        await self._transport.close()
