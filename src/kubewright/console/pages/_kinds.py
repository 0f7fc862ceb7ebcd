"""The first page: the kinds that are served."""

from __future__ import annotations

from nicegui import ui

from kubewright.console._visits import Visit, page
from kubewright.console.pages._frame import frame

__all__ = ["kinds"]


@page("/")
async def kinds(visit: Visit) -> None:
    """All custom resources."""
    with frame(visit, "Kinds"):
        for kind in await visit.console.kinds():
            shelf = await visit.console.shelf(kind)
            with ui.row():
                ui.link(kind.kind, f"/kinds/{kind.path}")
                ui.label(f"{kind.group}/{kind.version}")
                ui.label(str(len(shelf)))
