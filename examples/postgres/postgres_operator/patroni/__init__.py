"""Patroni: the engine that makes a cluster highly available. Leadership is Patroni's alone.

`Patroni` is a client of its REST API. `pod_environment` and `configuration` are what a pod and a new cluster need.
`launch.py` is the entry point of the image on a process node, and `clone.py` its way to copy a cluster; nothing here
imports them.
"""

from postgres_operator.patroni.client import Member, Patroni, PatroniError, PatroniRefused, PatroniUnreachable
from postgres_operator.patroni.pod import (
    APPLICATION_LABEL,
    APPLICATION_VALUE,
    CLUSTER_LABEL,
    CONFIGURATION_VARIABLE,
    DATA_PATH,
    LOOP_SECONDS,
    POD_RULES,
    POSTGRES_PORT,
    PRIMARY,
    REPLICA,
    REST_PORT,
    ROLE_LABEL,
    clone_environment,
    configuration,
    pod_environment,
    readiness_probe,
)

__all__ = [
    "APPLICATION_LABEL",
    "APPLICATION_VALUE",
    "CLUSTER_LABEL",
    "CONFIGURATION_VARIABLE",
    "DATA_PATH",
    "LOOP_SECONDS",
    "POD_RULES",
    "POSTGRES_PORT",
    "PRIMARY",
    "REPLICA",
    "REST_PORT",
    "ROLE_LABEL",
    "Member",
    "Patroni",
    "PatroniError",
    "PatroniRefused",
    "PatroniUnreachable",
    "clone_environment",
    "configuration",
    "pod_environment",
    "readiness_probe",
]
