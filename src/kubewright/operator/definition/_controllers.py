"""Registration of controllers: reconcilers, finalizers, deletion callbacks, indexes and extra permissions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from kubewright.api import Object
from kubewright.arguments import check_string, check_word, known_options
from kubewright.cache import NAMESPACE_INDEX, OWNER_INDEX, IndexFunction, Labels, ObjectKey
from kubewright.controller import Owns, Reads, Registration, Watch
from kubewright.controller.registration import (
    DEFAULT_CONCURRENCY,
    Handler,
    Handlers,
    PredicateFunction,
    PriorityFunction,
    RateLimiterFactory,
    Trigger,
    check_concurrency,
    check_handler,
    check_kind,
    check_labels,
    check_owns,
    check_priority,
    check_rate_limiter,
    check_reads,
    check_resync,
    check_timeout,
    check_triggers,
    check_watches,
    check_when,
    finalizer_name,
    handler_factory,
)
from kubewright.operator.definition._decorators import ObjectDecorator, ReconcileDecorator
from kubewright.operator.definition._repeating import RepeatingRegistration
from kubewright.operator.settings import Settings
from kubewright.rbac import Permission, check_verbs
from kubewright.signatures import can_take, is_async, name_of

if TYPE_CHECKING:
    from kubewright.api.rbac.v1 import PolicyRule
    from kubewright.durations import Duration
    from kubewright.queue import RateLimiter

__all__ = ["ControllerRegistration"]

R = TypeVar("R", bound=Object)
F = TypeVar("F")


class ControllerRegistration(RepeatingRegistration):
    """The part of an operator that registers controllers."""

    def __init__(self, name: str, settings: Settings) -> None:
        super().__init__()
        self.name = name
        self.settings = settings
        self.needed: list[Permission] = []
        self.indexed: list[tuple[type[Object], str, IndexFunction[Any]]] = []
        self._inherited: dict[str, set[str]] = {}
        self._finalizers: list[tuple[type[Object], str, Handler]] = []
        self._deleted: list[tuple[type[Object], Handler]] = []

    @known_options
    def reconciles(
        self,
        kind: type[R],
        *,
        owns: Sequence[Owns[Any] | type[Object]] = (),
        watches: Sequence[Watch[Any]] = (),
        reads: Sequence[Reads[Any] | type[Object]] = (),
        triggers: Sequence[Trigger] = (),
        when: PredicateFunction | None = None,
        labels: Labels | None = None,
        concurrency: int | None = None,
        resync: Duration | None = None,
        rate_limiter: RateLimiterFactory | RateLimiter[ObjectKey] | None = None,
        timeout: Duration | None = None,
        priority: PriorityFunction[R] | None = None,
        name: str | None = None,
        verbs: Sequence[str] | None = None,
    ) -> ReconcileDecorator[R]:
        """Registers a function, or a class with a method `reconcile`, that reconciles the objects of a kind.

        Args:
            kind: the kind to reconcile.
            owns: kinds whose changes trigger their owner: `apps.Deployment`, or `Owns(apps.Deployment, ...)`.
            watches: kinds whose changes trigger the objects that a function returns: `Watch(core.Secret, map=...)`.
            reads: kinds that are only read from the cache: `core.Node`, or `Reads(core.Node, ...)`.
            triggers: other sources of keys: async iterators, `asyncio.Queue`s, or functions that return iterators.
            when: a predicate on changes of the kind's own objects, such as `generation_changed`.
            labels: reconcile only objects with these labels.
            concurrency: concurrent reconciles. Default: the operator's `concurrency`, which defaults to 10.
            resync: the interval after which every object is reconciled again, from the cache: seconds, a timedelta, or
                a string such as "10m"; 0 means never. Default: the operator's `resync`.
            rate_limiter: the backoff of failing keys. Default: 5 ms, doubling up to 1000 s.
            timeout: the time limit of one reconcile.
            priority: returns the priority of an object in the queue, higher first: `lambda site: site.spec.tier`. It is
                added to 0 for a change, and to -100 for the initial list and resyncs.
            name: the controller's name in logs and metrics. Default: the kind in lower case.
            verbs: the complete list of calls on the kind's own objects, as in `Owns`; `"patch status"` for a
                subresource. Default: the calls that Kubewright makes itself.
        """
        info = check_kind(kind, "reconciles")
        what = f"reconciles({info.kind})"
        options: dict[str, Any] = {
            "owns": check_owns(owns),
            "watches": check_watches(watches, info),
            "reads": check_reads(reads),
            "triggers": check_triggers(triggers),
            "when": check_when(when),
            "labels": check_labels(what, labels),
            "concurrency": DEFAULT_CONCURRENCY if concurrency is None else check_concurrency(concurrency),
            "resync": check_resync(resync),
            "rate_limiter": check_rate_limiter(rate_limiter),
            "timeout": check_timeout(timeout),
            "priority": check_priority(priority),
            "verbs": None if verbs is None else check_verbs(what, verbs, must=("list", "watch")),
        }
        controller = check_string(f"{what}: name", name or info.kind.lower(), example=info.kind.lower())
        self._check_new_name(controller, f'reconciles({kind.__name__}, name="...")')
        inherited = {name for name, value in (("concurrency", concurrency), ("resync", resync)) if value is None}

        def register(reconciler: Any) -> None:
            self._inherited[controller] = inherited
            finalizer = finalizer_name(info, self.name, None) if hasattr(reconciler, "finalize") else None
            self._registrations.append(
                Registration(
                    kind=kind,
                    info=info,
                    name=controller,
                    make_handlers=handler_factory(reconciler, kind),
                    class_finalizer=finalizer,
                    **options,
                )
            )

        return ReconcileDecorator(register)

    @known_options
    def finalizes(self, kind: type[R], *, name: str | None = None) -> ObjectDecorator[R]:
        """Registers a function that cleans up before an object is deleted. Its finalizer precedes the first reconcile.

        The function is called after the deletion was requested, and again until it returns without an exception and
        without a `Result` that asks for a requeue. Then the finalizer is removed. The function may be called again
        after it succeeded, if the process was killed before the finalizer was removed.

        Args:
            kind: the kind of the objects.
            name: the finalizer. Default: `<group of the kind>/<name of the operator>`.
        """
        finalizer = finalizer_name(check_kind(kind, "finalizes"), self.name, name)
        if any(other is kind and taken == finalizer for other, taken, _ in self._finalizers):
            raise ValueError(f"{kind.__name__} already has a finalizer {finalizer!r}: give the second one another name")

        def register(function: Any) -> None:
            self._finalizers.append((kind, finalizer, check_handler(function, kind, by_key=False)))

        return ObjectDecorator(register)

    @known_options
    def deleted(self, kind: type[R]) -> ObjectDecorator[R]:
        """Registers a function that is called with the last known state of each deleted object.

        It is retried after an exception, as reconcilers are. It is not called for objects that were deleted while the
        operator did not run: use `finalizes` for cleanup that must not be missed.
        """
        check_kind(kind, "deleted")

        def register(function: Any) -> None:
            self._deleted.append((kind, check_handler(function, kind, by_key=False)))

        return ObjectDecorator(register)

    @known_options
    def indexes(self, kind: type[R], name: str) -> Callable[[IndexFunction[R]], IndexFunction[R]]:
        """Registers a function that returns the index values of an object: `ctx.by_index(kind, name, value)`.

        The function takes an object and returns a string, several strings, or None. The kind must be in the cache:
        reconciled, or in `owns`, `watches` or `reads` of a controller. The decorator returns the function unchanged.
        """
        info = check_kind(kind, "indexes")
        check_word(f"the name of an index of {info.kind}", name, "by-owner")
        if name in (NAMESPACE_INDEX, OWNER_INDEX) or any((of, it) == (kind, name) for of, it, _ in self.indexed):
            raise ValueError(f"there is already an index {name!r} of {info.kind}: use another name")

        def register(function: IndexFunction[R]) -> IndexFunction[R]:
            what = f"the index {name!r} of {info.kind}"
            if not callable(function):
                raise TypeError(f"{what} must be a function of an object, not {function!r}")
            if not can_take(function, 1):
                raise TypeError(f"{what}: {name_of(function)} must take one argument, the object")
            if is_async(function):
                raise TypeError(f"{what}: {name_of(function)} is async: make it a plain def, which must not wait")
            self.indexed.append((kind, name, function))
            return function

        return register

    @known_options
    def needs(
        self,
        kind: type[Object] | PolicyRule | Sequence[Permission],
        *,
        verbs: Sequence[str] = (),
        names: Sequence[str] = (),
        namespace: str | None = None,
    ) -> Callable[[F], F]:
        """Declares further API calls of the program, next to the code that makes them. The roles include them.

        Calls that follow from `reconciles`, `finalizes` and `owns` need no declaration. Use it as a statement or as a
        decorator, which returns the function unchanged.

        Args:
            kind: the kind that is read or written; or an `rbac.PolicyRule`; or the permissions of a part of the
                program, such as `for_installing(Foo)` if it installs its CustomResourceDefinitions itself.
            verbs: the calls: `["get", "patch"]`; `["create eviction"]` for a subresource.
            names: the only objects that the calls are about.
            namespace: the namespace. Default: the namespaces that the operator watches; `"."` for its own.
        """
        from kubewright.operator.access import needed

        self.needed += needed(kind, verbs=verbs, names=names, namespace=namespace)
        return lambda function: function

    def registrations(self, settings: Settings | None = None) -> list[Registration[Any]]:
        """Returns the controllers as they will run, with finalizers, callbacks and the operator's settings."""
        settings = settings or self.settings
        general: dict[str, Any] = {"concurrency": settings.concurrency, "resync": settings.resync}

        def with_settings(registration: Registration[Any]) -> Registration[Any]:
            inherited = self._inherited.get(registration.name, general.keys())
            changes = {name: general[name] for name in inherited}
            finalizers, deleted = list(registration.finalizers), list(registration.deleted)
            return replace(registration, finalizers=finalizers, deleted=deleted, **changes)

        registrations = [with_settings(registration) for registration in self._registrations]

        def first_of(kind: type[Object]) -> Registration[Any]:
            for registration in registrations:
                if registration.kind is kind:
                    return registration
            info = check_kind(kind, "finalizes")
            alone: Registration[Any] = Registration(
                kind=kind, info=info, name=info.kind.lower(), make_handlers=lambda: Handlers()
            )
            registrations.append(with_settings(alone))
            return registrations[-1]

        for kind, finalizer, form in self._finalizers:
            first_of(kind).finalizers.append((finalizer, form))
        for kind, form in self._deleted:
            first_of(kind).deleted.append(form)
        return [*registrations, *self._repeating]
