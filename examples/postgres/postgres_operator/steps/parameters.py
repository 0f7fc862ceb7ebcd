"""Patroni's configuration follows the spec. Patroni reloads it; members that need a restart are restarted in order."""

from collections.abc import Sequence

import kubewright as kw
from kubewright.api import core
from postgres_operator.children.environment import patroni_configuration
from postgres_operator.engine import Engine
from postgres_operator.kinds import Postgresql
from postgres_operator.steps.database import Synchronized
from postgres_operator.steps.pods import restart_pending

CHECK_SECONDS = 5.0
"""The interval in which the members are asked while they load their parameters."""


async def apply_parameters(
    cluster: Postgresql,
    ctx: kw.Context[Postgresql],
    engine: Engine,
    pods: Sequence[core.Pod],
    synchronized: Synchronized,
) -> str | None:
    """Configures Patroni, and restarts the next member that needs it. Returns what the cluster waits for."""
    now = ctx.clock.monotonic()
    async with engine.patroni(pods) as patroni:
        if await patroni.configure(patroni_configuration(cluster)):
            synchronized.configured[cluster.metadata.uid] = now
            ctx.record("Configured", "changed the configuration of Patroni")
            return "the members load their parameters"
        return await restart_pending(ctx, patroni, pods, is_loading=synchronized.is_loading(cluster, now))
