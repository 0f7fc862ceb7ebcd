"""Finds the OperatorConfiguration of this operator in the cache, so that a change takes effect without a restart."""

import os

import kubewright as kw
from postgres_operator.kinds import CONFIGURATION_NAME, Configuration, OperatorConfiguration, Postgresql

VARIABLE = "POSTGRES_OPERATOR_CONFIGURATION_OBJECT"
"""The environment variable with `name` or `namespace/name` of the OperatorConfiguration."""


def is_ours(found: OperatorConfiguration) -> bool:
    """Returns whether an OperatorConfiguration is the one of this operator.

    The namespace counts where it is known, so that users of other namespaces cannot configure the operator.
    """
    namespace, _, name = os.environ.get(VARIABLE, CONFIGURATION_NAME).rpartition("/")
    namespace = namespace or os.environ.get("POD_NAMESPACE", "")
    return found.metadata.name == name and namespace in ("", found.metadata.namespace)


def configuration_of(ctx: kw.Context[Postgresql]) -> Configuration:
    """Returns the configuration; the defaults if there is none."""
    for found in ctx.list(OperatorConfiguration):
        if is_ours(found):
            return found.configuration
    return Configuration()


def clusters_of(changed: OperatorConfiguration, reader: kw.Reader) -> list[kw.ObjectKey]:
    """Returns the clusters that a change of the configuration affects: all of them."""
    return [kw.ObjectKey.of(cluster) for cluster in reader.list(Postgresql)] if is_ours(changed) else []
