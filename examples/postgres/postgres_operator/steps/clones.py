"""A clone starts with the data of another cluster. Patroni copies it when it creates the first instance."""

import kubewright as kw
from kubewright.api import apps
from postgres_operator.kinds import Clone, Postgresql
from postgres_operator.steps.volumes import claims_of, data_version


class CloneImpossible(Exception):
    """A cluster cannot start with the data that its spec names. The message contains the reason and the fix."""


def check_clone(cluster: Postgresql, ctx: kw.Context[Postgresql]) -> str | None:
    """Returns what a clone waits for before its first instance is created. Raises `CloneImpossible`.

    A cluster that has data is not checked: it needs the other cluster no longer.
    """
    clone, claims = cluster.spec.clone, claims_of(cluster, ctx)
    if clone is None or ctx.get(apps.StatefulSet, cluster.metadata.name) is not None:
        return None
    if claims:
        created = cluster.metadata.creation_timestamp
        times = {one.metadata.name: one.metadata.creation_timestamp for one in claims}
        if old := [name for name, made in times.items() if created and made and made < created]:
            raise CloneImpossible(
                f"volume {old[0]} has the data of an earlier cluster of this name; delete it to clone {clone.cluster}, "
                "or remove spec.clone to use it"
            )
        return None
    source = _source(cluster, clone, ctx)
    if source.status.primary is None:
        return f"cluster {clone.cluster}, which is cloned, has no primary"
    return None


def _source(cluster: Postgresql, clone: Clone, ctx: kw.Context[Postgresql]) -> Postgresql:
    source = ctx.get(Postgresql, clone.cluster)
    if source is None:
        raise CloneImpossible(
            f"spec.clone.cluster is {clone.cluster}, but namespace {cluster.metadata.namespace} has no such cluster"
        )
    if clone.uid is not None and clone.uid != source.metadata.uid:
        raise CloneImpossible(
            f"spec.clone.uid is {clone.uid}, but cluster {clone.cluster} has the uid {source.metadata.uid}; "
            "correct or remove it"
        )
    version = data_version(source, ctx)
    if version != cluster.spec.postgresql.version:
        raise CloneImpossible(
            f"spec.postgresql.version is {cluster.spec.postgresql.version}, but cluster {clone.cluster} has version "
            f"{version}; a copy of its data needs the same one"
        )
    return source
