"""The arithmetic of rolling updates. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright.api import apps, core, scaled_value

__all__ = [
    "DESIRED_REPLICAS",
    "MAX_REPLICAS",
    "REVISION",
    "available_of",
    "bounds_of",
    "is_rolling",
    "new_size",
    "proportional_sizes",
    "replicas_of",
    "revision_of",
    "state_of",
    "template_of",
    "total",
]

REVISION: Final = "deployment.kubernetes.io/revision"
DESIRED_REPLICAS: Final = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS: Final = "deployment.kubernetes.io/max-replicas"
_QUARTER: Final = "25%"


def replicas_of(workload: apps.Deployment | apps.ReplicaSet | apps.StatefulSet | core.ReplicationController) -> int:
    """Returns the desired replicas; default: 1."""
    return 1 if workload.spec.replicas is None else workload.spec.replicas


def total(replica_sets: Sequence[apps.ReplicaSet]) -> int:
    """Returns the sum of the desired replicas."""
    return sum(map(replicas_of, replica_sets))


def state_of(replica_set: apps.ReplicaSet) -> apps.ReplicaSetStatus:
    """Returns the status."""
    return replica_set.status or apps.ReplicaSetStatus(replicas=0)


def available_of(replica_set: apps.ReplicaSet) -> int:
    """Returns the number of available pods."""
    return state_of(replica_set).available_replicas or 0


def template_of(owner: apps.ReplicaSet | core.ReplicationController) -> core.PodTemplateSpec:
    """Returns the pod template."""
    return owner.spec.template or core.PodTemplateSpec(spec=core.PodSpec(containers=[]))


def is_rolling(deployment: apps.Deployment) -> bool:
    """Returns whether the strategy is RollingUpdate."""
    strategy = deployment.spec.strategy
    return strategy is None or strategy.type in (None, "", "RollingUpdate")


def bounds_of(deployment: apps.Deployment) -> tuple[int, int]:
    """Returns maxSurge and maxUnavailable as numbers of pods."""
    if not is_rolling(deployment):
        return 0, 0
    strategy, wanted = deployment.spec.strategy, replicas_of(deployment)
    rolling = strategy.rolling_update if strategy is not None else None
    surge = rolling.max_surge if rolling is not None and rolling.max_surge is not None else _QUARTER
    missing = rolling.max_unavailable if rolling is not None and rolling.max_unavailable is not None else _QUARTER
    max_surge = scaled_value(surge, wanted, round_up=True)
    max_unavailable = scaled_value(missing, wanted, round_up=False)
    if max_surge == 0 and max_unavailable == 0:
        max_unavailable = 1  # otherwise the update could never start
    return max_surge, min(max_unavailable, wanted)


def new_size(deployment: apps.Deployment, new: apps.ReplicaSet | None, everything: Sequence[apps.ReplicaSet]) -> int:
    """Returns the allowed size of the newest ReplicaSet."""
    wanted = replicas_of(deployment)
    if not is_rolling(deployment):
        return wanted
    size = replicas_of(new) if new is not None else 0
    room = wanted + bounds_of(deployment)[0] - total(everything)
    return size if room <= 0 else size + max(min(room, wanted - size), 0)


def revision_of(obj: apps.Deployment | apps.ReplicaSet) -> int:
    """Returns the revision of the Deployment; 0 if it is not set."""
    text = obj.metadata.annotations.get(REVISION, "")
    return int(text) if text.isdigit() else 0


def proportional_sizes(deployment: apps.Deployment, active: Sequence[apps.ReplicaSet]) -> dict[str, int]:
    """Returns the sizes of the ReplicaSets, in proportion, when a Deployment is scaled during a rollout."""
    wanted = replicas_of(deployment)
    allowed = wanted + bounds_of(deployment)[0] if wanted > 0 else 0
    to_add = allowed - total(active)
    ordered = sorted(active, key=lambda each: _by_size(each, growing=to_add > 0))
    sizes: dict[str, int] = {}
    added = 0
    for each in ordered:
        share = _share(deployment, each, to_add, added) if to_add else 0
        sizes[each.metadata.name] = replicas_of(each) + share
        added += share
    if to_add and ordered:
        first = ordered[0].metadata.name
        sizes[first] = max(sizes[first] + to_add - added, 0)
    return sizes


def _by_size(replica_set: apps.ReplicaSet, *, growing: bool) -> tuple[float, float]:
    made = replica_set.metadata.creation_timestamp
    age = made.timestamp() if made is not None else 0.0
    # Of two equal ones, the newer grows first and the older shrinks first.
    return -replicas_of(replica_set), -age if growing else age


def _share(deployment: apps.Deployment, replica_set: apps.ReplicaSet, to_add: int, added: int) -> int:
    size = replicas_of(replica_set)
    if size == 0 or to_add == added:
        return 0
    wanted = replicas_of(deployment)
    if wanted == 0:
        fraction = -size
    else:
        text = replica_set.metadata.annotations.get(MAX_REPLICAS, "")
        before = int(text) if text.isdigit() else deployment.status.replicas or 0
        scaled = size * (wanted + bounds_of(deployment)[0]) / before if before else size
        fraction = int(scaled + 0.5) - size
    left = to_add - added
    return min(fraction, left) if to_add > 0 else max(fraction, left)
