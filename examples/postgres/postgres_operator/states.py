"""The states of a cluster as pure functions: which phase a reconcile is in, and which state follows from its outcome.

| phase | working | done | failed |
|---|---|---|---|
| creating | Creating | Running | CreateFailed |
| updating: the spec or the pods differ | Updating | Running | UpdateFailed |
| syncing: nothing differs | unchanged | Running | SyncFailed |

An update that is refused is UpdateFailed, and everything else in the spec is applied. Invalid: nothing is applied.
"""

from enum import Enum

from postgres_operator.kinds import PostgresqlStatus, State


class Phase(Enum):
    """What a reconcile does with a cluster."""

    CREATING = "creating"
    UPDATING = "updating"
    SYNCING = "syncing"


WORKING = {Phase.CREATING: State.CREATING, Phase.UPDATING: State.UPDATING}
FAILED = {
    Phase.CREATING: State.CREATE_FAILED,
    Phase.UPDATING: State.UPDATE_FAILED,
    Phase.SYNCING: State.SYNC_FAILED,
}


def phase_of(status: PostgresqlStatus, generation: int, *, exists: bool) -> Phase:
    """Returns the phase of a cluster.

    Args:
        status: the status that was written last.
        generation: the generation of the spec.
        exists: whether the cluster has a StatefulSet. An invalid cluster may have one of an earlier spec.
    """
    if status.state in (None, State.CREATING, State.CREATE_FAILED) or (status.state is State.INVALID and not exists):
        return Phase.CREATING
    if status.observed_generation != generation or status.state in (
        State.UPDATING,
        State.UPDATE_FAILED,
        State.INVALID,
    ):
        return Phase.UPDATING
    return Phase.SYNCING


def state_while_working(phase: Phase, status: PostgresqlStatus, *, rolling: bool) -> State:
    """Returns the state of a cluster whose work is not finished. Pods that restart alone do not change it."""
    if rolling and phase is Phase.SYNCING:
        return State.UPDATING
    return WORKING.get(phase, status.state or State.CREATING)
