"""The page for unknown paths. It is registered last, because it matches every path."""

from __future__ import annotations

from kubewright.console.pages._context import PageContext
from kubewright.console.pages._page import page
from kubewright.console.pages._problems import Problem, draw
from kubewright.console.pages.layout import frame

__all__ = ["not_found"]


@page("/{rest:path}")
async def not_found(ctx: PageContext, rest: str) -> None:
    """Shows that the page does not exist."""
    ctx.set_status(404)
    with frame(ctx, "Not found"):
        draw(Problem("explore_off", "Page not found", f"The console has no page at /{rest}."))
