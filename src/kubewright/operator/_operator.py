"""`Operator`: a definition, and the methods that run it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

from kubewright.arguments import known_options
from kubewright.clock import Clock
from kubewright.controller import Replacement
from kubewright.durations import Duration, check_duration
from kubewright.operator.definition import OperatorDefinition, Stage, check_component, check_page_path, check_stage
from kubewright.operator.settings import Options, check_options

if TYPE_CHECKING:
    from kubewright.client import Client
    from kubewright.operator._clusters import HasClient, HasKubeconfig
    from kubewright.operator._running import Running
    from kubewright.operator.dry_run import DryRunReport
    from kubewright.operator.endpoints import Page, PageRequest

__all__ = ["Component", "Operator", "PageFunction"]

Component: TypeAlias = "Callable[[Running], AbstractAsyncContextManager[Any]]"
"""Returns the context manager that is entered when the component starts and left when it stops."""

PageFunction: TypeAlias = "Callable[[Running, PageRequest], Awaitable[Page]]"
"""Returns a page of a running operator."""


class Operator(OperatorDefinition):
    """A program that reconciles objects: a name, controllers, and the settings of a run.

    `run` and `running` accept every setting too; theirs take precedence over the ones given here. `run` also reads
    environment variables (`KUBEWRIGHT_GRACE=1m`), and `kubewright run` has flags (`--grace 1m`). A duration is a number
    of seconds, a `timedelta`, or a string such as "1m30s".

    Args:
        name: the field manager, the component of events, and a part of finalizers. A DNS label: `sample-controller`.
        clock: the clock. Default: real time.
        rng: the source of randomness, for jitter.
        external_calls: which other systems the program calls besides the cluster, for dry runs: "none"; or "provided"
            if all of them are dependencies with `@operator.provides(dry_run=...)`. Default: not declared.
        kubeconfig: the kubeconfig file. Default: `KUBECONFIG`, then the pod's service account, then `~/.kube/config`.
        context: the context in the kubeconfig.
        server: the address of the API server, instead of the one in the kubeconfig.
        namespaces: the namespaces to watch. Default: all.
        namespace_labels: watch the namespaces that this label selector matches, such as "team=shop". Namespaces that
            get or lose the labels later are watched, or not watched any more, without a restart. The roles are then
            those for the whole cluster, with `list` and `watch` on namespaces.
        concurrency: concurrent reconciles of each controller that sets no own limit. Default: 10.
        resync: the interval after which every object is reconciled again, for controllers that set none.
        leader_elect: work only while this replica is the leader. Default: enabled in a pod, disabled elsewhere.
        lease_name: the name of the Lease. Default: the operator's name.
        lease_namespace: the namespace of the Lease. Default: the pod's namespace.
        lease_duration: how long standbys wait after the last renewal that they observed. Default: 15 s.
        renew_deadline: how long the leader relies on a renewal. Default: 10 s.
        retry_period: the interval between renewals. Default: 2 s.
        metrics_bind: the address of `/metrics`, such as "127.0.0.1:8080". Default: not served.
        metrics_secure: serve `/metrics` over HTTPS, to clients that the API server authorizes. Default: enabled unless
            the address is on loopback.
        metrics_cert_path: the folder of `tls.crt` and `tls.key` for HTTPS. Default: a self-signed certificate.
        health_bind: the address of `/healthz` and `/readyz`. Default: not served.
        debug_pages: serve `/debug/kubewright` on loopback and where `/metrics` is secure. Default: only on loopback.
        tracing: create OpenTelemetry spans. Default: enabled if the program has imported the OpenTelemetry SDK.
        event_version: the API of events: "events.k8s.io/v1" or the older "v1". Default: "events.k8s.io/v1".
        failure_events: record the first failure of an object, and each new reason, as a Warning event on it. Default:
            enabled.
        pause_annotation: the annotation with which users pause an object. Default: "kubewright.dev/paused".
        webhook_bind: the address of the webhooks, if there are any; "0" disables them. Default: "127.0.0.1:9443".
        webhook_client_ca: a file of CA certificates. Webhooks then require a client certificate signed by one of them.
        webhook_url: the URL by which the API server reaches the webhooks on this machine. Their configurations are
            installed for this run.
        webhook_certificates: the source of the webhook certificate: "self-managed", "cert-manager", "olm" or "files".
            Default: "self-managed".
        webhook_folder: the folder of `tls.crt` and `tls.key`, if the certificate comes from files.
        webhook_secret: the Secret of a self-managed certificate. Default: `<name>-webhook-certificate`.
        webhook_service: the Service of the webhooks. Default: `<name>-webhook`.
        grace: how long running reconciles may take to finish when the operator stops. Default: 30 s.
        sync_timeout: how long the caches may take to fill at the start. Default: 120 s.
        install_crds: install the CustomResourceDefinitions of the kinds that it reconciles, and of kinds of the same
            groups that it owns, watches or reads. The roles then include the permissions. Default: enabled for
            `running`, disabled for `run`.
        install_timeout: how long the API server may take to serve installed definitions. Default: 30 s.
        log_level: "debug", "info", "warning" or "error". Default: "info".
        log_format: "pretty" or "json". Default: pretty on a terminal, json elsewhere.
    """

    @known_options
    def attach(self, component: Component, *, stage: Stage = "others") -> None:
        """Starts and stops another component with the operator: a server, a poller, a connection.

        Args:
            component: a function that takes the `Running` and returns an async context manager, which is entered at
                the start and left at the end, such as a function with `@contextlib.asynccontextmanager`.
            stage: when it starts: "webhooks" before the caches, "others" when the caches are in sync, "leader" when
                this replica is the leader, before its controllers start. Components of a stage start in the order in
                which they were attached and stop in the reverse order.
        """
        check_stage(stage)
        check_component(component)
        self.components[stage].append(component)

    @known_options
    def page(self, path: str) -> Callable[[PageFunction], PageFunction]:
        """Serves a page of the operator beside `/metrics`, with the same protection.

            @operator.page("/queue")
            async def queue(running: kw.Running, request: PageRequest) -> Page:
                return Page(str(len(running.controller(Foo).queue)).encode())

        It is served at `metrics_bind`, for GET and HEAD, also while the operator starts. Where metrics are secure, a
        client needs the verb `get` for the nonResourceURL of the path. The generated ClusterRole
        `<operator>-metrics-reader` includes it.

        Args:
            path: the path, such as "/queue". The page is called for the paths below it, too: `request.below`.

        Raises ValueError for a path that another page has.
        """
        check_page_path(path, self.pages)

        def register(function: PageFunction) -> PageFunction:
            self.pages[path] = function
            return function

        return register

    def running(
        self,
        cluster: Client | HasClient | HasKubeconfig | None = None,
        *,
        clock: Clock | None = None,
        replace: Sequence[Replacement] = (),
        **options: Unpack[Options],
    ) -> Running:
        """Runs the operator inside this program, as in a test: `async with operator.running(cluster) as running`.

        Args:
            cluster: a client, which stays open; or an object with a method `client()`, such as an embedded `Cluster`;
                or an object with a kubeconfig, such as a `ControlPlane`. Default: the cluster of the settings.
            clock: the clock of this run. Default: the operator's, which is real time by default.
            replace: replacements of dependencies in this run: `http.replaced_by(fake)`.
            options: settings of this run, which take precedence over the operator's. Unless `install_crds` is False,
                the run first installs the definitions of the kinds that it reconciles. Definitions of other kinds that
                it owns, watches or reads are installed if the cluster does not have them.
        """
        from kubewright.operator._running import Running  # half of the modules of an operator, which only a run needs

        settings = self.settings_with(**options)
        install = settings.install_crds is not False
        return Running(self, cluster, install_crds=install, settings=settings, clock=clock, replace=replace)

    async def dry_run(
        self,
        cluster: Client | HasClient | HasKubeconfig | None = None,
        *,
        timeout: Duration = "5m",
        clock: Clock | None = None,
        replace: Sequence[Replacement] = (),
        **options: Unpack[Options],
    ) -> DryRunReport:
        """Reconciles every object without changing the cluster, and returns the changes that the operator would make.

        Every write is a dry run on the server. Its result is visible to the following reads of this run. The run takes
        no lease, records no events, and starts no timers, daemons, finalizers, webhooks or components. It ends when no
        reconcile is left to do; a key that asks for a later time is done.

        Args:
            cluster: as in `running`.
            timeout: the time after which reconciles that are not finished are failures.
            clock: the clock of this run. Default: the operator's, which is real time by default.
            replace: replacements of dependencies in this run.
            options: settings of this run.

        Raises `DryRunRefused` if the operator does not declare its `external_calls`.
        """
        from kubewright.operator.dry_run import dry_run

        settings, seconds = self.settings_with(**options), check_duration("timeout", timeout, zero=False)
        return await dry_run(self, cluster, settings, timeout=seconds, clock=clock, replace=replace)

    def run(self, **options: Unpack[Options]) -> None:
        """Runs as a program until SIGTERM or SIGINT. The first signal lets reconciles finish, the second does not.

        Settings take precedence in this order: the arguments given here, environment variables, the arguments of
        `Operator`. Returns after a graceful stop. Every other end logs one line and raises `SystemExit` with an
        `ExitCode`.
        """
        from kubewright.operator.process import run

        run(self, check_options("run", options))
