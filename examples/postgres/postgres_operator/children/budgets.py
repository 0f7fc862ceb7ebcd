"""The PodDisruptionBudget: a drain of nodes waits until the primary has moved."""

from kubewright.api import meta, policy
from postgres_operator.children.names import instances_of, labels_of, selector_of
from postgres_operator.kinds import Configuration, Postgresql
from postgres_operator.patroni import PRIMARY, ROLE_LABEL


def budget_of(cluster: Postgresql, config: Configuration) -> policy.PodDisruptionBudget:
    """Returns the budget of a cluster, which protects its primary. It allows everything if it is disabled."""
    protected = config.kubernetes.enable_pod_disruption_budget and instances_of(cluster, config) > 0
    name = config.kubernetes.pdb_name_format.replace("{cluster}", cluster.metadata.name)
    return policy.PodDisruptionBudget(
        metadata=meta.ObjectMeta(name=name, labels=labels_of(cluster)),
        spec=policy.PodDisruptionBudgetSpec(
            min_available=1 if protected else 0,
            selector=meta.LabelSelector(match_labels={**selector_of(cluster), ROLE_LABEL: PRIMARY}),
        ),
    )
