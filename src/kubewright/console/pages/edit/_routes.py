"""The routes of the pages that create and change objects."""

from __future__ import annotations

from typing import Final

from nicegui import ui

from kubewright.console.pages._context import PageContext
from kubewright.console.pages._page import page
from kubewright.console.pages._static_files import STATIC
from kubewright.console.pages.edit._change import ChangePage
from kubewright.console.pages.edit._new import NewPage
from kubewright.console.pages.layout import frame

__all__ = ["edit", "new"]

RECONNECT_SECONDS: Final = 300.0
"""How long a form survives a lost connection, such as a closed laptop."""

ui.add_css((STATIC / "forms.css").read_text(), shared=True)


@page("/kinds/{group}/{plural}/new", reconnect_seconds=RECONNECT_SECONDS)
async def new(ctx: PageContext, group: str, plural: str, namespace: str = "", copy: str = "", values: str = "") -> None:
    """Creates an object.

    `copy` is the namespace and name of an object whose fields it starts with, `values` are others, as JSON.
    """
    kind = await ctx.find_kind(group, plural)
    with frame(ctx, f"New {kind.kind}", kind=kind) as around, ctx.spinner_if_slow():
        await NewPage(ctx, around.shell, kind, namespace, copy, values).draw()


@page("/objects/{group}/{plural}/{namespace}/{name}/edit", reconnect_seconds=RECONNECT_SECONDS)
async def edit(ctx: PageContext, group: str, plural: str, namespace: str, name: str) -> None:
    """Changes an object."""
    kind = await ctx.find_kind(group, plural)
    place = namespace if kind.namespaced else ""
    with frame(ctx, f"Edit {name}", kind=kind) as around, ctx.spinner_if_slow():
        await ChangePage(ctx, around.shell, kind, place, name).draw()
