"""Answering an AdmissionReview: the handler is called, and what it says or changes becomes the answer.

Whatever happens, there is an answer, with a text that says what happened and holds nothing of the object but what the
handler itself put into it. A handler that fails or takes too long refuses the request, or lets it pass with a warning
where the webhook's failure policy is `Ignore`: so it counts as the process that did not answer at all would. What a
handler says is sent whatever it is: an error as its text, and what cannot be encoded written out.
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
from kubewright.webhook._handlers import Form
from kubewright.webhook._refusals import AdmissionWarning, FieldError, Refused, Verdict, status_of
from kubewright.webhook._request import AdmissionRequest
from kubewright.webhook._reviews import AdmissionAnswer, AdmissionAsked, BadReview
from kubewright.webhook._threads import Share

__all__ = ["Admission"]

logger = logging.getLogger("kubewright.webhook")

_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_OF_THE_SERVER: Final = frozenset(["/metadata/managedFields", "/metadata/resourceVersion", "/metadata/generation"])


class Admission:
    """One admission webhook at work. `kind` is the model of its objects; a class without an address takes any."""

    def __init__(
        self,
        declaration: WebhookDeclaration,
        kind: type[Object],
        form_for: Callable[[str], Form | None],
        *,
        threads: Share,
        clock: Clock,
        client: Client | None = None,
    ) -> None:
        self.declaration = declaration
        self._kind = kind
        self._form_for = form_for
        self._threads = threads
        self._clock = clock
        self._client = client

    async def answer(self, asked: AdmissionAsked, seconds: float) -> tuple[AdmissionAnswer, Review]:
        """What the API server is answered, within that time, and how that counts."""
        request: AdmissionRequest[Any] = AdmissionRequest(self._kind, asked, self._client)
        try:
            self._check_kind(asked)
            form = self._form_for(asked.operation)
            if form is None:
                return self._allow(request), "allowed"
            if self.declaration.mutating:
                return await self._mutate(form, request, seconds), "allowed"
            verdict = await self._validate(form, request, seconds)
            request.warnings.extend(verdict.warnings)
            if verdict.errors:
                raise Refused(*verdict.errors)
            return self._allow(request), "allowed"
        except Refused as refused:
            return self._refuse(request, refused), "refused"
        except ValidationError as error:
            return self._refuse(request, Refused.of(error)), "refused"
        except DecodeError as error:
            where = FieldError(error.path, error.reason, "FieldValueTypeInvalid")
            return self._refuse(request, Refused(where)), "refused"
        except BadReview as error:
            return self._refuse(request, Refused(str(error), code=400)), "failed"
        except TimeLimitExceeded:
            what = f"did not answer within {format_duration(seconds)}"
            logger.error("webhook %s %s about %r", self.declaration.name, what, request)
            return self._failed(request, what, 504), "failed"
        except Exception as error:
            logger.exception("webhook %s failed about %r", self.declaration.name, request)
            return self._failed(request, f"failed with {type(error).__name__}; its log says more", 500), "failed"

    def _check_kind(self, asked: AdmissionAsked) -> None:
        info = getattr(self._kind, "__resource__", None)
        if info is None:
            return
        if (asked.kind.group, asked.kind.version, asked.kind.kind) != (info.group, info.version, info.kind):
            raise BadReview(f"webhook {self.declaration.name} is about {info_of(self._kind)}, not {asked.kind}")

    # Calling

    async def _validate(self, form: Form, request: AdmissionRequest[Any], seconds: float) -> Verdict:
        obj = request.object if request.object is not None else request.old
        objects = [request.old, request.object] if form.objects > 1 else [obj]
        if any(one is None for one in objects):
            raise BadReview(f"the request has no {'old and new object' if form.objects > 1 else 'object'}")
        arguments = [*objects, *([request] if form.wants_request else ())]
        verdict: Verdict = await self._call(form, arguments, _verdict, seconds)
        return verdict

    async def _mutate(self, form: Form, request: AdmissionRequest[Any], seconds: float) -> AdmissionAnswer:
        raw = request.raw_object
        if not raw:
            raise BadReview("the request has no object")
        obj = decode(self._kind, raw)
        before = encode(obj)
        changed = await self._call(form, [obj, *([request] if form.wants_request else ())], _changed(obj), seconds)
        answer = self._allow(request)
        after = encode(changed)
        if after != before and (operations := _patch(self._kind, raw, before, after)):
            answer.patch, answer.patch_type = msgspec.json.encode(operations), "JSONPatch"
        return answer

    async def _call(self, form: Form, arguments: list[Any], collect: Callable[[Any], Any], seconds: float) -> Any:
        if form.blocking:
            # What it returns may be a generator, whose code is the handler's, too.
            work = self._threads.call(lambda: collect(form.function(*arguments)))
            return await within(self._clock, seconds, work, real_time=True)
        result = form.function(*arguments)
        if isinstance(result, AsyncIterable):
            result = _gathered(result)
        found = await within(self._clock, seconds, contained(result), real_time=True)
        with containment:
            return collect(found)

    # Answers

    def _allow(self, request: AdmissionRequest[Any]) -> AdmissionAnswer:
        return AdmissionAnswer(
            uid=request.uid,
            allowed=True,
            warnings=[_one_line(warning) for warning in request.warnings] or None,
            audit_annotations={as_text(key): as_text(value) for key, value in request.annotations.items()} or None,
        )

    def _refuse(self, request: AdmissionRequest[Any], refused: Refused) -> AdmissionAnswer:
        logger.debug("webhook %s refuses %r", self.declaration.name, request)
        answer = self._allow(request)
        answer.allowed = False
        kind = request.request_kind
        answer.status = status_of(refused, group=kind.group, kind=kind.kind, name=request.name)
        return answer

    def _failed(self, request: AdmissionRequest[Any], what: str, code: int) -> AdmissionAnswer:
        text = f"webhook {self.declaration.name} {what}"
        if self.declaration.failure_policy == "Ignore":
            request.warnings[:] = [text]
            return self._allow(request)
        return self._refuse(request, Refused(text, code=code))


def _verdict(found: Any) -> Verdict:
    """What a validating handler returned: nothing, one thing, or several."""
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
    """What a mutating handler made: the object that it was given, or another one that it returned."""

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
    """The JSON patch of what changed; only members of the object that did are looked into."""
    sent, was, now = _members.decode(raw), _members.decode(before), _members.decode(after)
    changed = [name for name in {**was, **now} if was.get(name) != now.get(name)]

    def parts(of: dict[str, msgspec.Raw]) -> dict[str, Any]:
        return {name: msgspec.json.decode(of[name]) for name in changed if name in of}

    found = diff(ListKeys(kind), parts(sent), parts(was), parts(now))
    return [operation for operation in found if operation["path"] not in _OF_THE_SERVER]


def _type(value: object) -> str:
    return type(value).__name__


def _one_line(warning: object) -> str:
    # It travels in a header: the server drops one with a line break.
    return " ".join(as_text(warning).split())
