"""The page for addresses that lead nowhere. It is registered last: every other page goes before it."""

from __future__ import annotations

from kubewright.console._visits import Visit, page
from kubewright.console.pages._frame import frame
from kubewright.console.pages._problems import Problem, draw

__all__ = ["lost"]


@page("/{rest:path}")
async def lost(visit: Visit, rest: str) -> None:
    """Say that there is nothing here."""
    visit.answer_with(404)
    with frame(visit, "Not found"):
        draw(Problem("explore_off", "There is no such page", f"The console has nothing at /{rest}."))
