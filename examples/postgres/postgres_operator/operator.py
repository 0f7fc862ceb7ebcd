"""The operator: its controllers, the states of a cluster, and what happens when something fails.

kubewright run postgres_operator.operator
"""

import msgspec

import kubewright as kw
from kubewright.api import apps, core, policy, rbac
from kubewright.client import ApiError, Conflict
from kubewright.durations import parse_duration
from postgres_operator import rest
from postgres_operator.children import (
    CLUSTER_INDEX,
    DATA_SECRETS,
    OURS,
    PATRONI_RULES,
    cluster_name_of,
    cluster_of,
    instances_of,
    selector_of,
)
from postgres_operator.database import DatabaseError, DatabaseUnreachable, InvalidNames, logins, wanted
from postgres_operator.engine import production_engine
from postgres_operator.kinds import (
    Configuration,
    OperatorConfiguration,
    Postgresql,
    PostgresqlStatus,
    State,
    problems_of,
    unsupported_in,
    unsupported_settings,
    without_effect,
)
from postgres_operator.patroni import PatroniError, PatroniUnreachable
from postgres_operator.publishing import add_publishing
from postgres_operator.settings import clusters_of, configuration_of, is_ours
from postgres_operator.simulated import SimulatedEngine
from postgres_operator.states import FAILED, Phase, phase_of, state_while_working
from postgres_operator.steps import (
    CloneImpossible,
    ForeignSecret,
    Synchronized,
    missing_annotations,
    pods_of,
    remove_cluster,
)
from postgres_operator.work import Progress, Work

# It installs its CustomResourceDefinition itself, as in the tutorial.
operator = kw.Operator("postgres-operator", install_crds=True, concurrency=8)
engine = operator.provides(simulated=SimulatedEngine)(production_engine)
rest.add_pages(operator)
add_publishing(operator)
operator.indexes(core.Pod, CLUSTER_INDEX)(cluster_name_of)
operator.indexes(core.PersistentVolumeClaim, CLUSTER_INDEX)(cluster_name_of)
operator.extend_console("postgres_operator.ui:postgres")

operator.needs(core.Pod, verbs=["delete"])  # rolling updates
operator.needs(core.Pod, verbs=["create exec"])  # a lost password
operator.needs(core.PersistentVolumeClaim, verbs=["patch"])  # growth
operator.needs(core.Endpoints, verbs=["deletecollection"])  # Patroni's state of a deleted cluster
for rule in PATRONI_RULES:  # RBAC lets an operator grant only what it may do itself
    operator.needs(rule)

_KEPT = "what a deleted or changed cluster leaves stays, and a new one takes it over"
operator.exempt(core.PersistentVolumeClaim, reason=_KEPT)
operator.exempt(core.Secret, name=DATA_SECRETS, reason=_KEPT)
operator.exempt(engine, "clusters.*.passwords.*", reason="are generated once")
operator.exempt(engine, "clusters.*.nologin", reason="removed roles lose their login, and are never dropped")
operator.exempt(engine, "clusters.*.kept", reason="no database is ever dropped")
operator.exempt(engine, "clusters.*.leader", reason="any member may be the primary")
operator.exempt(Postgresql, "status.primary", reason="any member may be the primary")
operator.exempt(Postgresql, "spec.volume", reason="volumes do not shrink")
operator.exempt(Postgresql, "spec.postgresql.version", reason="data is not downgraded")
operator.exempt(
    apps.StatefulSet, "spec.template.spec.containers.*.env", reason="the version and the source of the data stay"
)

_UNREACHABLE = (DatabaseUnreachable, PatroniUnreachable)
_EXPLAINED = (ApiError, DatabaseError, PatroniError, ForeignSecret, CloneImpossible, kw.NotOwned)
"""Errors whose messages are made for users, and contain no secrets."""


@operator.reconciles(OperatorConfiguration)
async def configure(found: OperatorConfiguration, ctx: kw.Context[OperatorConfiguration]) -> None:
    """Names the settings that have no effect. Clusters read the configuration from the cache."""
    if not is_ours(found) or found.metadata.origin is None:
        return
    content = msgspec.json.decode(found.metadata.origin.raw).get("configuration")
    for message in without_effect("settings", unsupported_settings(Configuration, content)):
        ctx.record("UnsupportedSetting", message, type="Warning")
    ctx.log.info("the configuration was loaded")


@operator.reconciles(
    Postgresql,
    owns=[
        apps.StatefulSet,
        core.Service,
        core.ServiceAccount,
        rbac.Role,
        rbac.RoleBinding,
        policy.PodDisruptionBudget,
        kw.Owns(core.Secret, labels=OURS),
    ],
    watches=[
        kw.Watch(core.Pod, map=cluster_of, labels=OURS),
        kw.Watch(core.PersistentVolumeClaim, map=cluster_of, labels=OURS),
        kw.Watch(OperatorConfiguration, map=clusters_of),
    ],
    timeout="5m",
)
class Clusters:
    """Reconciles clusters. It remembers only which databases are up to date, so a restart loses nothing."""

    def __init__(self) -> None:
        self.synchronized = Synchronized()

    async def reconcile(self, cluster: Postgresql, ctx: kw.Context[Postgresql]) -> kw.Result | None:
        """Makes a cluster match its spec, and reports its state."""
        config = configuration_of(ctx)
        phase = phase_of(
            cluster.status,
            cluster.metadata.generation or 0,
            exists=ctx.get(apps.StatefulSet, cluster.metadata.name) is not None,
        )
        progress = Progress(pods=pods_of(cluster, ctx))
        problems = problems_of(cluster, config) or _invalid_names(cluster)
        if problems:
            await report(cluster, ctx, config, State.INVALID, "; ".join(problems), progress)
            return None  # until the spec or the configuration changes
        if is_new(cluster):
            for message in without_effect("fields", unsupported_in(cluster.spec, cluster.spec.volume)):
                ctx.record("UnsupportedField", message, type="Warning")
        if phase is not Phase.SYNCING:
            working = state_while_working(phase, cluster.status, rolling=False)
            if cluster.status.state is not working and is_new(cluster):
                await report(cluster, ctx, config, working, None, progress)
        users = logins(cluster.metadata.name, users=cluster.spec.users, prepared=cluster.spec.prepared_databases)
        work = Work(cluster, ctx, config, ctx.use(engine), users, self.synchronized, progress)
        try:
            await work.run()
        except (Conflict, kw.RetryLater):
            raise  # retried at once, or later
        except Exception as error:
            await self._report_failure(cluster, ctx, config, phase, error, progress)
            raise
        return await self._report_progress(cluster, ctx, config, phase, progress)

    async def _report_progress(
        self,
        cluster: Postgresql,
        ctx: kw.Context[Postgresql],
        config: Configuration,
        phase: Phase,
        progress: Progress,
    ) -> kw.Result:
        message = "; ".join([*progress.refusals.values(), *progress.waiting]) or None
        if progress.refusals:
            state = FAILED[Phase.UPDATING if phase is Phase.SYNCING else phase]
            for reason, text in progress.refusals.items():
                if is_new(cluster) or cluster.status.message != message:
                    ctx.record(reason, text, type="Warning")
        elif progress.waiting:
            state = state_while_working(phase, cluster.status, rolling=progress.rolling)
        else:
            state = State.RUNNING
        await report(cluster, ctx, config, state, message, progress)
        if progress.waiting:
            return kw.Result(requeue_after=progress.check_after or parse_duration(config.repair_period))
        return kw.Result(requeue_after=progress.check_after or parse_duration(config.resync_period))

    async def _report_failure(
        self,
        cluster: Postgresql,
        ctx: kw.Context[Postgresql],
        config: Configuration,
        phase: Phase,
        error: Exception,
        progress: Progress,
    ) -> None:
        message = str(error) if isinstance(error, _EXPLAINED) else type(error).__name__
        state = FAILED[phase]
        if phase is Phase.CREATING and isinstance(error, _UNREACHABLE):
            state = State.CREATING  # PostgreSQL is starting
        elif cluster.status.state is not state or cluster.status.message != message:
            ctx.record(state.value, message[:1000], type="Warning")
        try:
            await report(cluster, ctx, config, state, message, progress)
        except ApiError as failed:
            ctx.log.warning("the state %s cannot be written: %s", state.value, failed)

    async def finalize(self, cluster: Postgresql, ctx: kw.Context[Postgresql]) -> kw.Result | None:
        """Stops a cluster. Its volumes stay. A protected cluster keeps running until its annotations allow it."""
        config = configuration_of(ctx)
        if missing := missing_annotations(cluster, config, ctx.clock.now()):
            needed = ", ".join(f"{key}={value}" for key, value in missing.items())
            message = f"the deletion waits for the annotations {needed}"
            if cluster.status.message != message:
                ctx.record("DeletionProtected", message, type="Warning")
            await ctx.patch_status(message=message)
            return kw.Result(requeue_after="1h")  # the date changes
        if not await remove_cluster(cluster, ctx, config):
            return kw.Result(requeue_after="1m")  # the deletion of the StatefulSet usually comes first
        return None

    async def deleted(self, cluster: Postgresql, ctx: kw.Context[Postgresql]) -> None:
        """Forgets a cluster that is gone."""
        self.synchronized.forget(cluster.metadata.uid)


def is_new(cluster: Postgresql) -> bool:
    """Returns whether the status describes an earlier spec."""
    return cluster.status.observed_generation != cluster.metadata.generation


def _invalid_names(cluster: Postgresql) -> list[str]:
    spec = cluster.spec
    try:
        wanted(cluster.metadata.name, users=spec.users, databases=spec.databases, prepared=spec.prepared_databases)
    except InvalidNames as error:
        return [str(error)]
    return []


async def report(
    cluster: Postgresql,
    ctx: kw.Context[Postgresql],
    config: Configuration,
    state: State,
    message: str | None,
    progress: Progress,
) -> None:
    """Writes the status. Nothing is sent if nothing changes."""
    if state is State.INVALID and (is_new(cluster) or cluster.status.message != message):
        ctx.record("Invalid", (message or "")[:1000], type="Warning")
    if state is State.RUNNING and cluster.status.state is not State.RUNNING:
        ctx.record("Running", f"the cluster runs with {instances_of(cluster, config)} instances")
    if state is State.RUNNING:
        ctx.set_condition("Ready", True, "Running", "all instances are ready")
    else:
        ctx.set_condition("Ready", False, state.value, message or "the cluster is not ready yet")
    primary = progress.primary
    await ctx.set_status(
        PostgresqlStatus(
            state=state,
            message=message,
            observed_generation=cluster.metadata.generation,
            number_of_instances=len(progress.pods),
            label_selector=",".join(f"{key}={value}" for key, value in selector_of(cluster).items()),
            primary=primary.metadata.name if primary is not None else None,
        )
    )


if __name__ == "__main__":
    operator.run()
