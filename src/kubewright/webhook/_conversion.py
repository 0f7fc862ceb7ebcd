"""Converts objects between the versions of a kind, by functions between classes.

The stored version is the hub: each other version has a function to it and one from it, and conversions between two
others use both. A function takes an object of its source class and returns one of its target class. Kubewright does the
rest:

- it preserves the metadata; only labels and annotations change, if the function returns the same metadata with changes;
- it preserves fields that the model does not know (`_unknown_fields`);
- it sets apiVersion and kind.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from kubewright.api import DecodeError, Object, ResourceInfo, decode, info_of, to_dict
from kubewright.api.kinds import definition_of
from kubewright.clock import Clock, TimeLimitExceeded, within
from kubewright.counts import counted
from kubewright.durations import format_duration
from kubewright.redaction import as_text
from kubewright.signatures import can_take, is_async, name_of, signature_of
from kubewright.user_code import contained
from kubewright.webhook._threads import ThreadQuota
from kubewright.webhook._unknown_fields import preserve_unknown_fields
from kubewright.webhook.reviews._reviews import ConversionReviewRequest, conversion_review

__all__ = ["ConversionError", "ConversionWebhook", "Conversions", "Step"]

logger = logging.getLogger("kubewright.webhook")


class ConversionError(Exception):
    """An object cannot be converted. The API server sends the message to the client."""


class Step(msgspec.Struct, frozen=True):
    """A function from one version to another."""

    source: type[Object]
    target: type[Object]
    function: Callable[[Any], Any]

    @property
    def is_async(self) -> bool:
        """Whether the function is async."""
        return is_async(self.function)


RunStep: TypeAlias = Callable[[Step, bytes], Awaitable[dict[str, Any]]]
"""Runs a step: converts the JSON of an object to that of the next version."""


class Conversions(msgspec.Struct):
    """The conversion functions of an operator, by source and target class."""

    steps: dict[tuple[type[Object], type[Object]], Step] = msgspec.field(default_factory=dict)

    def add(self, source: type[Object], target: type[Object], function: Callable[[Any], Any]) -> None:
        """Adds a function. Raises unless source and target are two versions of one kind."""
        check_versions(source, target)
        if (source, target) in self.steps:
            raise ValueError(f"there is already a conversion from {info_of(source)} to {info_of(target)}")
        check_function(source, target, function)
        self.steps[source, target] = Step(source, target, function)

    def families(self) -> list[list[type[Object]]]:
        """Returns the classes of the versions of each converted kind, the hub first."""
        found: dict[tuple[str, str], dict[type[Object], None]] = {}
        for pair in self.steps:
            for kind in pair:
                found.setdefault(_named(kind), {})[kind] = None
        return [self._family(list(kinds)) for _, kinds in sorted(found.items())]

    def _family(self, kinds: list[type[Object]]) -> list[type[Object]]:
        hubs = [kind for kind in kinds if definition_of(kind).storage]
        names = ", ".join(str(info_of(kind)) for kind in kinds)
        if len(hubs) != 1:
            raise ValueError(f"exactly one of the versions {names} must have storage=True in @resource: it is the hub")
        spokes = sorted((kind for kind in kinds if kind is not hubs[0]), key=lambda kind: info_of(kind).version)
        for spoke in spokes:
            for source, target in ((spoke, hubs[0]), (hubs[0], spoke)):
                if (source, target) not in self.steps:
                    raise ValueError(
                        f"there is no conversion from {info_of(source)} to {info_of(target)}: each version needs a"
                        " conversion to the stored one, and one from it"
                    )
        return [hubs[0], *spokes]

    def path(self, source: type[Object], target: type[Object]) -> Sequence[Step]:
        """Returns the steps from one version to another, through the hub if there is no direct one."""
        if source is target:
            return ()
        if direct := self.steps.get((source, target)):
            return (direct,)
        for family in self.families():
            if source in family and target in family:
                return self.steps[source, family[0]], self.steps[family[0], target]
        raise ConversionError(f"there is no conversion from {info_of(source)} to {info_of(target)}")

    def versions(self) -> dict[tuple[str, str], type[Object]]:
        """Returns the class of each version, by apiVersion and kind."""
        kinds = {kind: info_of(kind) for family in self.families() for kind in family}
        return {(info.api_version, info.kind): kind for kind, info in kinds.items()}

    async def convert(
        self, raw: bytes, target: type[Object], source: type[Object], *, run: RunStep | None = None
    ) -> Any:
        """Converts the JSON of an object to another version. Returns plain JSON. `run` runs a step; default: here."""
        content = msgspec.json.decode(raw)
        for step in self.path(source, target):
            content = await (run or _run_step)(step, msgspec.json.encode(content))
        return content


def check_versions(source: type[Object], target: type[Object]) -> None:
    """Raises unless the classes are two versions of one kind."""
    one, other = _definition_of(source), _definition_of(target)
    if (one.group, one.kind, one.plural) != (other.group, other.kind, other.plural):
        raise ValueError(f"{one} and {other} are not versions of one kind")
    if one.version == other.version:
        raise ValueError(f"source and target are the same version, {one}")


def check_function(source: type[Object], target: type[Object], function: Any) -> None:
    """Raises TypeError unless the function can take the source class, and its annotations fit."""
    if not callable(function) or not can_take(function, 1):
        raise TypeError(f"a conversion must be a function of a {source.__name__}, not {function!r}")
    taken, returned = _annotations_of(function)
    for verb, annotation, kind in (("takes", taken, source), ("returns", returned, target)):
        if _is_unrelated(annotation, kind):
            raise TypeError(
                f"{name_of(function)} {verb} a {getattr(annotation, '__resource__', annotation.__name__)}, but is"
                f" registered to convert from {info_of(source)} to {info_of(target)}"
            )


def _annotations_of(function: Callable[..., Any]) -> tuple[Any, Any]:
    """Returns the annotations of the first parameter and of the result."""
    try:
        signature = signature_of(function)
    except ValueError:  # a built-in function has no signature
        return None, None
    return next((one.annotation for one in signature.parameters), None), signature.whole.return_annotation


def _is_unrelated(annotation: Any, kind: type[Object]) -> bool:
    if not isinstance(annotation, type) or not issubclass(annotation, Object):
        return False
    return not issubclass(kind, annotation) and not issubclass(annotation, kind)


def _definition_of(kind: object) -> ResourceInfo:
    if not (isinstance(kind, type) and issubclass(kind, Object) and hasattr(kind, "__definition__")):
        raise TypeError(f"converts takes classes with @resource, not {kind!r}")
    return info_of(kind)


async def _run_step(step: Step, raw: bytes) -> dict[str, Any]:
    source = decode(step.source, raw)
    known, content = to_dict(source), msgspec.json.decode(raw)
    made = step.function(source)
    if inspect.isawaitable(made):
        made = await made
    if not isinstance(made, step.target):
        raise TypeError(f"it returned a {type(made).__name__}, not a {step.target.__name__}")
    converted: dict[str, Any] = to_dict(made)
    info = info_of(step.target)
    metadata = content.get("metadata") or {}
    if made.metadata.name == metadata.get("name", ""):  # the same metadata: its labels and annotations count
        metadata = _with_labels(metadata, converted.get("metadata") or {})
    preserve_unknown_fields(step.source, step.target, content, known, converted)
    return {**converted, "apiVersion": info.api_version, "kind": info.kind, "metadata": metadata}


def _with_labels(metadata: dict[str, Any], returned: dict[str, Any]) -> dict[str, Any]:
    changed = {name: value for name, value in metadata.items() if name not in ("labels", "annotations")}
    return changed | {name: returned[name] for name in ("labels", "annotations") if returned.get(name)}


class ConversionWebhook:
    """Responds to ConversionReviews of all kinds that a program converts. The message of a failure names the object.

    Plain functions may block, and a list may be long, so one thread converts the whole list. Async functions run in the
    event loop, and other tasks run after each object.
    """

    def __init__(self, conversions: Conversions, *, threads: ThreadQuota, clock: Clock) -> None:
        self._conversions = conversions
        self._versions = conversions.versions()
        self._threads = threads
        self._clock = clock
        self._awaited = {_named(step.source) for step in conversions.steps.values() if step.is_async}

    async def respond(self, review: ConversionReviewRequest, seconds: float) -> tuple[bytes, bool]:
        """Returns the encoded response, and whether every object was converted."""
        try:
            converted = await within(self._clock, seconds, self._convert(review), real_time=True)
        except TimeLimitExceeded:
            objects = counted(len(review.objects), "object")
            failure = f"the conversion of {objects} took longer than {format_duration(seconds)}"
            logger.error("%s", failure)
            return conversion_review(review.uid, failure=failure), False
        except ConversionError as error:
            return conversion_review(review.uid, failure=str(error)), False
        return conversion_review(review.uid, converted), True

    async def _convert(self, review: ConversionReviewRequest) -> list[msgspec.Raw]:
        if self._needs_loop(review):
            return [await self._convert_in_loop(bytes(raw), review.desired) for raw in review.objects]
        # One thread for all: starting one for each object takes longer than most functions.
        return await self._threads.call(lambda: _run_without_loop(self._convert_all(review)))

    def _needs_loop(self, review: ConversionReviewRequest) -> bool:
        """Returns whether a function of the kind is async. A review has objects of one kind."""
        if not review.objects:
            return False
        return (review.desired.partition("/")[0], _head(bytes(review.objects[0])).kind) in self._awaited

    async def _convert_all(self, review: ConversionReviewRequest) -> list[msgspec.Raw]:
        return [await self._convert_one(bytes(raw), review.desired, _run_step) for raw in review.objects]

    async def _convert_in_loop(self, raw: bytes, desired: str) -> msgspec.Raw:
        await asyncio.sleep(0)
        return await self._convert_one(raw, desired, self._run_in_loop_or_thread)

    async def _run_in_loop_or_thread(self, step: Step, raw: bytes) -> dict[str, Any]:
        if step.is_async:
            return await _run_step(step, raw)
        converted: dict[str, Any] = await self._threads.call(lambda: _run_without_loop(_run_step(step, raw)))
        return converted

    async def _convert_one(self, raw: bytes, desired: str, run: RunStep) -> msgspec.Raw:
        head = _head(raw)
        source = self._versions.get((head.api_version, head.kind))
        target = self._versions.get((desired, head.kind))
        what = f"{head} cannot be converted from {head.api_version} to {desired}"
        if source is None or target is None:
            known = ", ".join(sorted({version for version, kind in self._versions if kind == head.kind}))
            raise ConversionError(f"{what}: this program converts {known or 'no such kind'}")
        try:
            content = await contained(self._conversions.convert(raw, target, source, run=run))
            # Encoded one by one: encoding the whole list would block the event loop.
            return msgspec.Raw(msgspec.json.encode(content))
        except (ConversionError, DecodeError) as error:
            why = f"{error.path}: {error.reason}" if isinstance(error, DecodeError) else as_text(error)
            logger.warning("%s: %s", what, why)
            raise ConversionError(f"{what}: {why}") from None
        except Exception as error:
            logger.exception("%s", what)
            raise ConversionError(
                f"{what}: the conversion raised {type(error).__name__}; see the log of the operator"
            ) from None


def _named(kind: type[Object]) -> tuple[str, str]:
    info = info_of(kind)
    return info.group, info.kind


class _HeadMeta(msgspec.Struct, gc=False):
    name: str = ""
    namespace: str = ""


class _Head(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    metadata: _HeadMeta = msgspec.field(default_factory=_HeadMeta)

    def __str__(self) -> str:
        where = f"{self.metadata.namespace}/" if self.metadata.namespace else ""
        return f"{self.kind} {where}{self.metadata.name}"


_heads = msgspec.json.Decoder(_Head)


def _head(raw: bytes) -> _Head:
    try:
        return _heads.decode(raw)
    except msgspec.DecodeError:
        raise ConversionError("one of the objects has no apiVersion, kind and metadata") from None


def _run_without_loop(work: Any) -> Any:
    """Returns the result of a coroutine that never suspends."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("a plain conversion must not suspend")
