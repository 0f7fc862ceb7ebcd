"""`Admission`: calls a handler for an AdmissionReview and turns its result into the response.

There always is a response, with a message that contains nothing of the object except what the handler put into it. A
handler that raises or times out rejects the request, or admits it with a warning if the webhook's failure policy is
`Ignore`, exactly as if the process had not responded. Messages of handlers are always sent: an exception as its string,
and characters that cannot be encoded as escapes.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterable, Callable, Iterable
from typing import Any, Final

import msgspec

from kubewright.api import DecodeError, Object, ValidationError, decode, encode, info_of
from kubewright.client import Client
from kubewright.clock import Clock, TimeLimitExceeded, within
from kubewright.diff import ListKeys, Operation, diff
from kubewright.durations import format_duration
from kubewright.observe import Review
from kubewright.redaction import as_text
from kubewright.user_code import contained, containment
from kubewright.webhook._declarations import WebhookDeclaration
from kubewright.webhook._handlers import HandlerFunction
from kubewright.webhook._request import AdmissionRequest
from kubewright.webhook._threads import ThreadQuota
from kubewright.webhook.reviews._refusals import AdmissionWarning, FieldError, Refused, Verdict, status_of
from kubewright.webhook.reviews._reviews import AdmissionResponse, AdmissionReviewRequest, BadReview

__all__ = ["Admission"]

logger = logging.getLogger("kubewright.webhook")

_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_SERVER_FIELDS: Final = frozenset(["/metadata/managedFields", "/metadata/resourceVersion", "/metadata/generation"])


class Admission:
    """One admission webhook. `kind` is the model of its objects; a class without a resource accepts any kind."""

    def __init__(
        self,
        declaration: WebhookDeclaration,
        kind: type[Object],
        handler_for: Callable[[str], HandlerFunction | None],
        *,
        threads: ThreadQuota,
        clock: Clock,
        client: Client | None = None,
    ) -> None:
        self.declaration = declaration
        self._kind = kind
        self._handler_for = handler_for
        self._threads = threads
        self._clock = clock
        self._client = client

    async def respond(self, review: AdmissionReviewRequest, seconds: float) -> tuple[AdmissionResponse, Review]:
        """Returns the response, within a time limit, and the result for metrics."""
        request: AdmissionRequest[Any] = AdmissionRequest(self._kind, review, self._client)
        try:
            self._check_kind(review)
            handler = self._handler_for(review.operation)
            if handler is None:
                return self._allow(request), "allowed"
            if self.declaration.mutating:
                return await self._mutate(handler, request, seconds), "allowed"
            verdict = await self._validate(handler, request, seconds)
            request.warnings.extend(verdict.warnings)
            if verdict.errors:
                raise Refused(*verdict.errors)
            return self._allow(request), "allowed"
        except Refused as refused:
            return self._reject(request, refused), "refused"
        except ValidationError as error:
            return self._reject(request, Refused.of(error)), "refused"
        except DecodeError as error:
            where = FieldError(error.path, error.reason, "FieldValueTypeInvalid")
            return self._reject(request, Refused(where)), "refused"
        except BadReview as error:
            return self._reject(request, Refused(str(error), code=400)), "failed"
        except TimeLimitExceeded:
            what = f"timed out after {format_duration(seconds)}"
            logger.error("webhook %s %s for %r", self.declaration.name, what, request)
            return self._failed(request, what, 504), "failed"
        except Exception as error:
            logger.exception("webhook %s failed for %r", self.declaration.name, request)
            return self._failed(
                request, f"failed with {type(error).__name__}; see the log of the operator", 500
            ), "failed"

    def _check_kind(self, review: AdmissionReviewRequest) -> None:
        info = getattr(self._kind, "__resource__", None)
        if info is None:
            return
        if (review.kind.group, review.kind.version, review.kind.kind) != (info.group, info.version, info.kind):
            raise BadReview(f"webhook {self.declaration.name} handles {info_of(self._kind)}, not {review.kind}")

    # Calls of the handler

    async def _validate(self, handler: HandlerFunction, request: AdmissionRequest[Any], seconds: float) -> Verdict:
        obj = request.object if request.object is not None else request.old
        objects = [request.old, request.object] if handler.objects > 1 else [obj]
        if any(one is None for one in objects):
            raise BadReview(f"the request has no {'old and new object' if handler.objects > 1 else 'object'}")
        arguments = [*objects, *([request] if handler.wants_request else ())]
        verdict: Verdict = await self._call(handler, arguments, _verdict, seconds)
        return verdict

    async def _mutate(
        self, handler: HandlerFunction, request: AdmissionRequest[Any], seconds: float
    ) -> AdmissionResponse:
        raw = request.raw_object
        if not raw:
            raise BadReview("the request has no object")
        obj = decode(self._kind, raw)
        before = encode(obj)
        changed = await self._call(
            handler, [obj, *([request] if handler.wants_request else ())], _changed(obj), seconds
        )
        response = self._allow(request)
        after = encode(changed)
        if after != before and (operations := _patch(self._kind, raw, before, after)):
            response.patch, response.patch_type = msgspec.json.encode(operations), "JSONPatch"
        return response

    async def _call(
        self, handler: HandlerFunction, arguments: list[Any], collect: Callable[[Any], Any], seconds: float
    ) -> Any:
        if handler.blocking:
            # The result may be a generator, whose code belongs to the handler too.
            work = self._threads.call(lambda: collect(handler.function(*arguments)))
            return await within(self._clock, seconds, work, real_time=True)
        result = handler.function(*arguments)
        if isinstance(result, AsyncIterable):
            result = _gathered(result)
        found = await within(self._clock, seconds, contained(result), real_time=True)
        with containment:
            return collect(found)

    # Responses

    def _allow(self, request: AdmissionRequest[Any]) -> AdmissionResponse:
        return AdmissionResponse(
            uid=request.uid,
            allowed=True,
            warnings=[_one_line(warning) for warning in request.warnings] or None,
            audit_annotations={as_text(key): as_text(value) for key, value in request.annotations.items()} or None,
        )

    def _reject(self, request: AdmissionRequest[Any], refused: Refused) -> AdmissionResponse:
        logger.debug("webhook %s rejects %r", self.declaration.name, request)
        response = self._allow(request)
        response.allowed = False
        kind = request.request_kind
        response.status = status_of(refused, group=kind.group, kind=kind.kind, name=request.name)
        return response

    def _failed(self, request: AdmissionRequest[Any], what: str, code: int) -> AdmissionResponse:
        message = f"webhook {self.declaration.name} {what}"
        if self.declaration.failure_policy == "Ignore":
            request.warnings[:] = [message]
            return self._allow(request)
        return self._reject(request, Refused(message, code=code))


def _verdict(found: Any) -> Verdict:
    """Returns the verdict of a validating handler from its result: nothing, one item, or several."""
    if found is None:
        return Verdict()
    if isinstance(found, FieldError | AdmissionWarning):
        found = (found,)
    if isinstance(found, str | bytes | Object) or not isinstance(found, Iterable):
        raise TypeError(f"a validating handler returns nothing, FieldErrors or AdmissionWarnings, not {_type(found)}")
    errors: list[FieldError] = []
    warnings: list[str] = []
    for one in found:
        if isinstance(one, FieldError):
            errors.append(one)
        elif isinstance(one, AdmissionWarning):
            warnings.append(one.message)
        else:
            raise TypeError(f"a validating handler returns FieldErrors and AdmissionWarnings, not {_type(one)}")
    return Verdict(tuple(errors), tuple(warnings))


def _changed(obj: Object) -> Callable[[Any], Object]:
    """Returns the changed object of a mutating handler: the argument, or the object that it returned."""

    def collect(found: Any) -> Object:
        if found is None:
            return obj
        if type(found) is not type(obj):
            raise TypeError(f"a mutating handler returns nothing or a {type(obj).__name__}, not {_type(found)}")
        return found

    return collect


async def _gathered(found: AsyncIterable[Any]) -> list[Any]:
    return [one async for one in found]


def _patch(kind: type[Object], raw: bytes, before: bytes, after: bytes) -> list[Operation]:
    """Returns the JSON Patch of the changes. Only top-level members that changed are compared."""
    sent, was, now = _members.decode(raw), _members.decode(before), _members.decode(after)
    changed = [name for name in {**was, **now} if was.get(name) != now.get(name)]

    def parts(of: dict[str, msgspec.Raw]) -> dict[str, Any]:
        return {name: msgspec.json.decode(of[name]) for name in changed if name in of}

    found = diff(ListKeys(kind), parts(sent), parts(was), parts(now))
    return [operation for operation in found if operation["path"] not in _SERVER_FIELDS]


def _type(value: object) -> str:
    return type(value).__name__


def _one_line(warning: object) -> str:
    # Warnings travel in a header, and the API server drops one with a line break.
    return " ".join(as_text(warning).split())
