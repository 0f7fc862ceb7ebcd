"""The exit codes of an operator's process."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ExitCode"]


class ExitCode(IntEnum):
    """Why an operator's process ended. The codes are part of the interface: the pod's status shows them."""

    STOPPED = 0
    """Stopped by a signal; every running reconcile finished."""
    FAILED = 1
    """An unexpected error; the log has the traceback."""
    CONFIGURATION = 2
    """An invalid flag, environment variable, kubeconfig or credential. A restart does not help."""
    NOT_READY = 3
    """The cluster could not be reached, or the caches did not sync in time."""
    LEASE_LOST = 4
    """This replica lost the leader lease. It has stopped all work and needs a restart."""
    INTERRUPTED = 5
    """Stopped by a signal, but reconciles were interrupted: the grace period ended, or a second signal arrived."""
