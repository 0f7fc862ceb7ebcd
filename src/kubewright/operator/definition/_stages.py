"""The stages in which the parts of an operator start. They stop in the reverse order."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

from kubewright.signatures import can_take

__all__ = ["STAGES", "Stage", "check_component", "check_stage"]

Stage: TypeAlias = Literal["webhooks", "others", "leader"]
"""The position of a component in the startup order:

1. health and metrics endpoints, so that probes get a response from the beginning;
2. `webhooks`: the API server may call them for the objects that the caches list;
3. caches, until all are in sync;
4. `others`: components that run in every replica and may read the caches;
5. leader election, if enabled; from here on, only in the leader:
6. `leader`: components that must run only once, then the controllers.
"""

STAGES: Final[tuple[Stage, ...]] = get_args(Stage)


def check_stage(stage: str) -> None:
    """Raises ValueError for an unknown stage."""
    if stage not in STAGES:
        raise ValueError(f"stage must be one of {', '.join(STAGES)}, not {stage!r}")


def check_component(component: object) -> None:
    """Raises TypeError unless the component is a function of one argument."""
    if not callable(component) or not can_take(component, 1):
        raise TypeError(
            "attach takes a function that takes the Running and returns an async context manager, such as one with"
            f" @contextlib.asynccontextmanager, not {component!r}"
        )
