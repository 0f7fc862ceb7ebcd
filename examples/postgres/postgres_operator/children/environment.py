"""The variables of the database container."""

import msgspec

from kubewright.api import apps, core
from postgres_operator.children.names import secret_name
from postgres_operator.children.stateful_sets import CONTAINER
from postgres_operator.database import STANDBY, SUPERUSER
from postgres_operator.kinds import Postgresql
from postgres_operator.patroni import CONFIGURATION_VARIABLE, configuration, pod_environment


def patroni_configuration(cluster: Postgresql) -> dict[str, object]:
    """Returns Patroni's dynamic configuration."""
    settings = msgspec.to_builtins(cluster.spec.patroni) if cluster.spec.patroni is not None else None
    return configuration(cluster.spec.postgresql.parameters, settings)


def environment_of(cluster: Postgresql, version: str, existing: apps.StatefulSet | None) -> list[core.EnvVar]:
    """Returns the variables that Patroni needs.

    Patroni reads its first configuration only when it creates the cluster. So the one of an existing StatefulSet is
    kept: a change of a parameter must not replace pods.
    """
    patroni = cluster.spec.patroni
    made = pod_environment(
        cluster=cluster.metadata.name,
        version=version,
        superuser_secret=secret_name(SUPERUSER, cluster),
        standby_secret=secret_name(STANDBY, cluster),
        bootstrap=patroni_configuration(cluster),
        initdb=patroni.initdb if patroni is not None else None,
    )
    kept = _first_configuration(existing)
    return [kept if kept is not None and each.name == CONFIGURATION_VARIABLE else each for each in made]


def _first_configuration(existing: apps.StatefulSet | None) -> core.EnvVar | None:
    pod = existing.spec.template.spec if existing is not None else None
    for container in pod.containers if pod is not None else ():
        if container.name == CONTAINER:
            return next((one for one in container.env or () if one.name == CONFIGURATION_VARIABLE), None)
    return None
