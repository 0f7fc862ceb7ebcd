"""Pods from the view of controllers: states, deletion order, and ownership."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TypeVar

import kubewright as kw
from kubewright.api import Object, Selector, SelectorError, controller_of, core, meta, remove_owner, set_controller
from kubewright.cache import Change, ObjectKey
from kubewright.client import NotFound
from kubewright.cluster.workloads._selecting import SelectorIndex
from kubewright.controller import Reader, Watch

__all__ = [
    "claimed",
    "condition_of",
    "deletion_order",
    "earliest",
    "has_ended",
    "is_active",
    "is_available",
    "is_ready",
    "orphans",
    "pod_from",
    "ready_since",
    "selector_of",
    "stop",
    "until_available",
]

O = TypeVar("O", bound=Object)  # noqa: E741

_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


# States


def condition_of(pod: core.Pod, type_: str) -> core.PodCondition | None:
    """Returns the condition of that type."""
    return next((each for each in pod.status.conditions or () if each.type == type_), None)


def has_ended(pod: core.Pod) -> bool:
    """Returns whether the pod has finished."""
    return pod.status.phase in ("Succeeded", "Failed")


def is_active(pod: core.Pod) -> bool:
    """Returns whether the pod counts as a replica."""
    return not has_ended(pod) and pod.metadata.deletion_timestamp is None


def is_ready(pod: core.Pod) -> bool:
    """Returns whether the pod is ready."""
    ready = condition_of(pod, "Ready")
    return ready is not None and ready.status == "True"


def ready_since(pod: core.Pod) -> datetime | None:
    """Returns since when the pod has been ready."""
    ready = condition_of(pod, "Ready")
    return ready.last_transition_time if ready is not None and ready.status == "True" else None


def is_available(pod: core.Pod, min_ready_seconds: int, now: datetime) -> bool:
    """Returns whether the pod has been ready long enough."""
    left = until_available(pod, min_ready_seconds, now)
    return left is not None and left <= 0


def until_available(pod: core.Pod, min_ready_seconds: int, now: datetime) -> float | None:
    """Returns the seconds until the pod is available if it stays ready; None if it is not ready."""
    if not is_ready(pod):
        return None
    since = ready_since(pod)
    if not min_ready_seconds or since is None:
        return 0.0
    return min_ready_seconds - (now - since).total_seconds()


def earliest(moments: Iterable[float | None]) -> float | None:
    """Returns the earliest future moment."""
    return min((moment for moment in moments if moment is not None and moment > 0), default=None)


def deletion_order(pod: core.Pod) -> tuple[Any, ...]:
    """Returns a sort key; pods to delete first: unassigned, not running, not ready, low deletion cost, young."""
    since, made = ready_since(pod), pod.metadata.creation_timestamp
    restarts = max((each.restart_count for each in pod.status.container_statuses or ()), default=0)
    return (
        bool(pod.spec.node_name),
        {"Pending": 0, "Unknown": 1}.get(pod.status.phase or "Pending", 2),
        is_ready(pod),
        _cost(pod),
        -(since.timestamp() if since is not None else 0.0),
        -restarts,
        -(made.timestamp() if made is not None else 0.0),
        pod.metadata.name,
    )


def _cost(pod: core.Pod) -> int:
    try:
        return int(pod.metadata.annotations.get(_DELETION_COST, "0"))
    except ValueError:
        return 0


# Creation and deletion


def pod_from(template: core.PodTemplateSpec, *, name: str = "", prefix: str = "") -> core.Pod:
    """Returns the pod of a template, with that name or a generated one with that prefix."""
    given = template.metadata
    metadata = meta.ObjectMeta(
        labels=dict(given.labels),
        annotations=dict(given.annotations),
        finalizers=list(given.finalizers),
    )
    if name:
        metadata.name = name
    else:
        metadata.generate_name = f"{prefix}-"
    return core.Pod(metadata=metadata, spec=copy.deepcopy(template.spec))


async def stop(ctx: kw.Context[Any], pod: core.Pod) -> None:
    """Requests the deletion of a pod. The pod stays in the cache until the server has removed it."""
    with contextlib.suppress(NotFound):
        await ctx.client.delete(pod)


# Ownership


def selector_of(selector: meta.LabelSelector | None) -> Selector:
    """Returns the selector of a workload; nothing if it is invalid or would select everything."""
    try:
        made = Selector.from_label_selector(selector)
    except SelectorError:
        return Selector.nothing()
    return Selector.nothing() if made.selects_everything else made


async def claimed(
    ctx: kw.Context[Any], kind: type[O], selector: Selector, adopts: Callable[[O], bool] = lambda _: True
) -> list[O]:
    """Returns the objects that the reconciled one controls.

    Adopts orphans that match the selector and `adopts`; releases objects that do not match any more.
    """
    owner, mine = ctx.object, []
    namespace = ctx.key.namespace
    # Both reads use an index: the owner's uid, and the label of the selector with the fewest objects.
    found = {each.metadata.name: each for each in ctx.owned(kind) if each.metadata.namespace == namespace}
    found |= {each.metadata.name: each for each in ctx.list(kind, namespace, selector)}
    for _, obj in sorted(found.items()):
        controller = controller_of(obj)
        fits = selector.matches(obj.metadata.labels)
        if controller is not None and controller.uid == owner.metadata.uid:
            if fits or obj.metadata.deletion_timestamp is not None:
                mine.append(obj)
            else:
                remove_owner(obj, owner=owner)
                await ctx.update(obj)
        elif controller is None and fits and obj.metadata.deletion_timestamp is None and adopts(obj):
            set_controller(obj, owner=owner)
            mine.append(await ctx.update(obj))
    return mine


def orphans(
    operator: kw.Operator,
    child: type[O],
    parent: type[Object],
    selector: Callable[[Any], meta.LabelSelector | None],
) -> Watch[O]:
    """Returns a mapping that triggers the parents whose selector matches an orphan."""
    index = SelectorIndex(operator, parent, lambda each: selector_of(selector(each)))

    def parents(obj: O, reader: Reader) -> list[ObjectKey]:
        if controller_of(obj) is not None:
            return []
        return index.matching(reader, obj.metadata.namespace, obj.metadata.labels)

    def was_or_is_orphan(change: Change[O]) -> bool:
        # Reads the header only: most objects have a controller, and need not be decoded.
        return any(state is not None and state.controller is None for state in (change.old, change.new))

    return Watch(child, map=parents, when=was_or_is_orphan)
