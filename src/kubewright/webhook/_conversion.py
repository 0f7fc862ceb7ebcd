"""Converting objects between the versions of a kind, by functions between classes.

The stored version is the hub: each other version has a way to it and a way back, and two others meet there. A function
is given the object in its own class and returns one of the other class. What it need not care about:

- the metadata stays as it is; only labels and annotations change, when the function hands the metadata on, changed;
- fields that its model does not know go along (see `_carrying`);
- apiVersion and kind are filled in.
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
from kubewright.durations import format_duration
from kubewright.redaction import as_text
from kubewright.signatures import can_take, is_async, name_of, signature_of
from kubewright.user_code import contained
from kubewright.webhook._carrying import carry_unknown
from kubewright.webhook._reviews import ConversionAsked, conversion_review
from kubewright.webhook._threads import Share

__all__ = ["ConversionError", "ConversionWebhook", "Conversions", "Step"]

logger = logging.getLogger("kubewright.webhook")


class ConversionError(Exception):
    """An object cannot be converted. The text goes to whoever asked for it."""


class Step(msgspec.Struct, frozen=True):
    """The way from one version to another."""

    source: type[Object]
    target: type[Object]
    function: Callable[[Any], Any]

    @property
    def is_async(self) -> bool:
        """Whether it is to be awaited."""
        return is_async(self.function)


Take: TypeAlias = Callable[[Step, bytes], Awaitable[dict[str, Any]]]
"""How a step is taken, from the bytes of an object to the JSON of the next one."""


class Conversions(msgspec.Struct):
    """The versions of kinds, and the ways between them."""

    steps: dict[tuple[type[Object], type[Object]], Step] = msgspec.field(default_factory=dict)

    def add(self, source: type[Object], target: type[Object], function: Callable[[Any], Any]) -> None:
        """One more way. Raises for what is no way between two versions of one kind."""
        check_versions(source, target)
        if (source, target) in self.steps:
            raise ValueError(f"there is a conversion from {info_of(source)} to {info_of(target)} already")
        check_function(source, target, function)
        self.steps[source, target] = Step(source, target, function)

    def families(self) -> list[list[type[Object]]]:
        """The kinds that are converted: for each, the classes of its versions, the hub first."""
        found: dict[tuple[str, str], dict[type[Object], None]] = {}
        for pair in self.steps:
            for kind in pair:
                found.setdefault(_named(kind), {})[kind] = None
        return [self._family(list(kinds)) for _, kinds in sorted(found.items())]

    def _family(self, kinds: list[type[Object]]) -> list[type[Object]]:
        hubs = [kind for kind in kinds if definition_of(kind).storage]
        names = ", ".join(str(info_of(kind)) for kind in kinds)
        if len(hubs) != 1:
            raise ValueError(f"of the versions {names} exactly one says storage=True in @resource: it is the hub")
        spokes = sorted((kind for kind in kinds if kind is not hubs[0]), key=lambda kind: info_of(kind).version)
        for spoke in spokes:
            for source, target in ((spoke, hubs[0]), (hubs[0], spoke)):
                if (source, target) not in self.steps:
                    raise ValueError(
                        f"there is no conversion from {info_of(source)} to {info_of(target)}: each version needs a way"
                        " to the stored one, and one back"
                    )
        return [hubs[0], *spokes]

    def path(self, source: type[Object], target: type[Object]) -> Sequence[Step]:
        """The steps from one version to another, through the hub where there is no way of their own."""
        if source is target:
            return ()
        if direct := self.steps.get((source, target)):
            return (direct,)
        for family in self.families():
            if source in family and target in family:
                return self.steps[source, family[0]], self.steps[family[0], target]
        raise ConversionError(f"there is no way from {info_of(source)} to {info_of(target)}")

    def versions(self) -> dict[tuple[str, str], type[Object]]:
        """The class of each version, by apiVersion and kind."""
        kinds = {kind: info_of(kind) for family in self.families() for kind in family}
        return {(info.api_version, info.kind): kind for kind, info in kinds.items()}

    async def convert(self, raw: bytes, target: type[Object], source: type[Object], *, take: Take | None = None) -> Any:
        """The object in these bytes as one of another version, as plain JSON. `take` takes a step, unless here."""
        content = msgspec.json.decode(raw)
        for step in self.path(source, target):
            content = await (take or _take)(step, msgspec.json.encode(content))
        return content


def check_versions(source: type[Object], target: type[Object]) -> None:
    """Raise for two classes that are not two versions of one kind."""
    one, other = _own(source), _own(target)
    if (one.group, one.kind, one.plural) != (other.group, other.kind, other.plural):
        raise ValueError(f"{one} and {other} are not versions of one kind")
    if one.version == other.version:
        raise ValueError(f"{one} is the same version twice")


def check_function(source: type[Object], target: type[Object], function: Any) -> None:
    """Raise for what is no function of the one class, or says that it is one between others."""
    if not callable(function) or not can_take(function, 1):
        raise TypeError(f"a conversion is a function of a {source.__name__}, not {function!r}")
    taken, returned = _annotations_of(function)
    for verb, annotation, kind in (("takes", taken, source), ("returns", returned, target)):
        if _is_another(annotation, kind):
            raise TypeError(
                f"{name_of(function)} {verb} a {getattr(annotation, '__resource__', annotation.__name__)}, but is"
                f" handed in for converting from {info_of(source)} to {info_of(target)}"
            )


def _annotations_of(function: Callable[..., Any]) -> tuple[Any, Any]:
    """What a function says that it takes first, and that it returns."""
    try:
        signature = signature_of(function)
    except ValueError:  # a function that is built in
        return None, None
    return next((one.annotation for one in signature.parameters), None), signature.whole.return_annotation


def _is_another(annotation: Any, kind: type[Object]) -> bool:
    if not isinstance(annotation, type) or not issubclass(annotation, Object):
        return False
    return not issubclass(kind, annotation) and not issubclass(annotation, kind)


def _own(kind: object) -> ResourceInfo:
    if not (isinstance(kind, type) and issubclass(kind, Object) and hasattr(kind, "__definition__")):
        raise TypeError(f"converts takes classes with @resource, not {kind!r}")
    return info_of(kind)


async def _take(step: Step, raw: bytes) -> dict[str, Any]:
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
    if made.metadata.name == metadata.get("name", ""):  # handed on: what it says about these two counts
        metadata = _with_texts(metadata, converted.get("metadata") or {})
    carry_unknown(step.source, step.target, content, known, converted)
    return {**converted, "apiVersion": info.api_version, "kind": info.kind, "metadata": metadata}


def _with_texts(metadata: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    changed = {name: value for name, value in metadata.items() if name not in ("labels", "annotations")}
    return changed | {name: said[name] for name in ("labels", "annotations") if said.get(name)}


class ConversionWebhook:
    """Answers ConversionReviews of all kinds that a program converts. A failure names the object.

    Plain functions may block, and a list may be long: they run in a thread, with all that there is to do about the
    objects. Async ones run in the event loop, which others get back after each object.
    """

    def __init__(self, conversions: Conversions, *, threads: Share, clock: Clock) -> None:
        self._conversions = conversions
        self._versions = conversions.versions()
        self._threads = threads
        self._clock = clock
        self._awaited = {_named(step.source) for step in conversions.steps.values() if step.is_async}

    async def answer(self, asked: ConversionAsked, seconds: float) -> tuple[bytes, bool]:
        """The review that is sent back, and whether everything was converted."""
        try:
            converted = await within(self._clock, seconds, self._convert(asked), real_time=True)
        except TimeLimitExceeded:
            failure = f"the conversion of {len(asked.objects)} objects took more than {format_duration(seconds)}"
            logger.error("%s", failure)
            return conversion_review(asked.uid, failure=failure), False
        except ConversionError as error:
            return conversion_review(asked.uid, failure=str(error)), False
        return conversion_review(asked.uid, converted), True

    async def _convert(self, asked: ConversionAsked) -> list[msgspec.Raw]:
        if self._has_to_await(asked):
            return [await self._convert_in_turn(bytes(raw), asked.desired) for raw in asked.objects]
        # All of them in one go: a thread for each would take longer than most functions.
        return await self._threads.call(lambda: _run(self._convert_all(asked)))

    def _has_to_await(self, asked: ConversionAsked) -> bool:
        """Whether a function of the kind is async. The server asks about one kind at a time."""
        if not asked.objects:
            return False
        return (asked.desired.partition("/")[0], _head(bytes(asked.objects[0])).kind) in self._awaited

    async def _convert_all(self, asked: ConversionAsked) -> list[msgspec.Raw]:
        return [await self._convert_one(bytes(raw), asked.desired, _take) for raw in asked.objects]

    async def _convert_in_turn(self, raw: bytes, desired: str) -> msgspec.Raw:
        await asyncio.sleep(0)
        return await self._convert_one(raw, desired, self._take_where_it_belongs)

    async def _take_where_it_belongs(self, step: Step, raw: bytes) -> dict[str, Any]:
        if step.is_async:
            return await _take(step, raw)
        taken: dict[str, Any] = await self._threads.call(lambda: _run(_take(step, raw)))
        return taken

    async def _convert_one(self, raw: bytes, desired: str, take: Take) -> msgspec.Raw:
        head = _head(raw)
        source = self._versions.get((head.api_version, head.kind))
        target = self._versions.get((desired, head.kind))
        what = f"{head} cannot be converted from {head.api_version} to {desired}"
        if source is None or target is None:
            known = ", ".join(sorted({version for version, kind in self._versions if kind == head.kind}))
            raise ConversionError(f"{what}: this program converts {known or 'no such kind'}")
        try:
            content = await contained(self._conversions.convert(raw, target, source, take=take))
            # Encoded here, where one is looked at after the other: all at once they would stop the loop, too.
            return msgspec.Raw(msgspec.json.encode(content))
        except (ConversionError, DecodeError) as error:
            why = f"{error.path}: {error.reason}" if isinstance(error, DecodeError) else as_text(error)
            logger.warning("%s: %s", what, why)
            raise ConversionError(f"{what}: {why}") from None
        except Exception as error:
            logger.exception("%s", what)
            raise ConversionError(f"{what}: it failed with {type(error).__name__}; its log says more") from None


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


def _run(work: Any) -> Any:
    """The result of a coroutine that never waits."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("a plain conversion does not wait")
