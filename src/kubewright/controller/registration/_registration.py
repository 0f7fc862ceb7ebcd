"""`Registration`: the declarations of one controller, and the checks of its options."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterable, Callable, Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_origin

import msgspec

from kubewright.api import Object, ResourceInfo
from kubewright.cache import CacheOptions, Labels, ObjectKey
from kubewright.controller.registration._caching import CacheUse, Reads
from kubewright.controller.registration._handlers import Handler, Handlers
from kubewright.controller.registration._mapping import Owns, Watch
from kubewright.controller.registration._predicates import Predicate, PredicateFunction, predicate
from kubewright.durations import Duration, check_duration
from kubewright.queue import ExponentialBackoff, RateLimiter
from kubewright.signatures import can_take, is_async, name_of

__all__ = ["DEFAULT_CONCURRENCY", "PriorityFunction", "RateLimiterFactory", "Registration", "Trigger"]

R = TypeVar("R", bound=Object)

DEFAULT_CONCURRENCY = 10
"""Reconciles of one controller at a time. Most of their time is waiting for the API server, which costs little."""

Trigger: TypeAlias = "AsyncIterable[ObjectKey] | asyncio.Queue[ObjectKey] | Callable[[], AsyncIterable[ObjectKey]]"
"""A source of keys outside of Kubernetes. A function is called at each start, and again if its iterator fails."""

Role: TypeAlias = Literal["reconciler", "timer", "daemon"]
"""Whether a controller reconciles objects, calls a function for each at intervals, or runs one beside each."""

PriorityFunction: TypeAlias = Callable[[R], int]
"""Returns the priority of an object in the queue: higher goes first. It must not block."""

RateLimiterFactory: TypeAlias = Callable[[], RateLimiter[ObjectKey]]


class Registration(msgspec.Struct, Generic[R], kw_only=True):
    """One controller: its kind, its triggers and its options."""

    kind: type[R]
    info: ResourceInfo
    name: str
    make_handlers: Callable[[], Handlers]
    owns: Sequence[Owns[Any]] = ()
    watches: Sequence[Watch[Any]] = ()
    reads: Sequence[Reads[Any]] = ()
    triggers: Sequence[Trigger] = ()
    when: Predicate | None = None
    labels: Labels | None = None
    concurrency: int = DEFAULT_CONCURRENCY
    resync: float | None = None
    rate_limiter: RateLimiterFactory = ExponentialBackoff
    timeout: float | None = None
    priority: PriorityFunction[R] | None = None
    finalizers: list[tuple[str, Handler]] = msgspec.field(default_factory=list)
    deleted: list[Handler] = msgspec.field(default_factory=list)
    class_finalizer: str | None = None
    """The finalizer for the `finalize` method of the class form."""
    role: Role = "reconciler"
    verbs: tuple[str, ...] | None = None
    """The only verbs on objects of the reconciled kind, if they are declared."""

    @property
    def caches(self) -> list[CacheUse]:
        """The declared caches: of the reconciled kind, of `owns`, of `watches` and of `reads`, in this order."""
        name = self.name
        return [
            CacheUse(name, "reconciles", self.kind, CacheOptions.of(labels=self.labels)),
            *(CacheUse(name, "owns", one.kind, *_declared(one), self.kind) for one in self.owns),
            *(CacheUse(name, "watches", one.kind, *_declared(one)) for one in self.watches),
            *(CacheUse(name, "reads", one.kind, *_declared(one)) for one in self.reads),
        ]


def _declared(one: Owns[Any] | Watch[Any] | Reads[Any]) -> tuple[CacheOptions, bool]:
    return one.cache.options, one.cache.by_default


def check_owns(owns: Sequence[Owns[Any] | type[Object]]) -> list[Owns[Any]]:
    """Checks `owns=`, and expands its short form."""
    return [one if isinstance(one, Owns) else Owns(one) for one in check_list("owns", owns)]


def check_watches(watches: Sequence[Watch[Any]], info: ResourceInfo) -> list[Watch[Any]]:
    """Checks `watches=`. A bare kind is an error, because it does not say which keys to reconcile."""
    for one in check_list("watches", watches):
        if not isinstance(one, Watch):
            raise TypeError(
                "watches takes Watch(kind, map=...) or Watch(kind, referenced_by=...), which say what to reconcile;"
                f" found {one!r}"
            )
    return [watch.waking(info) for watch in watches]


def check_reads(reads: Sequence[Reads[Any] | type[Object]]) -> list[Reads[Any]]:
    """Checks `reads=`, and expands its short form. One kind cannot be read from two caches."""
    found = [one if isinstance(one, Reads) else Reads(one) for one in check_list("reads", reads)]
    for number, one in enumerate(found):
        if any(other.kind is one.kind and other.cache != one.cache for other in found[:number]):
            raise ValueError(
                f"reads has {one.kind.__name__} twice with different options, so it is not clear which objects ctx.get"
                " and ctx.list return: keep one"
            )
    return found


def check_triggers(triggers: Sequence[Trigger]) -> list[Trigger]:
    """Checks `triggers=`."""
    for one in check_list("triggers", triggers):
        if not isinstance(one, asyncio.Queue | AsyncIterable) and not _makes_iterator(one):
            raise TypeError(
                "triggers takes async iterators of keys, asyncio.Queues, or functions without parameters that make an"
                f" iterator (async def with yield), not {one!r}"
            )
    return list(triggers)


def _makes_iterator(given: object) -> bool:
    if isinstance(given, type) and not issubclass(given, AsyncIterable):
        return False
    return callable(given) and can_take(given, 0) and not inspect.iscoroutinefunction(given)


def check_list(name: str, given: Sequence[Any]) -> Sequence[Any]:
    """Checks that a value is a list. The most common mistake is to forget the brackets."""
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise TypeError(f"{name} takes a list, {name}=[...], not {given!r}")
    return given


def check_timeout(given: Duration | None) -> float | None:
    """Checks `timeout=`: a duration above zero. Returns seconds."""
    return None if given is None else check_duration("timeout", given, zero=False)


def check_resync(given: Duration | None) -> float | None:
    """Checks `resync=`. Returns seconds; None for never, also for 0."""
    return None if given is None else check_duration("resync", given) or None


def check_priority(given: PriorityFunction[R] | None) -> PriorityFunction[R] | None:
    """Checks `priority=`: a plain function of an object."""
    function: Any = given
    if function is None:
        return None
    if not callable(function) or not can_take(function, 1):
        raise TypeError(
            "priority must be a function of an object that returns a whole number: lambda obj: obj.spec.tier,"
            f" not {given!r}"
        )
    if is_async(function):
        raise TypeError(f"the priority function {name_of(function)} is async: make it a plain def, which must not wait")
    return given


def check_concurrency(given: int) -> int:
    """Checks `concurrency=`."""
    number: object = given
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise ValueError(f"concurrency must be the number of reconciles at a time, at least 1, not {given!r}")
    return given


def check_when(given: PredicateFunction | Sequence[PredicateFunction] | None) -> Predicate | None:
    """Checks `when=`: one predicate. Several must be combined explicitly."""
    if given is None:
        return None
    if isinstance(given, str):
        raise TypeError(f"when takes a predicate, such as kw.generation_changed, not the string {given!r}")
    if isinstance(given, Sequence):
        raise TypeError("when takes one predicate: combine several with &, | and ~")
    return predicate(given)


def check_rate_limiter(given: RateLimiterFactory | RateLimiter[ObjectKey] | None) -> RateLimiterFactory:
    """Checks `rate_limiter=`: a limiter, or a function that makes one. Its result is checked when it is called."""
    if given is None:
        return ExponentialBackoff
    limiter: Any = get_origin(given) or given
    is_class, limits = isinstance(limiter, type), _is_limiter(limiter)
    if limits and not is_class:
        return lambda: limiter
    if not callable(limiter) or (is_class and not limits) or is_async(limiter):
        raise TypeError(
            f"rate_limiter must be a rate limiter, such as {_LIMITER}, or a function that makes one, not {given!r}"
        )
    if not can_take(limiter, 0):
        raise TypeError(f"rate_limiter: {name_of(limiter)} needs arguments: pass an instance, such as {_LIMITER}")

    def make() -> RateLimiter[ObjectKey]:
        made: RateLimiter[ObjectKey] = limiter()
        if not _is_limiter(made):
            raise TypeError(
                f"rate_limiter: {name_of(limiter)} must make a rate limiter, such as {_LIMITER}, not {made!r}"
            )
        return made

    return make


_LIMITER = "ExponentialBackoff(1, 60)"


def _is_limiter(given: object) -> bool:
    return all(callable(getattr(given, method, None)) for method in ("when", "forget", "retries"))
