"""`Operator`: collects controllers, then runs them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from msgspec.structs import replace

from kubewright.api import Object
from kubewright.arguments import check_text, known_options
from kubewright.cache import NAMESPACE_INDEX, OWNER_INDEX, IndexFunction, Labels, ObjectKey
from kubewright.clock import Clock, check_clock
from kubewright.controller import Owns, Registration, Replacement, Watch
from kubewright.controller.registration import (
    DEFAULT_CONCURRENCY,
    Handler,
    Handlers,
    PredicateFunction,
    RateLimiterFactory,
    Trigger,
    check_concurrency,
    check_handler,
    check_kind,
    check_labels,
    check_owns,
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
from kubewright.observe import Metrics
from kubewright.operator._decorators import ObjectDecorator, ReconcileDecorator
from kubewright.operator._has_components import HasComponents
from kubewright.operator._has_webhooks import HasWebhooks
from kubewright.operator.settings import Options, Settings, check_options
from kubewright.rbac import Permission, check_verbs
from kubewright.signatures import can_take, is_async, name_of

if TYPE_CHECKING:
    from kubewright.api.rbac.v1 import PolicyRule
    from kubewright.client import Client
    from kubewright.durations import Duration
    from kubewright.operator._clusters import HasClient, HasKubeconfig
    from kubewright.operator._running import Running
    from kubewright.queue import RateLimiter

__all__ = ["Operator"]

R = TypeVar("R", bound=Object)
F = TypeVar("F")

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class Operator(HasWebhooks, HasComponents):
    """A program that keeps objects as they should be: a name, its controllers, and settings of how it runs.

    Every setting can also be given to `run` and `running`, where it wins over what is given here; `run` also reads
    environment variables (`KUBEWRIGHT_GRACE=1m`), and `kubewright run` has flags (`--grace 1m`). A time is a number of
    seconds, a `timedelta`, or a text such as "1m30s".

    Args:
        name: who writes: field manager, component of events, part of finalizers. A DNS label: `sample-controller`.
        clock: time; the system's unless given.
        rng: randomness, for jitter.
        kubeconfig: the file that names the cluster; otherwise `KUBECONFIG`, the pod, `~/.kube/config`.
        context: the context in it.
        server: the API server's address, instead of the one in the file.
        namespaces: the only namespaces to look at; all of them unless given.
        concurrency: reconciles at a time, 10 unless given, of each controller that does not say otherwise.
        resync: the time after which every object is reconciled again, where a controller does not say otherwise.
        leader_elect: work only while this replica leads; unless given, so it is in a pod, and nowhere else.
        lease_name: the Lease to stand for; the operator's name unless given.
        lease_namespace: the namespace of the Lease; the pod's unless given.
        lease_duration: how long standbys wait after the last renewal that they saw; 15 s unless given.
        renew_deadline: how long the leader trusts a renewal; 10 s unless given.
        retry_period: the time between two renewals; 2 s unless given.
        metrics_bind: where to serve `/metrics`, such as "127.0.0.1:8080"; not served unless given.
        metrics_secure: whether `/metrics` is HTTPS, for clients that the API server authorizes; by default, unless it
            is on loopback.
        metrics_cert_path: the folder of `tls.crt` and `tls.key` for that; by default a self-signed certificate.
        health_bind: where to serve `/healthz` and `/readyz`; not served unless given.
        debug_pages: whether to serve `/debug/kubewright` too: on loopback, and where `/metrics` is secure; by default
            on loopback alone.
        tracing: whether to make OpenTelemetry spans; unless given, so it is when the program has loaded its SDK.
        event_version: the API in which events are written: "events.k8s.io/v1" unless given, or the older "v1".
        webhook_bind: where to serve the webhooks, if there are any; "127.0.0.1:9443" unless given, and "0" for nowhere.
        webhook_client_ca: a file of CAs: webhooks then answer only clients with a certificate that one has signed.
        webhook_url: where the API server reaches the webhooks of this machine: they are told to it for this run.
        webhook_certificates: where the certificate of the webhooks comes from: "self-managed" unless given, or
            "cert-manager", "olm", "files".
        webhook_folder: the folder of `tls.crt` and `tls.key`, where it comes from files.
        webhook_secret: the Secret of a self-managed one; `<name>-webhook-certificate` unless given.
        webhook_service: the Service in front of the webhooks; `<name>-webhook` unless given.
        grace: the time that running reconciles have to finish when the operator stops; 30 s unless given.
        sync_timeout: the time that the caches have to fill at the start; 120 s unless given.
        install_crds: define the kinds that it reconciles in the cluster at the start, from their classes, with those of
            the same groups that it owns, watches or reads; unless given, `running` does so, for tests, and `run` does
            not. The roles then allow for it.
        install_timeout: the time that the server has to serve what is defined so; 30 s unless given.
        log_level: "debug", "info", "warning" or "error".
        log_format: "pretty" or "json"; pretty on a terminal and json elsewhere unless given.
    """

    def __init__(
        self,
        name: str,
        *,
        clock: Clock | None = None,
        rng: random.Random | None = None,
        **options: Unpack[Options],
    ) -> None:
        if not _NAME.fullmatch(check_text("operator name", name, "foo-operator")):
            raise ValueError(f"operator name {name!r} must be lower case letters, digits and '-', such as foo-operator")
        self.name = name
        self.clock = check_clock(clock)
        self.rng = rng
        self.settings = Settings(**check_options("Operator", options))
        self._registrations: list[Registration[Any]] = []
        self._unsaid: dict[str, set[str]] = {}
        self._finalizers: list[tuple[type[Object], str, Handler]] = []
        self._deleted: list[tuple[type[Object], Handler]] = []
        self.needed: list[Permission] = []
        self.indexed: list[tuple[type[Object], str, IndexFunction[Any]]] = []
        self.metrics = Metrics()
        self.has_roles = True
        """Whether roles are written for it: not so for a cluster's own controllers, which may do everything."""

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The only namespaces to look at; none means all of them."""
        return self.settings.namespaces

    @namespaces.setter
    def namespaces(self, namespaces: Sequence[str]) -> None:
        self.settings = self.settings_with(namespaces=namespaces)

    def settings_with(self, **options: Unpack[Options]) -> Settings:
        """The operator's settings, but with these."""
        return replace(self.settings, **check_options("Operator", options))

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
        concurrency: int | None = None,
        resync: Duration | None = None,
        rate_limiter: RateLimiterFactory | RateLimiter[ObjectKey] | None = None,
        timeout: Duration | None = None,
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
            concurrency: reconciles at a time; the operator's `concurrency` unless given, which is 10 unless given.
            resync: the time after which every object is reconciled again, from the cache: seconds, a timedelta, or a
                text such as "10m"; 0 is never. The operator's unless given.
            rate_limiter: how failing keys back off; 5 ms doubling up to 1000 s unless given.
            timeout: the time that one reconcile may take.
            name: the controller's name in logs and metrics; the kind in lower case unless given.
            verbs: all that is done with the kind's own objects, as in `Owns`; `"patch status"` for a subresource. What
                the framework does by itself, unless given.
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
            "verbs": None if verbs is None else check_verbs(what, verbs, must=("list", "watch")),
        }
        controller = check_text(f"{what}: name", name or info.kind.lower(), such_as=info.kind.lower())
        if any(other.name == controller for other in self._registrations):
            raise ValueError(
                f"this operator has a controller {controller!r} already: give the second one a name, "
                f'reconciles({kind.__name__}, name="...")'
            )

        unsaid = {name for name, given in (("concurrency", concurrency), ("resync", resync)) if given is None}

        def register(given: Any) -> None:
            self._unsaid[controller] = unsaid
            finalizer = finalizer_name(info, self.name, None) if hasattr(given, "finalize") else None
            self._registrations.append(
                Registration(
                    kind=kind,
                    info=info,
                    name=controller,
                    make_handlers=handler_factory(given, kind),
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
            self._finalizers.append((kind, finalizer, check_handler(function, kind, by_key=False)))

        return ObjectDecorator(register)

    @known_options
    def deleted(self, kind: type[R]) -> ObjectDecorator[R]:
        """Let a function hear of objects that are gone, with their last known state.

        Called again after an exception, as reconcilers are, but not for what went while the operator did not run: what
        must not be missed belongs in `finalizes`.
        """
        check_kind(kind, "deleted")

        def register(function: Any) -> None:
            self._deleted.append((kind, check_handler(function, kind, by_key=False)))

        return ObjectDecorator(register)

    @known_options
    def indexes(self, kind: type[R], name: str) -> Callable[[IndexFunction[R]], IndexFunction[R]]:
        """Let a function say by which values objects of a kind are found: `ctx.by_index(kind, name, value)`.

        The function takes an object, and answers a text, several of them, or None. Its kind must be in the cache:
        reconciled, or in `owns`, `watches` or `reads` of a controller. It stays as it is.
        """
        info = check_kind(kind, "indexes")
        check_text(f"the name of an index of {info.kind}", name, "by-owner")
        if name in (NAMESPACE_INDEX, OWNER_INDEX) or any((of, it) == (kind, name) for of, it, _ in self.indexed):
            raise ValueError(f"there is an index {name!r} of {info.kind} already: give this one another name")

        def register(function: IndexFunction[R]) -> IndexFunction[R]:
            what = f"the index {name!r} of {info.kind}"
            if not callable(function):
                raise TypeError(f"{what} is a function of an object, not {function!r}")
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
        """Say what else the program asks of the API server, next to the code that does: it goes into the roles.

        What follows from `reconciles`, `finalizes` and `owns` need not be said. Stands alone or above a function,
        which stays as it is.

        Args:
            kind: what is read or written; or a whole `rbac.PolicyRule`; or what a part of the program asks for, such
                as `for_installing(Foo)` when it defines its kinds itself.
            verbs: what is done with it: `["get", "patch"]`; `["create eviction"]` for a subresource.
            names: the only objects that it is about.
            namespace: where; the namespaces that the operator looks at unless given, `"."` for the one it runs in.
        """
        from kubewright.operator.access import needed

        self.needed += needed(kind, verbs=verbs, names=names, namespace=namespace)
        return lambda function: function

    def permissions(self, settings: Settings | None = None) -> list[Permission]:
        """All that the program may ask of the API server, from what it declares and how it runs."""
        # Only `kubewright manifests` and a run need these modules.
        from kubewright.operator._kinds import defined_kinds
        from kubewright.operator.access import for_installing, for_leading, for_reviewing, permissions_of
        from kubewright.operator.endpoints import is_secure

        settings, needs = settings or self.settings, self.needed
        if settings.leader_elect is not False:  # in a pod it stands for election unless told not to
            lease = settings.lease_name or self.name
            needs = [*needs, *for_leading(lease, settings.lease_namespace, events=settings.event_version)]
        if is_secure(settings):
            needs = [*needs, *for_reviewing()]
        if settings.install_crds:
            needs = [*needs, *for_installing(*defined_kinds(self._registrations))]
        return permissions_of(self.registrations(settings), settings.namespaces, needs, events=settings.event_version)

    def registrations(self, settings: Settings | None = None) -> list[Registration[Any]]:
        """The controllers as they will run, finalizers, callbacks and the operator's settings included."""
        settings = settings or self.settings
        general: dict[str, Any] = {"concurrency": settings.concurrency, "resync": settings.resync}

        def as_it_runs(registration: Registration[Any]) -> Registration[Any]:
            unsaid = self._unsaid.get(registration.name, general.keys())
            changes = {name: general[name] for name in unsaid}
            finalizers, deleted = list(registration.finalizers), list(registration.deleted)
            return replace(registration, finalizers=finalizers, deleted=deleted, **changes)

        made = [as_it_runs(registration) for registration in self._registrations]

        def first_of(kind: type[Object]) -> Registration[Any]:
            for registration in made:
                if registration.kind is kind:
                    return registration
            info = check_kind(kind, "finalizes")
            alone: Registration[Any] = Registration(
                kind=kind, info=info, name=info.kind.lower(), make_handlers=lambda: Handlers()
            )
            made.append(as_it_runs(alone))
            return made[-1]

        for kind, finalizer, form in self._finalizers:
            first_of(kind).finalizers.append((finalizer, form))
        for kind, form in self._deleted:
            first_of(kind).deleted.append(form)
        return made

    def running(
        self,
        cluster: Client | HasClient | HasKubeconfig | None = None,
        *,
        clock: Clock | None = None,
        replace: Sequence[Replacement] = (),
        **options: Unpack[Options],
    ) -> Running:
        """The operator inside this program, as in a test: `async with operator.running(cluster) as running`.

        Args:
            cluster: a client, which stays open; or what makes clients, such as an embedded `Cluster`; or anything with
                a kubeconfig, such as a `ControlPlane`. Without one, the cluster that the settings name.
            clock: the time of this run. Default: the operator's, which is real time by default.
            replace: values that take the place of dependencies in this run: `http.replaced_by(fake)`.
            options: settings for this run, instead of the operator's. Unless `install_crds` is False, the kinds that
                it reconciles are defined in the cluster first. Other kinds that it owns, watches or reads, and that
                have a definition in the program, are defined if the cluster does not have them.
        """
        settings = self.settings_with(**options)
        install = settings.install_crds is not False
        from kubewright.operator._running import Running  # half of the modules of an operator, which only a run needs

        return Running(self, cluster, install_crds=install, settings=settings, clock=clock, replace=replace)

    def run(self, **options: Unpack[Options]) -> None:
        """Run as a program until SIGTERM or SIGINT: the first lets running reconciles finish, a second one does not.

        Settings count in this order: the arguments given here, environment variables, the arguments of `Operator`.
        Returns after a graceful stop. Everything else ends in one line of the log and `SystemExit` with an `ExitCode`.
        """
        from kubewright.operator.process import run

        run(self, check_options("run", options))
