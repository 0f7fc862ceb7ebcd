"""`work`: all steps of a reconcile in their order, from the Secrets to the database."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import kubewright as kw
from kubewright.api import apps, core, policy, rbac
from kubewright.durations import parse_duration
from postgres_operator import children, steps
from postgres_operator.database import address_of
from postgres_operator.engine import Engine
from postgres_operator.kinds import Configuration, Postgresql


@dataclass
class Progress:
    """How far a reconcile has come. It is filled while the steps run, so that it is also known if one fails."""

    refusals: dict[str, str] = field(default_factory=dict)
    """Changes of the spec that are refused: reason and message."""
    waiting: list[str] = field(default_factory=list)
    """What the cluster waits for. It is done if this is empty."""
    rolling: bool = False
    """Whether pods are being replaced or restarted."""
    pods: Sequence[core.Pod] = ()
    check_after: float | None = None
    """Seconds after which the cluster must be looked at again, even if nothing changes."""

    @property
    def primary(self) -> core.Pod | None:
        """The pod of the primary, if it is ready."""
        return steps.primary_of(self.pods)


@dataclass
class Work:
    """One reconcile of a cluster."""

    cluster: Postgresql
    ctx: kw.Context[Postgresql]
    config: Configuration
    engine: Engine
    users: Sequence[str]
    synchronized: steps.Synchronized
    progress: Progress

    async def run(self) -> None:
        """Runs all steps. Each does what is possible now, and names in `progress` what it waits for."""
        cluster, ctx, progress = self.cluster, self.ctx, self.progress
        existing = ctx.get(apps.StatefulSet, cluster.metadata.name)
        progress.refusals = steps.refusals_of(cluster, ctx, existing)
        if waiting := steps.check_clone(cluster, ctx):
            progress.waiting.append(waiting)
            progress.check_after = steps.CHECK_SECONDS  # a change of the other cluster does not trigger this one
            return
        passwords = await steps.ensure_secrets(cluster, ctx, self.users)
        service = await self._apply_children()
        stateful_set = await self._apply_stateful_set(existing, steps.credentials_of(passwords))
        progress.refusals |= await steps.grow_volumes(cluster, ctx)
        if rolling := await steps.replace_outdated(ctx, self.engine, stateful_set, progress.pods):
            progress.rolling = True
            progress.waiting.append(rolling)
            if all(map(steps.is_ready, progress.pods)):
                progress.check_after = steps.CHECK_SECONDS  # it waits for Patroni, whose state no event announces
        self._count_pods()
        if progress.primary is not None:
            await self._follow(service, passwords, progress.primary)
        if not progress.waiting:  # pods that are not replaced yet use the former account
            await self._prune_accounts()

    async def _apply_children(self) -> core.Service:
        """Applies everything but the StatefulSet. Returns the Service of the primary."""
        cluster, config = self.cluster, self.config
        master = children.master_service_of(cluster, config)
        budget = children.budget_of(cluster, config)
        applied = await self.ctx.apply_all(
            [
                children.account_of(cluster, config),
                children.role_of(cluster, config),
                children.role_binding_of(cluster, config),
                master,
                children.replica_service_of(cluster, config),
                children.config_service_of(cluster),
                budget,
            ]
        )
        # One of a former name: Kubernetes evicts no pod that has two budgets.
        await self.ctx.prune([policy.PodDisruptionBudget], keep=[budget])
        return next(
            one
            for one in applied.objects
            if isinstance(one, core.Service) and one.metadata.name == cluster.metadata.name
        )

    async def _prune_accounts(self) -> None:
        """Deletes accounts of a former name, with their rights."""
        for kind, wanted in (
            (rbac.RoleBinding, children.role_binding_of),
            (rbac.Role, children.role_of),
            (core.ServiceAccount, children.account_of),
        ):
            await self.ctx.prune([kind], keep=[wanted(self.cluster, self.config)])

    async def _apply_stateful_set(self, existing: apps.StatefulSet | None, credentials: str) -> apps.StatefulSet:
        """Applies the StatefulSet. Before a scale-down, the primary moves to a pod that stays."""
        cluster, ctx, progress = self.cluster, self.ctx, self.progress
        size = children.instances_of(cluster, self.config)
        current = (existing.spec.replicas or 0) if existing is not None else 0
        if current > size and await steps.switch_before_shrinking(ctx, self.engine, progress.pods, size):
            progress.rolling = True
            progress.waiting.append("the primary moves before the scale-down")
            progress.check_after = steps.CHECK_SECONDS
            size = current
        version = steps.data_version(cluster, ctx)
        environment = children.environment_of(cluster, version, existing)
        template = steps.template_of(existing)
        wanted = children.stateful_set(
            cluster, self.config, environment, replicas=size, credentials=credentials, template=template
        )
        return await ctx.apply(wanted)

    def _count_pods(self) -> None:
        progress, size = self.progress, children.instances_of(self.cluster, self.config)
        ready = sum(map(steps.is_ready, progress.pods))
        if ready != size or len(progress.pods) != size:
            progress.waiting.append(f"{ready} of {size} pods are ready")
        if size and progress.primary is None:
            progress.waiting.append("there is no primary")

    async def _follow(self, service: core.Service, passwords: dict[str, str], primary: core.Pod) -> None:
        """Lets the database and Patroni follow the spec and the Secrets, unless they already do."""
        cluster, ctx, progress, now = self.cluster, self.ctx, self.progress, self.ctx.clock.monotonic()
        fingerprint = steps.fingerprint_of(cluster, passwords, primary.metadata.name)
        period = parse_duration(self.config.resync_period)
        if not self.synchronized.is_current(cluster, fingerprint, now, period):
            address = address_of(service)
            if address is None:
                progress.waiting.append("the Service of the primary has no address yet")
                return
            changes = await steps.synchronize_database(cluster, ctx, self.engine, address, passwords, primary)
            if changes:
                ctx.record("DatabaseSynchronized", str(changes))
            await steps.prune_secrets(cluster, ctx, self.users)
            self.synchronized.remember(cluster, fingerprint, now)
        if not progress.waiting and not self.synchronized.is_settled(cluster, now):
            if waiting := await steps.apply_parameters(cluster, ctx, self.engine, progress.pods, self.synchronized):
                self.synchronized.unsettle(cluster, now)
                progress.rolling = True
                progress.waiting.append(waiting)
            progress.check_after = steps.CHECK_SECONDS
