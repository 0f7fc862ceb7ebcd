"""Deployments: one ReplicaSet for each template; rollouts move pods from the old ones to the newest."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import kubewright as kw
from kubewright.api import apps, core, meta, to_dict
from kubewright.cache import OWNER_INDEX, ObjectKey
from kubewright.client import AlreadyExists, MergePatch
from kubewright.cluster.workloads import _progress as progress
from kubewright.cluster.workloads._hashes import POD_TEMPLATE_HASH, hash_of, same_template
from kubewright.cluster.workloads._pods import claimed, has_ended, orphans, selector_of
from kubewright.cluster.workloads._rollouts import (
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    REVISION,
    available_of,
    bounds_of,
    is_rolling,
    new_size,
    proportional_sizes,
    replicas_of,
    revision_of,
    state_of,
    template_of,
    total,
)
from kubewright.cluster.workloads._statuses import moment, write_status
from kubewright.controller import Reader

__all__ = ["register"]

Sets = Sequence[apps.ReplicaSet]

_DEFAULT_HISTORY = 10
_HISTORY = "deployment.kubernetes.io/revision-history"
# Annotations that are not copied from a Deployment to its ReplicaSets.
_OWN_ANNOTATIONS = (
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    _HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    "deprecated.deployment.rollback.to",
)


def register(operator: kw.Operator) -> None:
    """Registers the controller of Deployments."""
    watch_orphans = orphans(operator, apps.ReplicaSet, apps.Deployment, lambda deployment: deployment.spec.selector)
    watch_pods = kw.Watch(core.Pod, map=_deployment_of, when=lambda change: change.new is None)
    operator.reconciles(apps.Deployment, owns=[apps.ReplicaSet], watches=[watch_orphans, watch_pods])(sync)


def _deployment_of(pod: core.Pod, reader: Reader) -> list[ObjectKey]:
    """Returns the Deployment of a deleted pod: with the strategy Recreate, it waits until its old pods are gone."""
    for owner in pod.metadata.owner_references:
        if owner.kind == "ReplicaSet" and (found := reader.read(apps.ReplicaSet, owner.name, pod.metadata.namespace)):
            return [
                ObjectKey(pod.metadata.namespace, each.name)
                for each in found.metadata.owner_references
                if each.kind == "Deployment"
            ]
    return []


async def sync(deployment: apps.Deployment, ctx: kw.Context[apps.Deployment]) -> kw.Result | None:
    """Performs one step of the rollout or of scaling, and writes the status."""
    return await Rollout(deployment, ctx).step()


class Rollout:
    """One reconciliation of a Deployment. `new` has its template, `old` former ones."""

    def __init__(self, deployment: apps.Deployment, ctx: kw.Context[apps.Deployment]) -> None:
        self.deployment = deployment
        self.ctx = ctx
        self.new: apps.ReplicaSet | None = None
        self.old: list[apps.ReplicaSet] = []
        self.revision: str | None = None

    @property
    def all(self) -> list[apps.ReplicaSet]:
        """Returns all ReplicaSets of the Deployment."""
        return [*self.old, *([self.new] if self.new is not None else [])]

    async def step(self) -> kw.Result | None:
        """Finds the ReplicaSets and performs the next step."""
        deployment = self.deployment
        found = await claimed(self.ctx, apps.ReplicaSet, selector_of(deployment.spec.selector))
        found.sort(key=lambda each: (each.metadata.creation_timestamp or moment(self.ctx), each.metadata.name))
        template = deployment.spec.template
        self.new = next((each for each in found if same_template(template_of(each), template)), None)
        self.old = [each for each in found if each is not self.new]
        status = progress.pause_conditions(deployment, moment(self.ctx))
        if deployment.spec.paused or self._was_scaled(found):
            await self._adopt_new(create=False)
            await self._scale()
            if deployment.spec.paused:
                await self._clean_up()
            await self._write_status(progress.replica_status(deployment, self.all, self.new, status, moment(self.ctx)))
            return None
        if is_rolling(deployment):
            await self._adopt_new(create=True)
            if not await self._resize_new():
                await self._shrink_old()
        else:
            await self._adopt_new(create=False)
            await self._recreate()
        if progress.is_complete(deployment, deployment.status):
            await self._clean_up()
        made = progress.rollout_status(deployment, self.all, self.new, status, moment(self.ctx), created=self._is_new)
        await self._write_status(made)
        return progress.next_deadline_check(deployment, made, self.ctx.clock.now())

    def _was_scaled(self, found: Sets) -> bool:
        wanted = str(replicas_of(self.deployment))
        return any(
            each.metadata.annotations.get(DESIRED_REPLICAS, wanted) != wanted for each in found if replicas_of(each)
        )

    # The newest ReplicaSet

    async def _adopt_new(self, *, create: bool) -> None:
        """Finds or creates the newest ReplicaSet, with the annotations and revision of the Deployment."""
        revision = max(map(revision_of, self.old), default=0) + 1
        if self.new is not None:
            before, annotations = revision_of(self.new), self.new.metadata.annotations
            revision = max(revision, before)
            if before and before < revision:
                annotations[_HISTORY] = ",".join(filter(None, [annotations.get(_HISTORY), str(before)]))
            annotations.update(self._annotations(revision, replicas=False))
            self.new.spec.min_ready_seconds = self.deployment.spec.min_ready_seconds
            self.new = await self.ctx.update(self.new)
        elif create:
            await self._create(revision)
        if self.new is not None:
            self.revision = str(revision)

    async def _write_status(self, status: apps.DeploymentStatus) -> None:
        """Writes the status and then the revision: until the revision is written, its ReplicaSet counts as new."""
        await write_status(self.ctx, status)
        if self.revision in (None, self.deployment.metadata.annotations.get(REVISION)):
            return
        # Through the status, like the real controller, so that the generation stays the same.
        note = MergePatch({"metadata": {"annotations": {REVISION: self.revision}}})
        await self.ctx.client.patch(
            apps.Deployment, self.ctx.key.name, note, self.ctx.key.namespace, subresource="status"
        )

    @property
    def _is_new(self) -> bool:
        """Returns whether the newest ReplicaSet is not in the status yet, and is not a rollback to an old one."""
        reported = self.revision == self.deployment.metadata.annotations.get(REVISION)
        return not reported and self.new is not None and _HISTORY not in self.new.metadata.annotations

    def _annotations(self, revision: int, *, replicas: bool = True) -> dict[str, str]:
        given = self.deployment.metadata.annotations
        made = {name: value for name, value in given.items() if name not in _OWN_ANNOTATIONS}
        return made | {REVISION: str(revision)} | (self._sizes() if replicas else {})

    def _sizes(self) -> dict[str, str]:
        wanted = replicas_of(self.deployment)
        return {DESIRED_REPLICAS: str(wanted), MAX_REPLICAS: str(wanted + bounds_of(self.deployment)[0])}

    async def _create(self, revision: int) -> None:
        deployment, spec = self.deployment, self.deployment.spec
        collisions = deployment.status.collision_count
        label = hash_of(to_dict(spec.template), collisions)
        template = copy.deepcopy(spec.template)
        template.metadata.labels[POD_TEMPLATE_HASH] = label
        selector = copy.deepcopy(spec.selector)
        selector.match_labels = {**(selector.match_labels or {}), POD_TEMPLATE_HASH: label}
        wanted = apps.ReplicaSet(
            metadata=meta.ObjectMeta(
                name=f"{deployment.metadata.name}-{label}",
                labels=dict(template.metadata.labels),
                annotations=self._annotations(revision),
            ),
            spec=apps.ReplicaSetSpec(
                replicas=new_size(deployment, None, self.old),
                min_ready_seconds=spec.min_ready_seconds,
                selector=selector,
                template=template,
            ),
        )
        try:
            self.new = await self.ctx.create(wanted)
        except AlreadyExists:
            # The name is taken, or another template has the same hash. The next reconciliation uses another name.
            deployment.status.collision_count = (collisions or 0) + 1
            return
        if size := replicas_of(self.new):
            self._record_size(self.new, 0, size)

    # Sizes

    async def _resize_new(self) -> bool:
        """Scales the newest ReplicaSet. Returns whether it changed."""
        if self.new is None or replicas_of(self.new) == replicas_of(self.deployment):
            return False
        if replicas_of(self.new) > replicas_of(self.deployment):
            return await self._resize(self.new, replicas_of(self.deployment))
        return await self._resize(self.new, new_size(self.deployment, self.new, self.all))

    async def _shrink_old(self) -> None:
        """Scales down old ReplicaSets as far as availability allows: unhealthy pods first, then the rest."""
        new = self.new
        if new is None or not total(self.old):
            return
        least = replicas_of(self.deployment) - bounds_of(self.deployment)[1]
        new_missing = replicas_of(new) - available_of(new)
        spare = total(self.all) - least - new_missing
        if spare <= 0:  # by desired size: pods that count as available may be terminating
            return
        for each in self.old:
            broken = replicas_of(each) - available_of(each)
            down = min(spare, broken)
            if down > 0:
                spare -= down
                await self._resize(each, replicas_of(each) - down)
        available = sum(map(available_of, self.all))
        spare = available - least
        for each in self.old:
            down = min(spare, replicas_of(each))
            if down > 0:
                spare -= down
                await self._resize(each, replicas_of(each) - down)

    async def _recreate(self) -> None:
        """Waits until all old pods are gone, then creates the new ones."""
        for each in self.old:
            if replicas_of(each):
                await self._resize(each, 0)
                return
        for each in self.old:
            pods = self.ctx.by_index(core.Pod, OWNER_INDEX, each.metadata.uid, namespace=self.ctx.key.namespace)
            if not all(map(has_ended, pods)):
                return
        if self.new is None:
            await self._adopt_new(create=True)
        else:
            await self._resize(self.new, replicas_of(self.deployment))

    async def _scale(self) -> None:
        """Scales a Deployment during a rollout, or one that is complete or paused."""
        active = [each for each in self.all if replicas_of(each)]
        if len(active) <= 1:
            one = active[0] if active else self.new or (self.old[-1] if self.old else None)
            if one is not None:
                await self._resize(one, replicas_of(self.deployment))
            return
        if self.new is not None and self._is_saturated(self.new):
            for each in self.old:
                await self._resize(each, 0)
        elif is_rolling(self.deployment):
            sizes = proportional_sizes(self.deployment, active)
            for each in active:
                await self._resize(each, sizes[each.metadata.name])

    def _is_saturated(self, new: apps.ReplicaSet) -> bool:
        wanted = replicas_of(self.deployment)
        reported = new.metadata.annotations.get(DESIRED_REPLICAS) == str(wanted)
        return reported and replicas_of(new) == wanted and available_of(new) == wanted

    async def _resize(self, replica_set: apps.ReplicaSet, size: int) -> bool:
        before = replicas_of(replica_set)
        replica_set.spec.replicas = size
        replica_set.metadata.annotations.update(self._sizes())
        written = await self.ctx.update(replica_set)
        if replica_set is self.new:
            self.new = written
        else:
            self.old = [written if each is replica_set else each for each in self.old]
        if size != before:
            self._record_size(written, before, size)
        return size != before

    def _record_size(self, replica_set: apps.ReplicaSet, before: int, after: int) -> None:
        way = "up" if after > before else "down"
        name = replica_set.metadata.name
        self.ctx.record("ScalingReplicaSet", f"Scaled {way} replica set {name} from {before} to {after}")

    async def _clean_up(self) -> None:
        """Deletes the oldest empty ReplicaSets beyond the revision history limit."""
        limit = self.deployment.spec.revision_history_limit
        surplus = len(self.old) - (_DEFAULT_HISTORY if limit is None else limit)
        for each in sorted(self.old, key=revision_of)[: max(surplus, 0)]:
            seen = (state_of(each).observed_generation or 0) >= each.metadata.generation
            if seen and not state_of(each).replicas and not replicas_of(each):
                await self.ctx.delete(each)
