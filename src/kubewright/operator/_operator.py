"""`Operator`: collects controllers, then runs them."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from kubewright.api import Object
from kubewright.cache import Labels, ObjectKey
from kubewright.client import Client
from kubewright.clock import Clock
from kubewright.controller import Owns, Registration, Watch
from kubewright.controller._finalizers import finalizer_name
from kubewright.controller._handlers import Form, Handlers, form_of, handlers_of
from kubewright.controller._options import check_kind, known_options
from kubewright.controller._permissions import Permission, check_verbs
from kubewright.controller._predicates import PredicateFunction
from kubewright.controller._registration import (
    DEFAULT_CONCURRENCY,
    RateLimiterFactory,
    Trigger,
    check_concurrency,
    check_list,
    check_owns,
    check_rate_limiter,
    check_reads,
    check_seconds,
    check_watches,
    check_when,
)
from kubewright.operator._decorators import ObjectDecorator, ReconcileDecorator
from kubewright.operator._permissions import needed, permissions_of
from kubewright.operator._running import HasKubeconfig, Running
from kubewright.queue import RateLimiter

if TYPE_CHECKING:
    from kubewright.api.rbac.v1 import PolicyRule

__all__ = ["Operator"]

R = TypeVar("R", bound=Object)
F = TypeVar("F")

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class Operator:
    """A program that keeps objects as they should be: a name and its controllers.

    Args:
        name: who writes: field manager, component of events, part of finalizers. A DNS label: `sample-controller`.
        namespaces: the only namespaces to look at; all of them unless given.
        grace_period: seconds that running reconciles have to finish when the operator stops.
        sync_timeout: seconds that the caches have to fill at the start.
        clock: time; the system's unless given.
        rng: randomness, for jitter.
    """

    @known_options
    def __init__(
        self,
        name: str,
        *,
        namespaces: Sequence[str] = (),
        grace_period: float | timedelta = 30.0,
        sync_timeout: float | timedelta = 120.0,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        if not _NAME.fullmatch(name):
            raise ValueError(f"operator name {name!r} must be lower case letters, digits and '-', such as foo-operator")
        self.name = name
        self.namespaces: tuple[str, ...] = tuple(check_list("namespaces", namespaces))
        self.grace_period = check_seconds("grace_period", grace_period) or 0.0
        self.sync_timeout = check_seconds("sync_timeout", sync_timeout) or 0.0
        self.clock = clock
        self.rng = rng
        self._registrations: list[Registration[Any]] = []
        self._finalizers: list[tuple[type[Object], str, Form]] = []
        self._deleted: list[tuple[type[Object], Form]] = []
        self._needs: list[Permission] = []

    def __repr__(self) -> str:
        names = ", ".join(registration.name for registration in self._registrations)
        return f"<Operator {self.name!r}: {names or 'no controllers yet'}>"

    @known_options
    def reconciles(
        self,
        kind: type[R],
        *,
        owns: Sequence[Owns[Any] | type[Object]] = (),
        watches: Sequence[Watch[Any]] = (),
        reads: Sequence[type[Object]] = (),
        triggers: Sequence[Trigger] = (),
        when: PredicateFunction | None = None,
        labels: Labels | None = None,
        concurrency: int = DEFAULT_CONCURRENCY,
        resync: float | timedelta | None = None,
        rate_limiter: RateLimiterFactory | RateLimiter[ObjectKey] | None = None,
        timeout: float | timedelta | None = None,
        name: str | None = None,
        verbs: Sequence[str] | None = None,
    ) -> ReconcileDecorator[R]:
        """Let a function, or a class with a method `reconcile`, keep the objects of a kind as they should be.

        Args:
            kind: what is reconciled.
            owns: kinds whose changed objects wake their owner: `apps.Deployment`, or `Owns(apps.Deployment, ...)`.
            watches: kinds whose changed objects wake what a function names: `Watch(core.Secret, map=...)`.
            reads: kinds that are only read from the cache.
            triggers: keys from elsewhere: async iterators, `asyncio.Queue`s, or functions that make iterators.
            when: which changes of the kind's own objects count, such as `generation_changed`.
            labels: reconcile only objects with these labels.
            concurrency: reconciles at a time.
            resync: seconds after which every object is reconciled again, from the cache.
            rate_limiter: how failing keys back off; 5 ms doubling up to 1000 s unless given.
            timeout: seconds that one reconcile may take.
            name: the controller's name in logs and metrics; the kind in lower case unless given.
            verbs: all that is done with the kind's own objects, as in `Owns`; `"patch status"` for a subresource. What
                the framework does by itself, unless given.
        """
        info = check_kind(kind, "reconciles")
        what = f"reconciles({info.kind})"
        options: dict[str, Any] = {
            "owns": check_owns(owns),
            "watches": check_watches(watches),
            "reads": check_reads(reads),
            "triggers": list(check_list("triggers", triggers)),
            "when": check_when(when),
            "labels": labels,
            "concurrency": check_concurrency(concurrency),
            "resync": check_seconds("resync", resync),
            "rate_limiter": check_rate_limiter(rate_limiter),
            "timeout": check_seconds("timeout", timeout),
            "verbs": None if verbs is None else check_verbs(what, verbs, must=("list", "watch")),
        }
        controller = name or info.kind.lower()
        if any(other.name == controller for other in self._registrations):
            raise ValueError(
                f"this operator has a controller {controller!r} already: give the second one a name, "
                f'reconciles({kind.__name__}, name="...")'
            )

        def register(given: Any) -> None:
            finalizer = finalizer_name(info, self.name, None) if hasattr(given, "finalize") else None
            self._registrations.append(
                Registration(
                    kind=kind,
                    info=info,
                    name=controller,
                    make_handlers=handlers_of(given, kind),
                    class_finalizer=finalizer,
                    **options,
                )
            )

        return ReconcileDecorator(register)

    @known_options
    def finalizes(self, kind: type[R], *, name: str | None = None) -> ObjectDecorator[R]:
        """Let a function clean up before an object goes. Its finalizer is added before the first reconcile.

        The function is called when the deletion was asked for, again and again until it returns without an exception
        and without a `Result` that asks to come back; then the finalizer is removed, and the object goes. It may be
        called again after it succeeded, if the operator was killed in between.

        Args:
            kind: whose objects are finalized.
            name: the finalizer; `<group of the kind>/<name of the operator>` unless given.
        """
        finalizer = finalizer_name(check_kind(kind, "finalizes"), self.name, name)
        if any(other is kind and taken == finalizer for other, taken, _ in self._finalizers):
            raise ValueError(f"{kind.__name__} has a finalizer {finalizer!r} already: give the second one another name")

        def register(function: Any) -> None:
            self._finalizers.append((kind, finalizer, form_of(function, kind, by_key=False)))

        return ObjectDecorator(register)

    @known_options
    def deleted(self, kind: type[R]) -> ObjectDecorator[R]:
        """Let a function hear of objects that are gone, with their last known state.

        Called again after an exception, as reconcilers are, but not for what went while the operator did not run: what
        must not be missed belongs in `finalizes`.
        """
        check_kind(kind, "deleted")

        def register(function: Any) -> None:
            self._deleted.append((kind, form_of(function, kind, by_key=False)))

        return ObjectDecorator(register)

    @known_options
    def needs(
        self,
        kind: type[Object] | PolicyRule,
        *,
        verbs: Sequence[str] = (),
        names: Sequence[str] = (),
        namespace: str | None = None,
    ) -> Callable[[F], F]:
        """Say what else the program asks of the API server, next to the code that does: it goes into the roles.

        What follows from `reconciles`, `finalizes` and `owns` need not be said. Stands alone or above a function,
        which stays as it is.

        Args:
            kind: what is read or written; or a whole `rbac.PolicyRule`.
            verbs: what is done with it: `["get", "patch"]`; `["create eviction"]` for a subresource.
            names: the only objects that it is about.
            namespace: where; the namespaces that the operator looks at unless given, `"."` for the one it runs in.
        """
        self._needs += needed(kind, verbs=verbs, names=names, namespace=namespace)
        return lambda function: function

    def permissions(self) -> list[Permission]:
        """All that the program may ask of the API server, from what it declares."""
        return permissions_of(self.registrations(), self.namespaces, self._needs)

    def registrations(self) -> list[Registration[Any]]:
        """The controllers as they will run, finalizers and callbacks included."""
        made = [_copy(registration) for registration in self._registrations]

        def first_of(kind: type[Object]) -> Registration[Any]:
            for registration in made:
                if registration.kind is kind:
                    return registration
            info = check_kind(kind, "finalizes")
            alone: Registration[Any] = Registration(
                kind=kind, info=info, name=info.kind.lower(), make_handlers=lambda: Handlers()
            )
            made.append(alone)
            return alone

        for kind, finalizer, form in self._finalizers:
            first_of(kind).finalizers.append((finalizer, form))
        for kind, form in self._deleted:
            first_of(kind).deleted.append(form)
        return made

    def running(self, cluster: Client | HasKubeconfig | None = None, *, install_crds: bool = True) -> Running:
        """The operator inside this program, as in a test: `async with operator.running(client) as running`.

        Args:
            cluster: a client, which stays open, or anything with a kubeconfig, such as a `ControlPlane`; without one,
                the cluster that `load_config` finds.
            install_crds: whether the kinds that it reconciles are defined in the cluster first, from their classes.
        """
        return Running(self, cluster, install_crds=install_crds)

    def run(
        self,
        *,
        kubeconfig: str | os.PathLike[str] | None = None,
        context: str | None = None,
        master: str | None = None,
        namespaces: Sequence[str] | None = None,
    ) -> None:
        """Run until SIGTERM or SIGINT: the first lets running reconciles finish, a second one stops at once.

        Args:
            kubeconfig: the file that names the cluster; otherwise `KUBECONFIG`, the pod, `~/.kube/config`.
            context: the context in it.
            master: the server's address, instead of the one in the file.
            namespaces: the only namespaces to look at, instead of the operator's own.
        """
        from kubewright.operator._run import run

        if namespaces is not None:
            self.namespaces = tuple(check_list("namespaces", namespaces))
        run(self, kubeconfig=kubeconfig, context=context, server=master)


def _copy(registration: Registration[Any]) -> Registration[Any]:
    from dataclasses import replace

    return replace(registration, finalizers=list(registration.finalizers), deleted=list(registration.deleted))
