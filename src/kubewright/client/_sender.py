"""Everything around a request: rate limit, hooks, retries, warnings, and errors as exceptions."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from kubewright.client._errors import ApiError, Status, Timeout, error_from, error_from_loss
from kubewright.client._rate_limit import RateLimit
from kubewright.client._retry import RetryPolicy
from kubewright.client._trace import current_trace
from kubewright.client._transport import ConnectionLost, Request, Response, Transport, read_start
from kubewright.client.wire import WarningLog
from kubewright.clock import Clock
from kubewright.durations import format_duration

__all__ = ["Outcome", "RequestHook", "Sender"]

logger = logging.getLogger("kubewright.client")

_ERROR_BYTES = 2**22  # of the body of an error, which may quote an object; a request has at most 3 MiB


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one attempt. `status` is 0 if there was no response."""

    status: int
    seconds: float
    attempt: int
    error: ApiError | None = None


RequestHook: TypeAlias = Callable[[Request], Callable[[Outcome], None] | None]
"""Called before each attempt; may add headers; the returned function is called with the outcome. Must not block or
raise."""


class Sender:
    """Sends requests through a transport until they succeed or may not be retried."""

    def __init__(
        self,
        transport: Transport,
        *,
        clock: Clock,
        rng: random.Random,
        retry: RetryPolicy,
        user_agent: str,
        rate_limit: RateLimit | None,
        hooks: Sequence[RequestHook],
    ) -> None:
        self._transport = transport
        self._clock = clock
        self._rng = rng
        self._retry = retry
        self._user_agent = user_agent
        self._rate_limit = rate_limit
        self._hooks = tuple(hooks)
        self._warnings = WarningLog()

    async def open(self, request: Request) -> Response:
        """Returns a successful response with an unread body. Raises the exception for any other response."""
        response, _ = await self._attempts(request, read=False)
        return response

    async def read(self, request: Request) -> bytes:
        """Returns the body of a successful response. Raises the exception for any other response."""
        _, body = await self._attempts(request, read=True)
        return body

    async def _attempts(self, request: Request, *, read: bool) -> tuple[Response, bytes]:
        request.headers.setdefault("User-Agent", self._user_agent)
        if (trace := current_trace()) is not None:
            request.headers.setdefault("traceparent", trace.traceparent)
        give_up_at = self._clock.monotonic() + self._retry.deadline_seconds
        attempt = 0
        while True:
            attempt += 1
            if self._rate_limit is not None:
                await self._rate_limit.wait()
            try:
                return await self._attempt(request, attempt, read=read)
            except ApiError as error:
                cause = error.__cause__
                if isinstance(cause, ConnectionLost) and cause.final:
                    raise
                sent = not isinstance(cause, ConnectionLost) or cause.sent
                if attempt >= self._retry.attempts or not self._retry.may_repeat(
                    error, repeatable=request.repeatable, sent=sent
                ):
                    raise
                delay = self._retry.delay(attempt, error, self._rng)
                if self._clock.monotonic() + delay > give_up_at:
                    raise
                logger.debug("%s failed (%s), retrying in %s", request, error, format_duration(delay))
                await self._clock.sleep(delay)

    async def _attempt(self, request: Request, attempt: int, *, read: bool) -> tuple[Response, bytes]:
        finishers = [finish for hook in self._hooks if (finish := hook(request)) is not None]
        began = self._clock.monotonic()
        status = 0
        failure: ApiError | None = None
        try:
            response = await self._transport.send(request)
            status = response.status
            if warnings := response.warnings():
                self._warnings.log(warnings, str(request))
            if status >= 300:
                raise error_from(
                    status,
                    response.headers,
                    await read_start(response, _ERROR_BYTES),
                    request=str(request),
                    verb=request.verb,
                    resource=request.resource,
                )
            return response, await response.read() if read else b""
        except ApiError as error:
            failure = error
            raise
        except ConnectionLost as error:
            failure = error_from_loss(error, str(request))
            raise failure from error
        except TimeoutError as error:
            message = f"no answer within {format_duration(request.timeout)}" if request.timeout else "no answer in time"
            failure = Timeout(Status(reason="Timeout", message=message), str(request))
            raise failure from error
        finally:
            seconds = self._clock.monotonic() - began
            logger.debug("%s: %s, %s", request, status or "no answer", format_duration(seconds))
            for finish in finishers:
                finish(Outcome(status=status, seconds=seconds, attempt=attempt, error=failure))
