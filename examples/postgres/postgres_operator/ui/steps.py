"""The steps of a new cluster, from its manifest to a reachable database, as a pure function of its objects."""

from collections.abc import Sequence
from typing import NamedTuple

from kubewright.api import apps, core, is_condition_true
from postgres_operator.kinds import Postgresql, State
from postgres_operator.patroni import PRIMARY, ROLE_LABEL


class Step(NamedTuple):
    """A step, and how far it is."""

    title: str
    done: bool
    detail: str = ""


def steps_of(cluster: Postgresql, stateful_set: apps.StatefulSet | None, pods: Sequence[core.Pod]) -> list[Step]:
    """Returns the steps in their order. `pods` are those of the cluster that the viewer may see."""
    status, wanted = cluster.status, cluster.spec.number_of_instances
    invalid = status.state is State.INVALID
    ready = [pod for pod in pods if is_condition_true(pod.status, "Ready")]
    primary = next((pod for pod in pods if pod.metadata.labels.get(ROLE_LABEL) == PRIMARY), None)
    running = status.state is State.RUNNING and status.observed_generation == cluster.metadata.generation
    counted = stateful_set.status.ready_replicas if stateful_set is not None and stateful_set.status else None
    return [
        Step("Manifest accepted", not invalid, (status.message or "") if invalid else f"team {cluster.spec.team_id}"),
        Step(
            "StatefulSet created",
            stateful_set is not None,
            "" if stateful_set is None else f"{counted or 0} of {wanted} pods are ready",
        ),
        Step("First pod ready", bool(ready), _phases(pods)),
        Step("Primary elected", primary is not None, primary.metadata.name if primary is not None else ""),
        Step("Database reachable", running, "" if running or invalid else status.message or ""),
    ]


def _phases(pods: Sequence[core.Pod]) -> str:
    return ", ".join(f"{pod.metadata.name}: {pod.status.phase or 'Pending'}" for pod in pods)
