"""The page for addresses that lead nowhere. It is registered last: every other page goes before it."""

from __future__ import annotations

from kubewright.console.pages._context import PageContext
from kubewright.console.pages._page import page
from kubewright.console.pages._problems import Problem, draw
from kubewright.console.pages.layout import frame

__all__ = ["lost"]


@page("/{rest:path}")
async def lost(ctx: PageContext, rest: str) -> None:
    """Say that there is nothing here."""
    ctx.set_status(404)
    with frame(ctx, "Not found"):
        draw(Problem("explore_off", "There is no such page", f"The console has nothing at /{rest}."))
