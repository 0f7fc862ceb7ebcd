"""Registration of timers and daemons: `@operator.every(Foo, "30s")`, `@operator.daemon(Foo)`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kubewright.api import Object
from kubewright.arguments import check_string, known_options
from kubewright.cache import Labels
from kubewright.controller import Reads, Registration
from kubewright.controller.registration import (
    DEFAULT_CONCURRENCY,
    NEW_OBJECTS,
    Handler,
    Handlers,
    check_concurrency,
    check_handler,
    check_kind,
    check_labels,
    check_reads,
    check_timeout,
    timer_handler,
)
from kubewright.durations import check_duration
from kubewright.operator.definition._decorators import DaemonDecorator, ObjectDecorator
from kubewright.queue import ExponentialBackoff
from kubewright.signatures import name_of

if TYPE_CHECKING:
    from kubewright.durations import Duration

__all__ = ["RepeatingRegistration"]

R = TypeVar("R", bound=Object)

_FIRST_DELAY, _LONGEST_DELAY = 1.0, 300.0


class RepeatingRegistration:
    """The part of an operator that registers timers and daemons."""

    def __init__(self) -> None:
        self._registrations: list[Registration[Any]] = []
        self._repeating: list[Registration[Any]] = []

    @known_options
    def every(
        self,
        kind: type[R],
        interval: Duration,
        *,
        labels: Labels | None = None,
        reads: Sequence[Reads[Any] | type[Object]] = (),
        concurrency: int | None = None,
        timeout: Duration | None = None,
        name: str | None = None,
    ) -> ObjectDecorator[R]:
        """Registers a function that is called for each object of a kind, again and again: `every(Foo, "30s")`.

        It is called when the object appears or the operator starts, and then when the interval has passed since the
        last call ended. A `Result` sets another time for the next call. After an exception it is retried after a
        backoff, which does not exceed the interval. It ends with the deletion of the object. Changes of the object do
        not trigger it: that is `reconciles`.

        Args:
            kind: the kind of the objects.
            interval: the time between two calls: seconds, a timedelta, or a string such as "30s".
            labels: only objects with these labels.
            reads: other kinds that the function reads from the cache.
            concurrency: concurrent calls. Default: 10.
            timeout: the time limit of one call.
            name: the name in logs and metrics. Default: the kind and the function, `foo-poll`.
        """
        check_kind(kind, "every")
        seconds = check_duration(f"every({kind.__name__}): interval", interval, zero=False)
        options = {
            "role": "timer",
            "labels": check_labels(f"every({kind.__name__})", labels),
            "reads": check_reads(reads),
            "concurrency": DEFAULT_CONCURRENCY if concurrency is None else check_concurrency(concurrency),
            "timeout": check_timeout(timeout),
            "rate_limiter": partial(ExponentialBackoff, min(0.005, seconds), seconds),
        }

        def register(function: Any) -> None:
            handler = check_handler(function, kind, by_key=False)
            self._repeat("every", kind, timer_handler(handler, seconds), name, options)

        return ObjectDecorator(register)

    @known_options
    def daemon(
        self,
        kind: type[R],
        *,
        labels: Labels | None = None,
        reads: Sequence[Reads[Any] | type[Object]] = (),
        name: str | None = None,
    ) -> DaemonDecorator[R]:
        """Registers an async function that runs beside each object of a kind for as long as the object exists.

        It starts when the object appears or the operator starts, and is cancelled when the deletion of the object is
        requested, or the operator stops or loses its lease. If it raises an exception, it is started again after a
        backoff of 1 s, doubled each time up to 5 minutes; a run of a minute resets it. If it returns, it is not started
        again. Changes of the object do not restart it: read the current state with `ctx.get`.

        Args:
            kind: the kind of the objects.
            labels: only objects with these labels.
            reads: other kinds that the function reads from the cache.
            name: the name in logs and metrics. Default: the kind and the function, `foo-follow`.
        """
        check_kind(kind, "daemon")
        options = {
            "role": "daemon",
            "labels": check_labels(f"daemon({kind.__name__})", labels),
            "reads": check_reads(reads),
            "rate_limiter": partial(ExponentialBackoff, _FIRST_DELAY, _LONGEST_DELAY),
        }

        def register(function: Any) -> None:
            handler = check_handler(function, kind, by_key=False)
            if handler.blocking:
                raise TypeError(
                    f"the daemon {handler.name} is a plain function, which cannot be cancelled: make it async def"
                )
            self._repeat("daemon", kind, handler, name, options)

        return DaemonDecorator(register)

    def _repeat(
        self, what: str, kind: type[Object], handler: Handler, name: str | None, options: dict[str, Any]
    ) -> None:
        info = check_kind(kind, what)
        default = f"{info.kind.lower()}-{name_of(handler.function).rpartition('.')[2].strip('_').replace('_', '-')}"
        controller = check_string(f"{what}({info.kind}): name", name or default, example=default)
        self._check_new_name(controller, f'{what}({kind.__name__}, ..., name="...")')
        handlers = Handlers(reconcile=handler)
        self._repeating.append(
            Registration(
                kind=kind, info=info, name=controller, make_handlers=lambda: handlers, when=NEW_OBJECTS, **options
            )
        )

    def _check_new_name(self, controller: str, fix: str) -> None:
        if not controller.isprintable():  # it is a part of a field manager
            raise ValueError(f"controller name {controller!r} must be printable characters, such as site-probe")
        if any(other.name == controller for other in (*self._registrations, *self._repeating)):
            raise ValueError(
                f"this operator already has a controller {controller!r}: give the second one another name, {fix}"
            )
