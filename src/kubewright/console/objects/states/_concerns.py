"""`concern_of`: whether a condition is a problem. A pure function of its type, status and reason."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final

from kubewright.console.objects.states._words import BAD, BUSY, FAILURE

__all__ = ["Concern", "concern_of"]

_NEGATIVE: Final = re.compile(
    r"(Pressure|Unavailable|Failed|Failing|Failure|Errors?|Degraded|Stalled|Broken|Unhealthy|Expired|Denied"
    r"|Conflict|Conflicted|Blocked|Exceeded|Invalid|NotReady|Lost|Violation|Terminating|DisruptionTarget)$"
)
_NEUTRAL: Final = ("Suspended", "Paused", "Hibernated")


class Concern(IntEnum):
    """How much a condition concerns the reader. Problems sort first."""

    PROBLEM = 0
    UNKNOWN = 1
    NONE = 2


def concern_of(type_: str, status: str, reason: str = "") -> Concern:
    """Returns whether a condition is a problem.

    By convention a condition is good when it is true. Types that name a problem (`Degraded`, `MemoryPressure`) are good
    when they are false. Types that name work (`Progressing`) are a problem only with the reason of a failure.
    """
    if status not in ("True", "False"):
        return Concern.UNKNOWN
    if type_ in _NEUTRAL:
        return Concern.NONE
    if type_ in BUSY:
        return Concern.PROBLEM if status == "False" and FAILURE.search(reason) else Concern.NONE
    bad = status == "True" if type_ in BAD or _NEGATIVE.search(type_) else status == "False"
    return Concern.PROBLEM if bad else Concern.NONE
