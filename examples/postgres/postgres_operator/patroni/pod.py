"""What a pod with upstream's image needs, and the configuration of a new cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubewright.api import core, rbac

APPLICATION_LABEL: Final = "application"
APPLICATION_VALUE: Final = "spilo"
CLUSTER_LABEL: Final = "cluster-name"
ROLE_LABEL: Final = "spilo-role"
PRIMARY: Final = "master"
REPLICA: Final = "replica"
"""The values of the role label. Patroni writes it; the operator never does."""

DATA_PATH: Final = "/home/postgres/pgdata"
"""Where the volume of a pod is mounted."""
POSTGRES_PORT: Final = 5432
REST_PORT: Final = 8008
LOOP_SECONDS: Final = 10.0
"""How often a member looks at its cluster and its configuration, unless the spec says otherwise."""
CONFIGURATION_VARIABLE: Final = "SPILO_CONFIGURATION"
# The settings of `spec.patroni` that are part of Patroni's dynamic configuration.
_DYNAMIC: Final = (
    "ttl",
    "loop_wait",
    "retry_timeout",
    "maximum_lag_on_failover",
    "synchronous_mode",
    "synchronous_mode_strict",
    "synchronous_node_count",
    "failsafe_mode",
    "slots",
)
POD_RULES: Final = (
    rbac.PolicyRule(
        api_groups=[""],
        resources=["endpoints"],
        verbs=["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
    ),
    rbac.PolicyRule(api_groups=[""], resources=["pods"], verbs=["get", "list", "patch", "update", "watch"]),
    rbac.PolicyRule(api_groups=[""], resources=["services"], verbs=["create"]),
)
"""The rights of a pod's service account: Patroni's, and no others."""


def configuration(
    parameters: Mapping[str, str] | None = None,
    patroni: Mapping[str, Any] | None = None,
    pg_hba: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Returns Patroni's dynamic configuration: for `Patroni.configure`, and for the bootstrap of a new cluster.

    Args:
        parameters: `spec.postgresql.parameters`.
        patroni: `spec.patroni`, with the names of the manifest; fields that are None are left out.
        pg_hba: replaces the default rules of access. Default: `patroni["pg_hba"]`.
    """
    patroni = {name: value for name, value in (patroni or {}).items() if value is not None}
    made: dict[str, Any] = {name: patroni[name] for name in _DYNAMIC if name in patroni}
    postgresql: dict[str, Any] = {"use_pg_rewind": True, "use_slots": True, "parameters": dict(parameters or {})}
    if rules := list(pg_hba or patroni.get("pg_hba") or ()):
        postgresql["pg_hba"] = rules
    return {**made, "postgresql": postgresql}


def pod_environment(
    *,
    cluster: str,
    version: str,
    superuser_secret: str,
    standby_secret: str,
    bootstrap: Mapping[str, Any],
    initdb: Mapping[str, str] | None = None,
) -> list[core.EnvVar]:
    """Returns the variables of the database container, with the names of upstream's image.

    `bootstrap` and `initdb` have an effect only before the first pod of a cluster starts. Pass those that an existing
    StatefulSet has: another value would replace all pods. Use `Patroni.configure` for a running cluster.
    """
    initial: dict[str, Any] = {"dcs": dict(bootstrap)}
    if initdb:
        initial["initdb"] = [{name: value} for name, value in sorted(initdb.items())]
    plain = {
        "SCOPE": cluster,
        "PGROOT": f"{DATA_PATH}/pgroot",
        "PGVERSION": version,
        "PGUSER_SUPERUSER": "postgres",
        "PGUSER_STANDBY": "standby",
        "KUBERNETES_SCOPE_LABEL": CLUSTER_LABEL,
        "KUBERNETES_ROLE_LABEL": ROLE_LABEL,
        "KUBERNETES_LABELS": json.dumps({APPLICATION_LABEL: APPLICATION_VALUE}),
        "DCS_ENABLE_KUBERNETES_API": "true",
        CONFIGURATION_VARIABLE: json.dumps({"bootstrap": initial}, sort_keys=True),
    }
    fields = {"POD_IP": "status.podIP", "POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace"}
    secrets = {"PGPASSWORD_SUPERUSER": superuser_secret, "PGPASSWORD_STANDBY": standby_secret}
    return [
        *(core.EnvVar(name=name, value=value) for name, value in plain.items()),
        *(_from(name, field_ref=core.ObjectFieldSelector(field_path=path)) for name, path in fields.items()),
        *(
            _from(name, secret_key_ref=core.SecretKeySelector(name=secret, key="password"))
            for name, secret in secrets.items()
        ),
    ]


def clone_environment(source: str, standby_secret: str) -> list[core.EnvVar]:
    """Returns the variables by which upstream's image copies another cluster of the namespace when it creates this one.

    The Secret is optional: once the data is copied, the other cluster may be deleted.
    """
    plain = {
        "CLONE_SCOPE": source,
        "CLONE_METHOD": "CLONE_WITH_BASEBACKUP",
        "CLONE_HOST": source,
        "CLONE_PORT": str(POSTGRES_PORT),
        "CLONE_USER": "standby",
    }
    password = core.SecretKeySelector(name=standby_secret, key="password", optional=True)
    return [
        *(core.EnvVar(name=name, value=value) for name, value in plain.items()),
        _from("CLONE_PASSWORD", secret_key_ref=password),
    ]


def readiness_probe() -> core.Probe:
    """Returns the probe of the database container: Patroni says that PostgreSQL runs.

    It does not ask for `/readiness`, which a replica without a primary does not pass: an ordered StatefulSet would then
    never create the pod that can become the primary.
    """
    return core.Probe(
        http_get=core.HTTPGetAction(path="/health", port=REST_PORT),
        initial_delay_seconds=1,
        period_seconds=2,
        timeout_seconds=5,
        failure_threshold=5,
    )


def _from(name: str, **source: Any) -> core.EnvVar:
    return core.EnvVar(name=name, value_from=core.EnvVarSource(**source))
