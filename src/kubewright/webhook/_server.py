"""`WebhookServer`: the HTTPS server that the API server calls.

- It uses HTTP/1.1 over TLS 1.2 or newer, with the current certificate of its source. With `client_ca`, it requires a
  client certificate that one of these CAs signed.
- It rejects an AdmissionReview larger than 7 MiB and a ConversionReview larger than 64 MiB with 413, and a body that
  arrives too slowly with 408. Both are sent as reviews, because the API server shows no other message.
- The API server sends its timeout; handlers get slightly less, so that their response still arrives.
- The response to every request is a valid review, whatever handlers do. A response that cannot be encoded becomes a
  rejection, whatever the failure policy, because the decision of the handler is unknown.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import parse_qsl

import msgspec

from kubewright.client import Client
from kubewright.clock import Clock, SystemClock
from kubewright.counts import counted
from kubewright.observe import Review, WebhookStats
from kubewright.webhook._admission import Admission
from kubewright.webhook._certificate_source import CertificateSource
from kubewright.webhook._conversion import ConversionWebhook
from kubewright.webhook._registration import Webhooks
from kubewright.webhook._threads import HandlerThreads
from kubewright.webhook._tls import serving_context
from kubewright.webhook.reviews._refusals import Refused, status_of
from kubewright.webhook.reviews._request_body import LARGEST_ADMISSION, LARGEST_CONVERSION, read_body
from kubewright.webhook.reviews._reviews import (
    AdmissionResponse,
    BadReview,
    ConversionReviewRequest,
    admission_review,
    conversion_review,
    decode_admission,
    decode_conversion,
    uid_in,
)

if TYPE_CHECKING:
    from kubewright.http import Server, ServerRequest, ServerResponse

__all__ = ["PROBES", "WebhookServer"]

logger = logging.getLogger("kubewright.webhook")

PROBES: Final = ("/probe/mutate", "/probe/validate")
"""The paths of probes, which only show that the API server calls this program."""
_CONVERT: Final = "/convert"
_LONGEST_TIMEOUT: Final = 30.0  # of the API server; the default for clients that send none
_JSON: Final = (("Content-Type", "application/json"),)
_TEXT: Final = (("Content-Type", "text/plain; charset=utf-8"),)
_IDLE_SECONDS: Final = 600.0  # an API server closes its idle connections after 90 s; closing earlier breaks reused ones
_ADMISSION_BYTES: Final = 32 * 1024 * 1024  # of all concurrent reviews
_CONNECTIONS: Final = 512  # an API server opens one for each concurrent call
_DRAIN_SECONDS: Final = 5.0
_TIME: Final = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,9})?)(ms|s|m)")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}


class WebhookServer:
    """Serves the webhooks of an operator at one address, until the end of `async with`.

    Entering raises `OSError` with the address in its message if the server cannot listen there. Leaving lets running
    requests finish.
    """

    def __init__(
        self,
        webhooks: Webhooks,
        certificate: CertificateSource,
        *,
        host: str = "127.0.0.1",
        port: int = 9443,
        client_ca: str | None = None,
        client: Client | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.certificate = certificate
        self.probe = ""
        """A name that only probes have. An object that contains it is converted without calling a handler."""
        self.probed: set[str] = set()
        """The probes that arrived: paths of `PROBES`, and converted kinds such as `Foo.example.com`."""
        self.leaving = False
        """Whether to close each connection after its response, so that clients connect to another replica."""
        self._host, self._wanted_port = host, port
        self._client_ca = client_ca
        self._clock = clock = clock or SystemClock()
        self._threads = HandlerThreads(clock=clock)
        self.stats = WebhookStats(hanging=self._threads.hanging)
        alone = len(webhooks.handlers) + bool(webhooks.conversions.steps) == 1
        self._admissions: Mapping[str, Admission] = {
            handler.declaration.path: Admission(
                handler.declaration,
                handler.kind,
                handler.factory.make(),
                threads=self._threads.quota(handler.declaration.name, alone=alone),
                clock=clock,
                client=client,
            )
            for handler in webhooks.handlers
        }
        self._conversion: ConversionWebhook | None = None
        if webhooks.conversions.steps:
            quota = self._threads.quota("the conversion", alone=alone)
            self._conversion = ConversionWebhook(webhooks.conversions, threads=quota, clock=clock)
        self._server: Server | None = None
        self._respond: type[ServerResponse]  # imported with the HTTP server when it starts to listen

    @property
    def port(self) -> int:
        """The port that the server listens on, chosen by the system for port 0; 0 if it does not listen."""
        return self._server.port if self._server is not None else 0

    @property
    def problem(self) -> str | None:
        """Why plain handlers can no longer be called; None if they can."""
        return self._threads.problem

    @property
    def paths(self) -> list[str]:
        """The paths of all webhooks."""
        return sorted([*self._admissions, *([_CONVERT] if self._conversion is not None else ())])

    async def __aenter__(self) -> Self:
        from kubewright.http import Server, ServerLimits, ServerResponse

        try:
            server = Server(
                self._respond_to,
                host=self._host,
                port=self._wanted_port,
                tls=serving_context(self.certificate, self._client_ca),
                limits=ServerLimits(
                    connections=_CONNECTIONS,
                    idle_seconds=_IDLE_SECONDS,
                    body_bytes=_ADMISSION_BYTES + (LARGEST_CONVERSION if self._conversion is not None else 0),
                ),
                drain_seconds=_DRAIN_SECONDS,
            )
            self._server = await server.__aenter__()
        except OSError as error:
            where = f"{self._host}:{self._wanted_port}"
            raise OSError(error.errno, f"cannot serve webhooks at {where}: {error.strerror or error}") from None
        self._respond = ServerResponse
        logger.info("serving %s at %s:%d", counted(len(self.paths), "webhook"), self._host, self.port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            await self._server.__aexit__(kind, error, trace)
            self._server = None
        self._threads.close()

    # Requests

    async def _respond_to(self, request: ServerRequest) -> ServerResponse:
        path = request.path
        if path in PROBES and request.method == "POST":
            self.probed.add(path)
            body, _ = await self._read(request)
            review = admission_review(AdmissionResponse(uid=uid_in(body), allowed=True))
            return self._respond(200, review, _JSON)
        if path not in self._admissions and (path != _CONVERT or self._conversion is None):
            return self._respond(404, b"there is no such webhook\n", _TEXT)
        if request.method != "POST":
            allowed = (*_TEXT, ("Allow", "POST"))
            return self._respond(405, b"webhooks accept only POST\n", allowed)
        began, stats = time.perf_counter(), self.stats
        stats.in_flight[path] += 1
        status = "500"
        try:
            response, result = await self._review(path, request)
            status = "200"
        finally:
            stats.in_flight[path] -= 1
            stats.requests[path, status] += 1
            stats.latency[path].observe(time.perf_counter() - began)
        stats.reviews[path, result] += 1
        return self._respond(200, response, _JSON, close=self.leaving)

    async def _read(self, request: ServerRequest) -> tuple[bytes, BadReview | None]:
        largest = LARGEST_CONVERSION if request.path == _CONVERT else LARGEST_ADMISSION
        return await read_body(request, largest=largest, clock=self._clock, seconds=_seconds(request.query))

    async def _review(self, path: str, request: ServerRequest) -> tuple[bytes, Review]:
        body, problem = await self._read(request)
        try:
            if problem is not None:
                raise problem
            seconds = _seconds(request.query)
            review = decode_conversion(body) if path == _CONVERT else decode_admission(body)
        except BadReview as error:
            logger.warning("%s at %s: %s", request.peer, path, error)
            return _rejection(path, uid_in(body), str(error), error.code), "failed"
        try:
            with self._clock.serving(review.uid, foreign=True):
                if isinstance(review, ConversionReviewRequest):
                    return await self._convert(review, body, seconds)
                response, result = await self._admissions[path].respond(review, seconds)
            return admission_review(response), result
        except Exception:
            logger.exception("the response of %s cannot be sent; rejecting the request", path)
            return _rejection(
                path, review.uid, f"the response of {path} cannot be sent; see the log of the operator", 500
            ), "failed"

    async def _convert(self, review: ConversionReviewRequest, body: bytes, seconds: float) -> tuple[bytes, Review]:
        assert self._conversion is not None
        if self.probe and self.probe.encode() in body:
            return self._converted_probe(review), "allowed"
        response, converted = await self._conversion.respond(review, seconds)
        return response, "allowed" if converted else "failed"

    def _converted_probe(self, review: ConversionReviewRequest) -> bytes:
        objects = [msgspec.json.decode(raw) for raw in review.objects]
        group = review.desired.partition("/")[0]
        self.probed |= {f"{one['kind']}.{group}" for one in objects}
        return conversion_review(review.uid, [one | {"apiVersion": review.desired} for one in objects])


def _rejection(path: str, uid: str, why: str, code: int) -> bytes:
    """Encodes a review that rejects the request."""
    if path == _CONVERT:
        return conversion_review(uid, failure=why)
    status = status_of(Refused(why, code=code), group="", kind="", name="")
    return admission_review(AdmissionResponse(uid=uid, allowed=False, status=status))


@lru_cache(maxsize=64)
def _seconds(query: str) -> float:
    """Returns the time limit of a handler: the timeout of the API server, less the time for the response."""
    given = dict(parse_qsl(query)).get("timeout", "")
    sent = sum(float(number) * _UNITS[unit] for number, unit in _TIME.findall(given))
    waits = min(sent or _LONGEST_TIMEOUT, _LONGEST_TIMEOUT)
    return waits - min(1.0, waits * 0.2)
