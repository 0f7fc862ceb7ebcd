"""Names, labels and numbers that the objects of a cluster share."""

import kubewright as kw
from postgres_operator.kinds import GROUP, Configuration, Postgresql
from postgres_operator.patroni import APPLICATION_LABEL, APPLICATION_VALUE, CLUSTER_LABEL

OURS = {APPLICATION_LABEL: APPLICATION_VALUE}
"""The label of everything that belongs to a cluster."""
VOLUME = "pgdata"
DATA_SECRETS = f"*.data.credentials.postgresql.{GROUP}"
"""The names of the Secrets that belong to volumes, as a pattern."""
CLUSTER_INDEX = "cluster"
"""The index of pods and claims by the name of their cluster: a namespace may have thousands of them."""


def selector_of(cluster: Postgresql) -> dict[str, str]:
    """Returns the labels that select the pods of a cluster. They never change."""
    return {**OURS, CLUSTER_LABEL: cluster.metadata.name}


def labels_of(cluster: Postgresql) -> dict[str, str]:
    """Returns the labels of the objects of a cluster."""
    return {**selector_of(cluster), "team": cluster.spec.team_id}


def cluster_of(child: kw.Object) -> list[kw.ObjectKey]:
    """Returns the cluster of a pod or claim, from its labels."""
    name = child.metadata.labels.get(CLUSTER_LABEL)
    return [kw.ObjectKey(child.metadata.namespace, name)] if name else []


def cluster_name_of(child: kw.Object) -> str | None:
    """Returns the name of the cluster of a pod or claim, for the index."""
    return child.metadata.labels.get(CLUSTER_LABEL)


def instances_of(cluster: Postgresql, config: Configuration) -> int:
    """Returns the number of instances within the limits of the configuration. A stopped cluster stays stopped."""
    wanted = cluster.spec.number_of_instances
    if wanted == 0:
        return 0
    if config.min_instances > 0:
        wanted = max(wanted, config.min_instances)
    return min(wanted, config.max_instances) if config.max_instances > 0 else wanted


def secret_name(user: str, cluster: str) -> str:
    """Returns the name of the Secret of a user of a cluster."""
    return f"{user.replace('_', '-')}.{cluster}.credentials.postgresql.{GROUP}"


def data_secret_name(cluster: Postgresql) -> str:
    """Returns the name of the Secret that belongs to the volumes: it is kept as long as they are."""
    return DATA_SECRETS.replace("*", cluster.metadata.name)


def account_name(cluster: Postgresql, config: Configuration) -> str:
    """Returns the name of the service account of the pods."""
    return f"{config.kubernetes.pod_service_account_name}-{cluster.metadata.name}"


def claim_name(pod: str) -> str:
    """Returns the name of a pod's claim."""
    return f"{VOLUME}-{pod}"


def ordinal_of(pod: str) -> int:
    """Returns the number at the end of a pod's name."""
    return int(pod.rpartition("-")[2])
