"""When what belongs to an operator starts: stage after stage; it stops in the reverse order."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from kubewright.signatures import can_take

if TYPE_CHECKING:
    from kubewright.operator._running import Running

__all__ = ["STAGES", "Component", "Stage", "check_component", "check_stage"]

Stage: TypeAlias = Literal["webhooks", "others", "leader"]
"""Where a component stands in the order of the start:

1. the pages of health and metrics, so that probes are answered from the beginning;
2. `webhooks`: the API server may call them for the very objects that the caches ask for;
3. the caches, until all are in sync;
4. `others`: what may run in every replica, and may read the caches;
5. the election, if there is one; from here on, only in the replica that leads:
6. `leader`: what must run only once, and then the controllers.
"""

STAGES: Final[tuple[Stage, ...]] = get_args(Stage)

Component: TypeAlias = "Callable[[Running], AbstractAsyncContextManager[Any]]"
"""Makes what is entered when the component starts, and left when it stops. It is given the run that it belongs to."""


def check_stage(stage: str) -> None:
    """Refuse a stage that there is not."""
    if stage not in STAGES:
        raise ValueError(f"stage is one of {', '.join(STAGES)}, not {stage!r}")


def check_component(given: object) -> None:
    """Refuse what cannot make a context manager of a run."""
    if not callable(given) or not can_take(given, 1):
        raise TypeError(
            "attach takes a function that is given the Running and makes an async context manager, such as one with"
            f" @contextlib.asynccontextmanager, not {given!r}"
        )
