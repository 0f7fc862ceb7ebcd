"""The search: kinds and objects by name."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from nicegui import ui

from kubewright.console.caches import Found, find_objects, searched_kinds
from kubewright.console.pages._addresses import kind_address, kind_named, object_address
from kubewright.console.pages._context import PageContext
from kubewright.console.pages._page import page
from kubewright.console.pages._problems import KindNotFound
from kubewright.console.pages.layout import frame
from kubewright.console.pages.widgets import heading, link, state_mark

__all__ = ["kind_by_name", "search"]

_MAX_PER_KIND: Final = 50


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
        searched, omitted = searched_kinds(kinds)
        among = await ctx.backend.all_namespaces()
        results = {
            one.kind: one
            async for one in find_objects(ctx.backend.cache, ctx.viewer, searched, among, q, most=_MAX_PER_KIND)
        }
        for kind in searched:
            if kind in results:
                _table(results[kind], wanted)
        if not found and not results:
            ui.label("No matches.").classes("kw-muted")
        if omitted:
            ui.label(f"Objects of {len(searched)} of {len(searched) + omitted} kinds were searched.").classes(
                "kw-muted"
            )


def _table(found: Found, wanted: str) -> None:
    kind = found.kind
    ui.label(str(kind)).classes("kw-section")
    with ui.element("table").classes("kw-kinds kw-found"):
        for _, row in found.rows:
            with ui.element("tr"):
                with ui.element("td"):
                    link(row["name"], object_address(kind.path, row["namespace"], row["name"]))
                with ui.element("td"):
                    ui.label(row["namespace"])
                with ui.element("td"):
                    state_mark(row["state"], tooltip=row["why"])
    if found.total > len(found.rows):
        link(f"All {found.total:,}", f"{kind_address(kind.path)}?filter={quote(wanted, safe='')}")
