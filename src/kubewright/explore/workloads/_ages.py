"""Stories in which time passes."""

from __future__ import annotations

from typing import Final

from kubewright.durations import format_duration
from kubewright.explore.model import Pause, Restart, Step, Story, Wait
from kubewright.explore.workloads._samples import Subject
from kubewright.explore.workloads._stories import Scene, company_of

__all__ = ["RESTARTS", "aging_of", "postponed_of"]

RESTARTS: Final = 3
"""How often an operator is restarted before an action that it takes after a time."""
_REST_SECONDS: Final = 2 * 3600.0
_SHORT_PAUSE: Final = 2.0
_EARLIER: Final = 0.9
"""The fraction of that time after which it is restarted."""


def aging_of(subject: Subject) -> Story:
    """Returns the story in which only time passes."""
    steps = (*company_of(subject), subject.create(), Pause(_SHORT_PAUSE), Wait(rest=_REST_SECONDS))
    return Story(f"create {subject.title} and let hours pass", steps)


def postponed_of(subject: Subject, seconds: float) -> Scene:
    """Returns the scene in which the operator is restarted repeatedly, each time before that many seconds have passed.

    An operator that measures the time from its own start never acts. One that measures it from a time in the object
    acts at the right time. One that checks the objects periodically acts after the second restart.
    """
    steps: list[Step] = [*company_of(subject), subject.create()]
    for _ in range(RESTARTS):
        steps += [Pause(round(seconds * _EARLIER, 3)), Restart()]
    title = f"create {subject.title}, and restart the operator each {format_duration(round(seconds * _EARLIER))}"
    return Scene(Story(title, (*steps, Wait())), "postponed", (aging_of(subject),))
