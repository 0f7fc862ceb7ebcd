"""StatefulSets: pods with stable names and claims, created and replaced in order."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence

import kubewright as kw
from kubewright.api import add_owner, apps, core, meta, remove_owner, scaled_value, set_controller
from kubewright.client import AlreadyExists
from kubewright.cluster.workloads._pods import (
    claimed,
    earliest,
    has_ended,
    is_available,
    is_ready,
    orphans,
    pod_from,
    selector_of,
    stop,
    until_available,
)
from kubewright.cluster.workloads._revisions import POD_REVISION, newest_revision, revisions_of, template_in, truncate
from kubewright.cluster.workloads._rollouts import replicas_of
from kubewright.cluster.workloads._statuses import moment, write_status

__all__ = ["register"]

_HASH = "controller.kubernetes.io/hash"
_POD_NAME = "statefulset.kubernetes.io/pod-name"
_POD_INDEX = "apps.kubernetes.io/pod-index"
_ORDINAL = re.compile(r"(.*)-([0-9]+)")


def register(operator: kw.Operator) -> None:
    """Registers the controller of StatefulSets."""
    watch_orphans = orphans(operator, core.Pod, apps.StatefulSet, lambda stateful_set: stateful_set.spec.selector)
    reads = [core.PersistentVolumeClaim]
    operator.reconciles(
        apps.StatefulSet, owns=[core.Pod, apps.ControllerRevision], watches=[watch_orphans], reads=reads
    )(sync)


async def sync(stateful_set: apps.StatefulSet, ctx: kw.Context[apps.StatefulSet]) -> kw.Result | None:
    """Performs the next step towards the desired pods, and writes the status."""
    known = await revisions_of(ctx, stateful_set)
    update = await newest_revision(ctx, stateful_set, known, _HASH)
    name = stateful_set.status.current_revision if stateful_set.status is not None else None
    current = next((each for each in known if each.metadata.name == name), update)
    selector = selector_of(stateful_set.spec.selector)
    found = await claimed(ctx, core.Pod, selector, lambda pod: _ordinal(stateful_set, pod) is not None)
    step = Step(stateful_set, ctx, current, update, found)
    await step.act()
    pods = [pod for pod in ctx.owned(core.Pod) if _ordinal(stateful_set, pod) is not None]
    await write_status(ctx, step.status(pods))
    live = {current.metadata.name, update.metadata.name, *(pod.metadata.labels.get(POD_REVISION, "") for pod in pods)}
    await truncate(ctx, known, stateful_set.spec.revision_history_limit, live)
    wait, now = stateful_set.spec.min_ready_seconds or 0, ctx.clock.now()
    after = earliest(until_available(pod, wait, now) for pod in pods)
    return None if after is None else kw.Result(requeue_after=after)


def _ordinal(stateful_set: apps.StatefulSet, pod: core.Pod) -> int | None:
    """Returns the ordinal of a pod; None for a pod that does not belong to the set."""
    match = _ORDINAL.fullmatch(pod.metadata.name)
    return int(match[2]) if match is not None and match[1] == stateful_set.metadata.name else None


class Step:
    """One reconciliation of a StatefulSet."""

    def __init__(
        self,
        stateful_set: apps.StatefulSet,
        ctx: kw.Context[apps.StatefulSet],
        current: apps.ControllerRevision,
        update: apps.ControllerRevision,
        pods: Sequence[core.Pod],
    ) -> None:
        self.set = stateful_set
        self.ctx = ctx
        self.current = current
        self.update = update
        spec = stateful_set.spec
        self.in_order = spec.pod_management_policy != "Parallel"
        first = spec.ordinals.start or 0 if spec.ordinals is not None else 0
        self.wanted = range(first, first + replicas_of(stateful_set))
        numbered = {_ordinal(stateful_set, pod): pod for pod in pods}
        self.pods = {number: pod for number, pod in numbered.items() if number is not None}
        strategy = spec.update_strategy
        self.on_delete = strategy is not None and strategy.type == "OnDelete"
        rolling = strategy.rolling_update if strategy is not None else None
        self.partition = first + (rolling.partition or 0 if rolling is not None else 0)
        missing = rolling.max_unavailable if rolling is not None else None
        self.may_miss = max(scaled_value(missing, len(self.wanted), round_up=True), 1) if missing is not None else 1

    async def act(self) -> None:
        """Creates missing pods, then deletes surplus ones, then replaces outdated ones."""
        if await self._filled() and await self._shrunk() and not self.on_delete:
            await self._replace()

    def _is_healthy(self, pod: core.Pod) -> bool:
        if pod.metadata.deletion_timestamp is not None or pod.status.phase != "Running":
            return False
        return is_available(pod, self.set.spec.min_ready_seconds or 0, self.ctx.clock.now())

    async def _filled(self) -> bool:
        """Returns whether every desired pod exists and, with ordered management, is healthy."""
        for number in self.wanted:
            pod = self.pods.get(number)
            if pod is not None and has_ended(pod) and pod.metadata.deletion_timestamp is None:
                await self._delete(pod)
                return False
            if pod is None:
                await self._create(number)
                if self.in_order:
                    return False
            elif self.in_order and not self._is_healthy(pod):
                return False
        return True

    async def _shrunk(self) -> bool:
        """Returns whether no surplus pod exists. Deletes the highest ordinals first."""
        surplus = sorted((number for number in self.pods if number not in self.wanted), reverse=True)
        first_ill = next((n for n in sorted(self.pods) if not self._is_healthy(self.pods[n])), None)
        for number in surplus:
            pod = self.pods[number]
            if pod.metadata.deletion_timestamp is None:
                if self.in_order and not self._is_healthy(pod) and number != first_ill:
                    return False
                await self._own_claims(pod, number)
                await self._delete(pod)
            if self.in_order:
                return False
        return not surplus

    async def _replace(self) -> None:
        """Deletes outdated pods, the highest ordinals first, within maxUnavailable."""
        left = self.may_miss
        for number in reversed(self.wanted):
            if number < self.partition or left <= 0:
                return
            pod = self.pods.get(number)
            if pod is None:
                left -= 1
            elif self._revision(pod) != self.update.metadata.name and pod.metadata.deletion_timestamp is None:
                await self._delete(pod)
                left -= 1
            elif not self._is_healthy(pod):
                left -= 1

    # Pods and claims

    def _revision(self, pod: core.Pod) -> str:
        return pod.metadata.labels.get(POD_REVISION, "")

    async def _create(self, number: int) -> None:
        revision = self.current if not self.on_delete and number < self.partition else self.update
        pod = pod_from(template_in(revision), name=f"{self.set.metadata.name}-{number}")
        name = pod.metadata.name
        pod.metadata.generate_name = f"{self.set.metadata.name}-"
        pod.metadata.labels |= {POD_REVISION: revision.metadata.name, _POD_NAME: name, _POD_INDEX: str(number)}
        pod.spec.hostname, pod.spec.subdomain = name, self.set.spec.service_name or None
        claims = {template.metadata.name: template for template in self.set.spec.volume_claim_templates or ()}
        for claim in claims.values():
            await self._claim(claim, number, name)
        volumes = [
            core.Volume(
                name=volume,
                persistent_volume_claim=core.PersistentVolumeClaimVolumeSource(claim_name=f"{volume}-{name}"),
            )
            for volume in claims
        ]
        others = [volume for volume in pod.spec.volumes or () if volume.name not in claims]
        pod.spec.volumes = [*volumes, *others] or None
        self.pods[number] = await self.ctx.create(pod)
        self.ctx.record("SuccessfulCreate", f"create Pod {name} in StatefulSet {self.set.metadata.name} successful")

    async def _claim(self, template: core.PersistentVolumeClaim, number: int, pod: str) -> None:
        name, owner = f"{template.metadata.name}-{pod}", self.set.metadata.name
        if self.ctx.get(core.PersistentVolumeClaim, name) is not None:
            return
        claim = core.PersistentVolumeClaim(
            metadata=meta.ObjectMeta(
                name=name,
                namespace=self.set.metadata.namespace,
                labels={**template.metadata.labels, **(self.set.spec.selector.match_labels or {})},
                annotations=dict(template.metadata.annotations),
            ),
            spec=copy.deepcopy(template.spec),
        )
        policy = self.set.spec.persistent_volume_claim_retention_policy
        if policy is not None and policy.when_deleted == "Delete":
            set_controller(claim, owner=self.set)
        try:
            await self.ctx.create(claim, owned=False)
        except AlreadyExists:
            return
        self.ctx.record("SuccessfulCreate", f"create Claim {name} Pod {pod} in StatefulSet {owner} success")

    async def _own_claims(self, pod: core.Pod, number: int) -> None:
        """Makes the pod the owner of its claims before its deletion, if the retention policy deletes them."""
        policy = self.set.spec.persistent_volume_claim_retention_policy
        if policy is None or policy.when_scaled != "Delete":
            return
        for template in self.set.spec.volume_claim_templates or ():
            claim = self.ctx.get(core.PersistentVolumeClaim, f"{template.metadata.name}-{pod.metadata.name}")
            if claim is not None:
                remove_owner(claim, owner=self.set)  # it would keep the claim
                add_owner(claim, owner=pod)
                await self.ctx.update(claim)

    async def _delete(self, pod: core.Pod) -> None:
        await stop(self.ctx, pod)
        text = f"delete Pod {pod.metadata.name} in StatefulSet {self.set.metadata.name} successful"
        self.ctx.record("SuccessfulDelete", text)

    # Status

    def status(self, pods: Sequence[core.Pod]) -> apps.StatefulSetStatus:
        """Returns the current status."""
        now, minimum = moment(self.ctx), self.set.spec.min_ready_seconds or 0
        staying = [pod for pod in pods if pod.metadata.deletion_timestamp is None]
        running = [pod for pod in pods if pod.status.phase == "Running" and is_ready(pod)]
        current, update = self.current.metadata.name, self.update.metadata.name
        before = self.set.status
        status = apps.StatefulSetStatus(
            observed_generation=self.set.metadata.generation,
            replicas=len(pods),
            ready_replicas=len(running) or None,
            available_replicas=sum(is_available(pod, minimum, now) for pod in running),
            current_replicas=sum(self._revision(pod) == current for pod in staying) or None,
            updated_replicas=sum(self._revision(pod) == update for pod in staying) or None,
            current_revision=current,
            update_revision=update,
            collision_count=(before.collision_count if before is not None else None) or 0,
            conditions=before.conditions if before is not None else None,
        )
        wanted = len(self.wanted)
        settled = (status.updated_replicas or 0, status.ready_replicas or 0, status.replicas) == (wanted,) * 3
        if not self.on_delete and settled:
            status.current_replicas, status.current_revision = status.updated_replicas, update
        return status
