"""The search: kinds by name, and objects of custom resources by name."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from nicegui import ui

from kubewright.cache import CacheSyncError
from kubewright.client import Forbidden
from kubewright.console.caches import Row
from kubewright.console.kinds import Kind
from kubewright.console.pages._addresses import kind_address, kind_named, object_address
from kubewright.console.pages._context import PageContext
from kubewright.console.pages._page import page
from kubewright.console.pages._problems import KindNotFound
from kubewright.console.pages.layout import frame
from kubewright.console.pages.widgets import heading, link, state_mark

__all__ = ["kind_by_name", "search"]

_OF_A_KIND: Final = 50
_KINDS: Final = 60
"""Kinds that are searched. Each costs the API server a watch."""


@page("/kinds/{name}")
async def kind_by_name(ctx: PageContext, name: str) -> None:
    """Redirects a short path such as `/kinds/deploy` to the list."""
    kinds = await ctx.backend.kinds()
    kind = kind_named(kinds, name)
    if kind is None:
        raise KindNotFound(name, kinds)
    ui.navigate.to(kind_address(kind.path))


@page("/search")
async def search(ctx: PageContext, q: str = "") -> None:
    """Shows the kinds and objects whose names contain the query."""
    wanted = q.strip().lower()
    kinds = await ctx.backend.kinds()
    with frame(ctx, f"Search: {q}", here="/search"):
        heading(f"Search: {q}")
        found = [kind for kind in kinds if wanted and wanted in f"{kind.path} {kind.kind} {kind.singular}".lower()]
        if found:
            ui.label("Kinds").classes("kw-section")
            with ui.element("div").classes("kw-chips"):
                for kind in found:
                    link(str(kind), kind_address(kind.path), "kw-chip")
        custom = [kind for kind in kinds if kind.custom] if wanted else []
        searched = custom[:_KINDS]
        rows = await asyncio.gather(*(_rows(ctx, kind, wanted) for kind in searched))
        for kind, some in zip(searched, rows, strict=True):
            if some:
                _table(kind, some, wanted)
        if not found and not any(rows):
            ui.label("No matches. Search built-in objects in the list of their kind.").classes("kw-muted")
        if len(custom) > len(searched):
            ui.label(f"Objects of the first {_KINDS} of {len(custom)} kinds were searched.").classes("kw-muted")


async def _rows(ctx: PageContext, kind: Kind, wanted: str) -> list[Row]:
    """Returns the matching rows. A kind without visible objects opens no watch."""
    if not await ctx.can_see(kind):
        return []
    try:
        async with ctx.backend.cache(kind) as cache:
            return [row for row in await cache.rows(ctx.viewer) if wanted in row["name"].lower()]
    except (Forbidden, CacheSyncError):
        return []


def _table(kind: Kind, rows: Sequence[Row], wanted: str) -> None:
    ui.label(str(kind)).classes("kw-section")
    with ui.element("table").classes("kw-kinds"):
        for row in rows[:_OF_A_KIND]:
            with ui.element("tr"):
                with ui.element("td"):
                    link(row["name"], object_address(kind.path, row["namespace"], row["name"]))
                with ui.element("td"):
                    ui.label(row["namespace"])
                with ui.element("td"):
                    state_mark(row["state"], tooltip=row["why"])
    if len(rows) > _OF_A_KIND:
        link(f"All {len(rows):,}", f"{kind_address(kind.path)}?filter={quote(wanted, safe='')}")
