"""ControllerRevisions: the template history of StatefulSets and DaemonSets."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import kubewright as kw
from kubewright.api import apps, core, from_dict, meta, to_dict
from kubewright.client import AlreadyExists
from kubewright.cluster.workloads._hashes import hash_of
from kubewright.cluster.workloads._pods import claimed, selector_of

__all__ = ["POD_REVISION", "newest_revision", "revisions_of", "template_in", "truncate"]

POD_REVISION = "controller-revision-hash"

_DEFAULT_HISTORY = 10

Owner = apps.StatefulSet | apps.DaemonSet


async def revisions_of(ctx: kw.Context[Any], owner: Owner) -> list[apps.ControllerRevision]:
    """Returns the revisions of the reconciled object, the oldest first; adopts orphaned ones."""
    found = await claimed(ctx, apps.ControllerRevision, selector_of(owner.spec.selector))
    return sorted(found, key=lambda each: (each.revision, each.metadata.name))


async def newest_revision(
    ctx: kw.Context[Any], owner: Owner, known: list[apps.ControllerRevision], hash_label: str
) -> apps.ControllerRevision:
    """Returns the revision of the current template: a new one, or an old one that becomes the newest."""
    data = {"spec": {"template": {**to_dict(owner.spec.template), "$patch": "replace"}}}
    equal = [each for each in known if each.data == data]
    following = known[-1].revision + 1 if known else 1
    if equal and equal[-1] is known[-1]:
        return known[-1]
    if equal:
        equal[-1].revision = following
        return await ctx.update(equal[-1])
    collisions = (owner.status.collision_count if owner.status is not None else None) or 0
    while True:
        name = hash_of(data, collisions)
        made = apps.ControllerRevision(
            metadata=meta.ObjectMeta(
                name=f"{owner.metadata.name}-{name}",
                labels={**owner.spec.template.metadata.labels, hash_label: name},
                annotations=dict(owner.metadata.annotations),
            ),
            data=data,
            revision=following,
        )
        try:
            return await ctx.create(made)
        except AlreadyExists:
            collisions += 1  # the name is taken


def template_in(revision: apps.ControllerRevision) -> core.PodTemplateSpec:
    """Returns the template of a revision."""
    data: Any = revision.data
    template = {name: value for name, value in data["spec"]["template"].items() if name != "$patch"}
    return from_dict(core.PodTemplateSpec, template)


async def truncate(
    ctx: kw.Context[Any], known: list[apps.ControllerRevision], limit: int | None, live: Collection[str]
) -> None:
    """Deletes the oldest unused revisions; `live` names the used ones."""
    unused = [each for each in known if each.metadata.name not in live]
    surplus = len(unused) - (_DEFAULT_HISTORY if limit is None else limit)
    for each in unused[: max(surplus, 0)]:
        await ctx.delete(each)
