"""The exit codes of an operator's process."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ExitCode"]


class ExitCode(IntEnum):
    """Why an operator's process ended. They are part of the interface: a pod's status shows them."""

    STOPPED = 0
    """A signal asked for it, and every running reconcile finished."""
    FAILED = 1
    """Something that nobody foresaw; the log has the traceback."""
    CONFIGURATION = 2
    """A flag, a variable, the kubeconfig or the credentials cannot work as they are. Starting again will not help."""
    NOT_READY = 3
    """The cluster could not be reached, or the caches did not fill in time."""
    LEASE_LOST = 4
    """This replica does not lead any more. It has stopped all work, and is to be started again."""
    INTERRUPTED = 5
    """It stopped as asked, but reconciles were cut short: the grace period was over, or a second signal came."""
