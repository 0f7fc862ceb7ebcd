"""Removes the finalizer of pods whose Job is gone or finished."""

from __future__ import annotations

import kubewright as kw
from kubewright.api import batch, controller_of, core, is_controlled_by
from kubewright.cache import OWNER_INDEX, ObjectKey
from kubewright.cluster.workloads._jobs import TRACKING
from kubewright.controller import Reader

__all__ = ["register"]


def register(operator: kw.Operator) -> None:
    """Registers the controller of orphaned Job pods."""

    def pods_of(job: batch.Job, reader: Reader) -> list[ObjectKey]:
        pods = reader.by_index(core.Pod, OWNER_INDEX, job.metadata.uid, job.metadata.namespace)
        return [ObjectKey.of(pod) for pod in pods if is_controlled_by(pod, job)]

    watch = kw.Watch(batch.Job, map=pods_of, when=lambda change: change.new is None or change.new.deleting)
    operator.reconciles(core.Pod, watches=[watch], name="job-tracking")(release)


async def release(key: ObjectKey, ctx: kw.Context[core.Pod]) -> None:
    """Removes the finalizer of a pod that no Job will count."""
    pod = ctx.get(core.Pod, key.name)
    if pod is None or TRACKING not in pod.metadata.finalizers:
        return
    owner = controller_of(pod)
    job = ctx.get(batch.Job, owner.name) if owner is not None and owner.kind == "Job" else None
    if job is not None and owner is not None and job.metadata.uid == owner.uid:
        finished = any(each.type in ("Complete", "Failed") for each in job.status.conditions or ())
        if job.metadata.deletion_timestamp is None and not finished:
            return
    pod.metadata.finalizers.remove(TRACKING)
    await ctx.update(pod)
