"""The variables of the database container."""

import msgspec

from kubewright.api import apps, core
from postgres_operator.children.names import secret_name
from postgres_operator.children.stateful_sets import CONTAINER
from postgres_operator.database import STANDBY, SUPERUSER
from postgres_operator.kinds import Postgresql, State
from postgres_operator.patroni import CONFIGURATION_VARIABLE, clone_environment, configuration, pod_environment

_CLONE_PREFIX = "CLONE_"
_BEFORE_DATA = (None, State.CREATING, State.CREATE_FAILED)
"""States of a cluster that may not have its data yet."""


def patroni_configuration(cluster: Postgresql) -> dict[str, object]:
    """Returns Patroni's dynamic configuration."""
    settings = msgspec.to_builtins(cluster.spec.patroni) if cluster.spec.patroni is not None else None
    return configuration(cluster.spec.postgresql.parameters, settings)


def environment_of(cluster: Postgresql, version: str, existing: apps.StatefulSet | None) -> list[core.EnvVar]:
    """Returns the variables that Patroni needs.

    Patroni reads its first configuration, and the cluster to clone, only when it creates the cluster. So those of an
    existing StatefulSet are kept: a change of a parameter must not replace pods.
    """
    patroni = cluster.spec.patroni
    made = pod_environment(
        cluster=cluster.metadata.name,
        version=version,
        superuser_secret=secret_name(SUPERUSER, cluster.metadata.name),
        standby_secret=secret_name(STANDBY, cluster.metadata.name),
        bootstrap=patroni_configuration(cluster),
        initdb=patroni.initdb if patroni is not None else None,
    )
    kept = {one.name: one for one in _variables(existing)}
    made = [kept.get(each.name, each) if each.name == CONFIGURATION_VARIABLE else each for each in made]
    if existing is not None and cluster.status.state not in _BEFORE_DATA:
        return [*made, *(one for name, one in kept.items() if name.startswith(_CLONE_PREFIX))]
    if (clone := cluster.spec.clone) is not None:
        made += clone_environment(clone.cluster, secret_name(STANDBY, clone.cluster))
    return made


def _variables(existing: apps.StatefulSet | None) -> list[core.EnvVar]:
    pod = existing.spec.template.spec if existing is not None else None
    containers = pod.containers if pod is not None else ()
    return [one for container in containers if container.name == CONTAINER for one in container.env or ()]
