"""Taints from the conditions of nodes, and the eviction of pods that do not tolerate them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import kubewright as kw
from kubewright.api import core, format_time
from kubewright.cache import ObjectKey
from kubewright.cluster.nodes import toleration_of, write_status

__all__ = ["register", "taints_by_state", "toleration_seconds"]

_PREFIX: Final = "node.kubernetes.io/"
_NO_SCHEDULE, _NO_EXECUTE = "NoSchedule", "NoExecute"
_BY_CONDITION: Final = {
    ("Ready", "False"): "not-ready",
    ("Ready", "Unknown"): "unreachable",
    ("MemoryPressure", "True"): "memory-pressure",
    ("DiskPressure", "True"): "disk-pressure",
    ("NetworkUnavailable", "True"): "network-unavailable",
    ("PIDPressure", "True"): "pid-pressure",
}
_CORDON: Final = "unschedulable"
_OURS: Final = frozenset(_PREFIX + name for name in (*_BY_CONDITION.values(), _CORDON))
_NODE_INDEX: Final = "node"
_INDEFINITELY: Final = float("inf")


def register(operator: kw.Operator) -> None:
    """Registers the controllers of node taints and taint evictions."""

    @operator.indexes(core.Pod, _NODE_INDEX)
    def node_of(pod: core.Pod) -> str | None:
        return pod.spec.node_name or None

    def pods_on(node: core.Node, reader: kw.Reader) -> list[ObjectKey]:
        return [ObjectKey.of(pod) for pod in reader.by_index(core.Pod, _NODE_INDEX, node.metadata.name)]

    operator.reconciles(core.Node, name="node-taints")(taint)
    operator.reconciles(core.Pod, watches=[kw.Watch(core.Node, map=pods_on)], name="taint-evictions")(Evictions)


async def taint(node: core.Node, ctx: kw.Context[core.Node]) -> None:
    """Adds the taints that the node's conditions require, and removes the others."""
    wanted, there = taints_by_state(node), node.spec.taints or []
    kept = [each for each in there if not _is_by_state(each) or each.key in wanted]
    missing = wanted - {each.key for each in kept if _is_by_state(each)}
    if not missing and len(kept) == len(there):
        return
    made = [core.Taint(key=key, effect=_NO_SCHEDULE, time_added=ctx.clock.now()) for key in sorted(missing)]
    node.spec.taints = [*kept, *made] or None
    await ctx.update(node)


def taints_by_state(node: core.Node) -> set[str]:
    """Returns the keys of the taints for the conditions of a node and for a cordon."""
    conditions = [(each.type, each.status) for each in node.status.conditions or ()]
    names = {_BY_CONDITION[each] for each in conditions if each in _BY_CONDITION}
    return {_PREFIX + name for name in (names | {_CORDON} if node.spec.unschedulable else names)}


def _is_by_state(taint: core.Taint) -> bool:
    return taint.effect == _NO_SCHEDULE and taint.key in _OURS


class Evictions:
    """Evicts pods from tainted nodes. A limited toleration starts when the controller first sees the taint."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    async def reconcile(self, pod: core.Pod, ctx: kw.Context[core.Pod]) -> kw.Result | None:
        """Deletes the pod when it no longer tolerates its node."""
        node = ctx.get(core.Node, pod.spec.node_name) if pod.spec.node_name else None
        taints = [each for each in (node.spec.taints if node is not None else None) or () if each.effect == _NO_EXECUTE]
        seconds = toleration_seconds(taints, pod.spec.tolerations or ())
        if seconds == _INDEFINITELY:
            self._forget(pod)
            return None
        now = ctx.clock.monotonic()
        left = self._since.setdefault(pod.metadata.uid, now) + seconds - now
        if left > 0:
            return kw.Result(requeue_after=left)
        ctx.record("TaintManagerEviction", f"Marking for deletion Pod {ctx.key}")
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
            "lastTransitionTime": format_time(ctx.clock.now()),
            "observedGeneration": pod.metadata.generation,
        }
        await write_status(ctx.client, pod, {"conditions": [condition]})
        await ctx.delete(pod)
        self._forget(pod)
        return None

    async def deleted(self, pod: core.Pod, ctx: kw.Context[core.Pod]) -> None:
        """Drops the state of a deleted pod."""
        self._forget(pod)

    def _forget(self, pod: core.Pod) -> None:
        self._since.pop(pod.metadata.uid, None)


def toleration_seconds(taints: Iterable[core.Taint], tolerations: Sequence[core.Toleration]) -> float:
    """Returns how many seconds a pod tolerates these taints: 0 if it does not tolerate one of them."""
    used = [toleration_of(taint, tolerations) for taint in taints]
    if None in used:
        return 0.0
    limits = [each.toleration_seconds for each in used if each is not None and each.toleration_seconds is not None]
    return max(float(min(limits)), 0.0) if limits else _INDEFINITELY
