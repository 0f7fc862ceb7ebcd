"""The deletion of a cluster: protected by annotations, and without the loss of its volumes."""

from collections.abc import Mapping
from datetime import datetime

import kubewright as kw
from kubewright.api import apps, core
from postgres_operator.children import data_secret_name, selector_of
from postgres_operator.kinds import Configuration, Postgresql


def missing_annotations(cluster: Postgresql, config: Configuration, now: datetime) -> dict[str, str]:
    """Returns the annotations that a deletion needs and that the cluster does not have, with their values."""
    needed = {
        config.kubernetes.delete_annotation_date_key: now.strftime("%Y-%m-%d"),
        config.kubernetes.delete_annotation_name_key: cluster.metadata.name,
    }
    has: Mapping[str, str] = cluster.metadata.annotations
    return {key: value for key, value in needed.items() if key and has.get(key) != value}


async def remove_cluster(cluster: Postgresql, ctx: kw.Context[Postgresql], config: Configuration) -> bool:
    """Stops the pods, and then removes Patroni's state. Returns whether everything is gone.

    The garbage collector deletes what the cluster owns. The claims stay, and with them the Secret of the data, unless
    the configuration deletes claims.
    """
    stateful_sets = ctx.owned(apps.StatefulSet)
    for stateful_set in stateful_sets:
        if stateful_set.metadata.deletion_timestamp is None:
            await ctx.delete(stateful_set, propagation="Foreground")  # removed after its pods
    if stateful_sets:
        return False
    # Only now: a Patroni that still runs would write its Endpoints again.
    await ctx.client.delete_collection(core.Endpoints, cluster.metadata.namespace, labels=selector_of(cluster))
    if config.kubernetes.persistent_volume_claim_retention_policy.when_deleted == "delete":
        await ctx.delete(core.Secret, data_secret_name(cluster))
    return True
