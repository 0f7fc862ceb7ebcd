"""DaemonSets: one pod on each suitable node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import kubewright as kw
from kubewright.api import apps, core, scaled_value
from kubewright.cache import ObjectKey
from kubewright.cluster.workloads._placing import affinity_to, node_of, tolerations_of, verdict
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
from kubewright.cluster.workloads._revisions import POD_REVISION, newest_revision, revisions_of, truncate
from kubewright.cluster.workloads._statuses import moment, write_status
from kubewright.controller import Reader

__all__ = ["register"]

_GENERATION_ANNOTATION = "deprecated.daemonset.template.generation"
_GENERATION_LABEL = "pod-template-generation"


def register(operator: kw.Operator) -> None:
    """Registers the controller of DaemonSets."""

    def everyone(node: core.Node, reader: Reader) -> list[ObjectKey]:
        return [ObjectKey.of(each) for each in reader.list(apps.DaemonSet)]

    watches: list[kw.Watch[Any]] = [
        orphans(operator, core.Pod, apps.DaemonSet, lambda daemon_set: daemon_set.spec.selector),
        kw.Watch(core.Node, map=everyone),
    ]
    operator.reconciles(apps.DaemonSet, owns=[core.Pod, apps.ControllerRevision], watches=watches)(sync)


async def sync(daemon_set: apps.DaemonSet, ctx: kw.Context[apps.DaemonSet]) -> kw.Result | None:
    """Creates missing pods, deletes extra ones, replaces outdated ones, and writes the status."""
    known = await revisions_of(ctx, daemon_set)
    newest = await newest_revision(ctx, daemon_set, known, POD_REVISION)
    pods = await claimed(ctx, core.Pod, selector_of(daemon_set.spec.selector))
    step = Step(daemon_set, ctx, newest, ctx.list(core.Node), pods)
    await step.assign()
    await step.replace()
    await write_status(ctx, step.status(ctx.owned(core.Pod)))
    live = {newest.metadata.name}
    live |= {f"{ctx.key.name}-{pod.metadata.labels.get(POD_REVISION, '')}" for pod in pods}
    await truncate(ctx, known, daemon_set.spec.revision_history_limit, live)
    wait, now = daemon_set.spec.min_ready_seconds or 0, ctx.clock.now()
    after = earliest(until_available(pod, wait, now) for pod in pods)
    return None if after is None else kw.Result(requeue_after=after)


@dataclass
class _NodePods:
    """One node from the view of this DaemonSet."""

    node: str
    runs: bool = False
    continues: bool = False
    pods: list[core.Pod] = field(default_factory=list)


class Step:
    """One reconciliation of a DaemonSet."""

    def __init__(
        self,
        daemon_set: apps.DaemonSet,
        ctx: kw.Context[apps.DaemonSet],
        newest: apps.ControllerRevision,
        nodes: Sequence[core.Node],
        pods: Sequence[core.Pod],
    ) -> None:
        self.set = daemon_set
        self.ctx = ctx
        self.hash = newest.metadata.labels.get(POD_REVISION, "")
        self.nodes = nodes
        self.nodes_with_pods = self._node_pods(pods)
        strategy = daemon_set.spec.update_strategy
        self.on_delete = strategy is not None and strategy.type == "OnDelete"
        rolling = strategy.rolling_update if strategy is not None else None
        wanted = sum(node_pods.runs for node_pods in self.nodes_with_pods)
        surge = rolling.max_surge if rolling is not None and rolling.max_surge is not None else 0
        missing = rolling.max_unavailable if rolling is not None and rolling.max_unavailable is not None else 1
        self.surge = scaled_value(surge, wanted, round_up=True)
        self.may_miss = scaled_value(missing, wanted, round_up=True)
        if not self.surge and not self.may_miss:
            self.may_miss = 1

    def _node_pods(self, pods: Sequence[core.Pod]) -> list[_NodePods]:
        by_name = {node.metadata.name: _NodePods(node.metadata.name) for node in self.nodes}
        for node in self.nodes:
            node_pods = by_name[node.metadata.name]
            node_pods.runs, node_pods.continues = verdict(self.set.spec.template, node)
        for pod in sorted(
            pods, key=lambda each: (each.metadata.creation_timestamp or moment(self.ctx), each.metadata.name)
        ):
            name = node_of(pod)
            if name is not None and name in by_name:
                by_name[name].pods.append(pod)
        return list(by_name.values())

    def _is_new(self, pod: core.Pod) -> bool:
        return pod.metadata.labels.get(POD_REVISION) == self.hash

    def _is_available(self, pod: core.Pod) -> bool:
        staying = pod.metadata.deletion_timestamp is None
        return staying and is_available(pod, self.set.spec.min_ready_seconds or 0, self.ctx.clock.now())

    async def assign(self) -> None:
        """Creates pods on suitable nodes and deletes them elsewhere."""
        for node_pods in self.nodes_with_pods:
            staying = [pod for pod in node_pods.pods if pod.metadata.deletion_timestamp is None]
            ended = [pod for pod in staying if has_ended(pod)]
            if not node_pods.continues:
                await self._delete(staying)
            elif ended:
                # The node rejected the pod; the next reconciliation creates another.
                for pod in ended:
                    text = f"Found failed daemon pod {pod.metadata.name} on node {node_pods.node}, will try to kill it"
                    self.ctx.record("FailedDaemonPod", text, "Warning")
                await self._delete(ended)
            elif node_pods.runs and not node_pods.pods:
                await self._create(node_pods)
            elif len(staying) > 1:
                kept = [
                    next(filter(self._is_new, staying), None),
                    next((p for p in staying if not self._is_new(p)), None),
                ]
                surging = self.surge > 0 and all(kept)
                await self._delete([pod for pod in staying if pod not in kept] if surging else staying[1:])

    async def replace(self) -> None:
        """Replaces outdated pods, on as many nodes at a time as allowed."""
        if self.on_delete:
            return
        missing, surging = 0, 0
        ready: list[tuple[_NodePods, core.Pod]] = []
        for node_pods in self.nodes_with_pods:
            staying = [pod for pod in node_pods.pods if pod.metadata.deletion_timestamp is None and not has_ended(pod)]
            new = next((pod for pod in staying if self._is_new(pod)), None)
            old = next((pod for pod in staying if not self._is_new(pod)), None)
            if not node_pods.runs:
                continue
            if old is None:
                missing += new is None or not self._is_available(new)
            elif not self._is_available(old):
                missing += 1
                await self._delete([old])  # it is not available anyway
            elif new is not None:
                surging += 1
                if self._is_available(new):
                    await self._delete([old])
            else:
                ready.append((node_pods, old))
        for node_pods, old in ready:
            if self.surge:
                if surging < self.surge:
                    surging += 1
                    await self._create(node_pods)
            elif missing < self.may_miss:
                missing += 1
                await self._delete([old])

    async def _create(self, node_pods: _NodePods) -> None:
        pod = pod_from(self.set.spec.template, prefix=self.set.metadata.name)
        pod.metadata.labels[POD_REVISION] = self.hash
        if generation := self.set.metadata.annotations.get(_GENERATION_ANNOTATION):
            pod.metadata.labels[_GENERATION_LABEL] = generation
        pod.spec.affinity = affinity_to(pod.spec.affinity, node_pods.node)
        pod.spec.tolerations = tolerations_of(pod.spec)
        made = await self.ctx.create(pod)
        node_pods.pods.append(made)
        self.ctx.record("SuccessfulCreate", f"Created pod: {made.metadata.name}")

    async def _delete(self, pods: Sequence[core.Pod]) -> None:
        for pod in pods:
            await stop(self.ctx, pod)
            self.ctx.record("SuccessfulDelete", f"Deleted pod: {pod.metadata.name}")

    def status(self, pods: Sequence[core.Pod]) -> apps.DaemonSetStatus:
        """Returns the current status."""
        wanted = current = wrong = ready = available = updated = 0
        for node_pods in self._node_pods(pods):
            staying = [pod for pod in node_pods.pods if pod.metadata.deletion_timestamp is None]
            if not node_pods.runs:
                wrong += bool(staying)
                continue
            wanted += 1
            if not staying:
                continue
            current += 1
            ready += any(map(is_ready, staying))
            available += any(map(self._is_available, staying))
            updated += any(map(self._is_new, staying))
        before = self.set.status
        return apps.DaemonSetStatus(
            observed_generation=self.set.metadata.generation,
            desired_number_scheduled=wanted,
            current_number_scheduled=current,
            number_misscheduled=wrong,
            number_ready=ready,
            number_available=available or None,
            number_unavailable=(wanted - available) or None,
            updated_number_scheduled=updated or None,
            collision_count=before.collision_count if before is not None else None,
            conditions=before.conditions if before is not None else None,
        )
