"""The objects of a cluster, as pure functions of its spec and the configuration.

The StatefulSet also depends on the one that exists: its claim template and Patroni's first configuration never change.
Secrets have random content, so `steps.secrets` creates them.
"""

from postgres_operator.children.accounts import PATRONI_RULES, account_of, role_binding_of, role_of
from postgres_operator.children.budgets import budget_of
from postgres_operator.children.environment import environment_of
from postgres_operator.children.names import (
    CLUSTER_INDEX,
    DATA_SECRETS,
    OURS,
    account_name,
    claim_name,
    cluster_name_of,
    cluster_of,
    data_secret_name,
    instances_of,
    labels_of,
    ordinal_of,
    secret_name,
    selector_of,
)
from postgres_operator.children.secrets import data_secret, user_secret
from postgres_operator.children.services import config_service_of, master_service_of, replica_service_of
from postgres_operator.children.stateful_sets import CONTAINER, stateful_set

__all__ = [
    "CLUSTER_INDEX",
    "CONTAINER",
    "DATA_SECRETS",
    "OURS",
    "PATRONI_RULES",
    "account_name",
    "account_of",
    "budget_of",
    "claim_name",
    "cluster_name_of",
    "cluster_of",
    "config_service_of",
    "data_secret",
    "data_secret_name",
    "environment_of",
    "instances_of",
    "labels_of",
    "master_service_of",
    "ordinal_of",
    "replica_service_of",
    "role_binding_of",
    "role_of",
    "secret_name",
    "selector_of",
    "stateful_set",
    "user_secret",
]
