"""The server that the API server calls.

- It speaks HTTP/1.1 over TLS 1.2 or newer, with the certificate that its source has at that moment; with `client_ca`
  only to clients whose certificate is signed by it.
- A review of more than 7 MiB is refused with 413, one with objects to convert of more than 64 MiB; one that arrives
  more slowly than the API server waits with 408. Both in a review: the API server shows the text of nothing else.
- The API server says how long it waits; handlers get a little less, so that their answer still arrives.
- Whatever comes in, and whatever handlers say, a proper review goes out, and the server lives on. An answer that cannot
  be sent is a refusal, whatever the failure policy: nobody knows what it would have been.
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
from kubewright.observe import Review, WebhookStats
from kubewright.webhook._admission import Admission
from kubewright.webhook._bodies import LARGEST_ADMISSION, LARGEST_CONVERSION, read_body
from kubewright.webhook._certificates_protocol import CertificateSource
from kubewright.webhook._conversion import ConversionWebhook
from kubewright.webhook._refusals import Refused, status_of
from kubewright.webhook._registering import Webhooks
from kubewright.webhook._reviews import (
    AdmissionAnswer,
    BadReview,
    ConversionAsked,
    admission_review,
    asked_admission,
    asked_conversion,
    conversion_review,
    uid_in,
)
from kubewright.webhook._threads import HandlerThreads
from kubewright.webhook._tls import serving_context

if TYPE_CHECKING:
    from kubewright.http import Server, ServerRequest, ServerResponse

__all__ = ["PROBES", "WebhookServer"]

logger = logging.getLogger("kubewright.webhook")

PROBES: Final = ("/probe/mutate", "/probe/validate")
"""Paths that are asked for nothing but to see whether they are."""
_CONVERT: Final = "/convert"
_PATIENCE: Final = 30.0  # what the API server grants at most, for callers that do not say
_JSON: Final = (("Content-Type", "application/json"),)
_TEXT: Final = (("Content-Type", "text/plain; charset=utf-8"),)
_IDLE_SECONDS: Final = 600.0  # an API server closes its idle connections after 90 s; closing earlier breaks reused ones
_ADMISSION_BYTES: Final = 32 * 1024 * 1024  # reviews that are held at a time
_CONNECTIONS: Final = 512  # an API server opens one for each call that it makes at the same time
_LAST_SECONDS: Final = 5.0
_TIME: Final = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,9})?)(ms|s|m)")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}


class WebhookServer:
    """Serves the webhooks of an operator at one address, from `async with` to its end.

    Entering raises `OSError` when the address cannot be listened at, with the address in its text. Leaving lets running
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
        """A name that only a probe has: an object in which it occurs is converted without anybody's functions."""
        self.probed: set[str] = set()
        """What probes have reached: `PROBES`, and the kinds that were converted, such as `Foo.example.com`."""
        self.leaving = False
        """Whether each answer is the last one on its connection, because further requests had better go elsewhere."""
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
                handler.calls.make(),
                threads=self._threads.share(handler.declaration.name, alone=alone),
                clock=clock,
                client=client,
            )
            for handler in webhooks.handlers
        }
        self._conversion: ConversionWebhook | None = None
        if webhooks.conversions.steps:
            share = self._threads.share("the conversion", alone=alone)
            self._conversion = ConversionWebhook(webhooks.conversions, threads=share, clock=clock)
        self._server: Server | None = None
        self._respond: type[ServerResponse]  # known when it listens, because the HTTP server is imported then

    @property
    def port(self) -> int:
        """The port that it listens on, also if port 0 let the system choose; 0 while it does not listen."""
        return self._server.port if self._server is not None else 0

    @property
    def problem(self) -> str | None:
        """Why plain handlers cannot be called any more, although it listens; None while they can."""
        return self._threads.problem

    @property
    def paths(self) -> list[str]:
        """All that it serves."""
        return sorted([*self._admissions, *([_CONVERT] if self._conversion is not None else ())])

    async def __aenter__(self) -> Self:
        from kubewright.http import Server, ServerLimits, ServerResponse

        try:
            server = Server(
                self._answer,
                host=self._host,
                port=self._wanted_port,
                tls=serving_context(self.certificate, self._client_ca),
                limits=ServerLimits(
                    connections=_CONNECTIONS,
                    idle_seconds=_IDLE_SECONDS,
                    body_bytes=_ADMISSION_BYTES + (LARGEST_CONVERSION if self._conversion is not None else 0),
                ),
                drain_seconds=_LAST_SECONDS,
            )
            self._server = await server.__aenter__()
        except OSError as error:
            where = f"{self._host}:{self._wanted_port}"
            raise OSError(error.errno, f"cannot serve webhooks at {where}: {error.strerror or error}") from None
        self._respond = ServerResponse
        logger.info("serving %d webhooks at %s:%d", len(self.paths), self._host, self.port)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            await self._server.__aexit__(kind, error, trace)
            self._server = None
        self._threads.close()

    # Requests

    async def _answer(self, request: ServerRequest) -> ServerResponse:
        path = request.path
        if path in PROBES and request.method == "POST":
            self.probed.add(path)
            body, _ = await self._read(request)
            review = admission_review(AdmissionAnswer(uid=uid_in(body), allowed=True))
            return self._respond(200, review, _JSON)
        if path not in self._admissions and (path != _CONVERT or self._conversion is None):
            return self._respond(404, b"there is no such webhook\n", _TEXT)
        if request.method != "POST":
            allowed = (*_TEXT, ("Allow", "POST"))
            return self._respond(405, b"the API server asks webhooks by POST\n", allowed)
        began, stats = time.perf_counter(), self.stats
        stats.in_flight[path] += 1
        status = "500"
        try:
            answer, result = await self._review(path, request)
            status = "200"
        finally:
            stats.in_flight[path] -= 1
            stats.requests[path, status] += 1
            stats.latency[path].observe(time.perf_counter() - began)
        stats.reviews[path, result] += 1
        return self._respond(200, answer, _JSON, close=self.leaving)

    async def _read(self, request: ServerRequest) -> tuple[bytes, BadReview | None]:
        largest = LARGEST_CONVERSION if request.path == _CONVERT else LARGEST_ADMISSION
        return await read_body(request, largest=largest, clock=self._clock, seconds=_seconds(request.query))

    async def _review(self, path: str, request: ServerRequest) -> tuple[bytes, Review]:
        body, trouble = await self._read(request)
        try:
            if trouble is not None:
                raise trouble
            seconds = _seconds(request.query)
            asked = asked_conversion(body) if path == _CONVERT else asked_admission(body)
        except BadReview as error:
            logger.warning("%s at %s: %s", request.peer, path, error)
            return _refusal(path, uid_in(body), str(error), error.code), "failed"
        try:
            with self._clock.serving(asked.uid, foreign=True):
                if isinstance(asked, ConversionAsked):
                    return await self._convert(asked, body, seconds)
                answer, result = await self._admissions[path].answer(asked, seconds)
            return admission_review(answer), result
        except Exception:
            logger.exception("the answer at %s cannot be sent, and is a refusal", path)
            return _refusal(path, asked.uid, f"the answer at {path} cannot be sent; its log says more", 500), "failed"

    async def _convert(self, asked: ConversionAsked, body: bytes, seconds: float) -> tuple[bytes, Review]:
        assert self._conversion is not None
        if self.probe and self.probe.encode() in body:
            return self._converted_probe(asked), "allowed"
        answer, converted = await self._conversion.answer(asked, seconds)
        return answer, "allowed" if converted else "failed"

    def _converted_probe(self, asked: ConversionAsked) -> bytes:
        objects = [msgspec.json.decode(raw) for raw in asked.objects]
        group = asked.desired.partition("/")[0]
        self.probed |= {f"{one['kind']}.{group}" for one in objects}
        return conversion_review(asked.uid, [one | {"apiVersion": asked.desired} for one in objects])


def _refusal(path: str, uid: str, why: str, code: int) -> bytes:
    """A review that holds nothing but why there is no other."""
    if path == _CONVERT:
        return conversion_review(uid, failure=why)
    status = status_of(Refused(why, code=code), group="", kind="", name="")
    return admission_review(AdmissionAnswer(uid=uid, allowed=False, status=status))


@lru_cache(maxsize=64)
def _seconds(query: str) -> float:
    """How long a handler may take: what the API server waits, less what an answer needs to arrive."""
    given = dict(parse_qsl(query)).get("timeout", "")
    said = sum(float(number) * _UNITS[unit] for number, unit in _TIME.findall(given))
    waits = min(said or _PATIENCE, _PATIENCE)
    return waits - min(1.0, waits * 0.2)
