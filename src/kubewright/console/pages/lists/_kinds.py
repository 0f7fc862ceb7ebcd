"""The start page: the served kinds, with counts of their objects by state."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

from nicegui import background_tasks, ui

from kubewright.cache import CacheSyncError
from kubewright.client import ApiError, Forbidden
from kubewright.console.caches import ObjectCache
from kubewright.console.kinds import Kind
from kubewright.console.objects import State
from kubewright.console.pages._addresses import ListView
from kubewright.console.pages._context import PageContext
from kubewright.console.pages._page import page
from kubewright.console.pages.layout import BUILT_IN, frame
from kubewright.console.pages.widgets import Entry, Links, command, heading, icon, link, state_mark
from kubewright.counts import counted

__all__ = ["kinds"]

_COUNT_SECONDS: Final = 0.5
_RECHECK_SECONDS: Final = 15.0
"""The interval at which a denied permission is checked again."""
_MAX_COUNTED: Final = 60
"""The most kinds to count without a request. Each costs the API server a watch."""


@page("/")
async def kinds(ctx: PageContext, namespace: str = "") -> None:
    """All kinds: custom resources with live counts, built-in kinds as links."""
    await ctx.backend.kinds()
    with frame(ctx, "Kinds", here="/", namespace=namespace):
        heading(
            "Kinds", f"Custom resources in namespace {namespace}" if namespace else "Custom resources of this cluster"
        )
        table = _Table(ctx, namespace)
        await table.draw()
        ui.timer(_COUNT_SECONDS, table.refresh)


class _Table:
    """The table of kinds on one page."""

    def __init__(self, ctx: PageContext, namespace: str) -> None:
        self.ctx = ctx
        self.namespace = namespace
        self.content = ui.column().classes("w-full")
        self.drawn: list[Kind] = []
        self.counts: dict[Kind, _Counts] = {}

    async def draw(self) -> None:
        """Draws the current kinds."""
        self.drawn = await self.ctx.backend.kinds()
        self.content.clear()
        with self.content:
            custom = [kind for kind in self.drawn if kind.custom]
            if custom:
                self._custom(custom)
            else:
                _draw_no_kinds()
            self._built_in([kind for kind in self.drawn if not kind.custom])
        self.counts = {kind: counts for kind, counts in self.counts.items() if kind in custom}

    async def refresh(self) -> None:
        """Updates the counts, and redraws the table if the kinds changed."""
        try:
            if await self.ctx.backend.kinds() != self.drawn:
                await self.draw()
        except (ApiError, CacheSyncError):
            return  # the frame reports the lost connection
        for counts in self.counts.values():
            counts.refresh()

    def _custom(self, custom: list[Kind]) -> None:
        with ui.element("table").classes("kw-kinds").props("aria-label='Custom resources'"):
            with ui.element("thead"), ui.element("tr"):
                for title, classes in (
                    ("Kind", ""),
                    ("Group", "kw-wide-only"),
                    ("Objects", "kw-number"),
                    ("State", ""),
                ):
                    with ui.element("th").classes(classes).props("scope=col"):
                        ui.label(title)
            with ui.element("tbody"):
                for at, kind in enumerate(custom):
                    self._row(kind, at < _MAX_COUNTED)

    def _row(self, kind: Kind, count_now: bool) -> None:
        view = ListView(namespace=self.namespace if kind.namespaced else "")
        with ui.element("tr") as row:
            row.props["data-kind"] = kind.path
            with ui.element("td"):
                link(kind.kind, view.address(kind.path))
            with ui.element("td").classes("kw-wide-only kw-muted"):
                ui.label(f"{kind.group}/{kind.version}")
            total = ui.element("td").classes("kw-number")
            states = ui.element("td")
        known = self.counts.get(kind)
        if known is None:
            known = self.counts[kind] = _Counts(self.ctx, kind, view, count_now)
        known.place(total, states)

    def _built_in(self, built_in: list[Kind]) -> None:
        paths = {kind.path: kind for kind in built_in}
        first = [paths[path] for path in BUILT_IN if path in paths]
        others = [kind for kind in built_in if kind not in first]
        if first:
            ui.label("Built in").classes("kw-section")
            self._chips(first, short=True)
        if others:
            with ui.expansion(counted(len(others), "more kind")).classes("w-full kw-more").props("dense"):
                self._chips(others, short=False)

    def _chips(self, chosen: list[Kind], *, short: bool) -> None:
        entries = []
        for kind in chosen:
            view = ListView(namespace=self.namespace if kind.namespaced else "")
            entries.append(Entry(kind.kind if short else str(kind), view.address(kind.path), "kw-chip"))
        Links(entries).classes("kw-chips")


class _Counts:
    """The number of one kind's objects by state. Counts only objects that the viewer may see."""

    def __init__(self, ctx: PageContext, kind: Kind, view: ListView, count_now: bool) -> None:
        self.ctx, self.kind, self.view = ctx, kind, view
        self.requested = count_now
        self.dirty = True
        self.cache: ObjectCache | None = None
        self.shown: tuple[str, Counter[str]] | None = None
        self.counting: asyncio.Task[None] | None = None
        self.recheck_at: float | None = None

    def place(self, total: ui.element, states: ui.element) -> None:
        """Sets the elements that show the counts."""
        self.total, self.states, self.shown, self.dirty = total, states, None, True
        if not self.requested:
            with total:
                ui.button("Count", on_click=self._request_count).props("flat dense no-caps")

    def _request_count(self) -> None:
        self.requested = True

    def refresh(self) -> None:
        """Starts a count if something has changed. Each kind has its own task, so a slow one does not delay others."""
        if self.recheck_at is not None and self.recheck_at <= asyncio.get_running_loop().time():
            self.recheck_at, self.dirty = None, True
        if self.requested and self.dirty and (self.counting is None or self.counting.done()):
            self.dirty = False
            self.counting = background_tasks.create(
                self._count(), name=f"count {self.kind}"
            )  # canceled with the server

    async def _count(self) -> None:
        try:
            if not await self.ctx.can_see(self.kind, self.view.namespace):  # checked first: a cache costs a watch
                self._show("", Counter(), "no permission to list")
                self.recheck_at = asyncio.get_running_loop().time() + _RECHECK_SECONDS
                return
            cache = await self._open()
            rows = await cache.rows(self.ctx.viewer, self.view.namespace or None)
        except Forbidden:
            self._show("", Counter(), "the console's account may not list them")
        except (ApiError, CacheSyncError):
            self.dirty = True
            self._show("", Counter(), "temporarily unavailable")
        else:
            self._show(f"{len(rows):,}", Counter(row["state"] for row in rows), "")

    async def _open(self) -> ObjectCache:
        if self.cache is None:
            self.cache = await self.ctx.cache(self.kind)
            subscription = self.cache.subscribe(lambda _batch: setattr(self, "dirty", True))
            self.ctx.on_close(subscription.close)
        return self.cache

    def _show(self, total: str, counted: Counter[str], why: str) -> None:
        if self.shown == (total + why, counted) or self.ctx.browser.is_deleted:
            return
        self.shown = (total + why, counted)
        self.total.clear()
        self.states.clear()
        with self.total:
            ui.label(total)
        with self.states, ui.element("div").classes("kw-counts"):
            if why:
                ui.label(why).classes("kw-muted")
            for state in State:
                if counted[state]:
                    with link("", self.view.replace(text=str(state)).address(self.kind.path)) as chip:
                        state_mark(state, f"{counted[state]:,} {state}")
                    chip.props["title"] = f"{counted[state]:,} objects"


def _draw_no_kinds() -> None:
    with ui.column().classes("kw-card kw-problem").props("data-testid=empty"):
        icon("category").classes("kw-muted")
        ui.label("No custom resources are defined yet").classes("kw-problem-title")
        ui.label("Install the CustomResourceDefinitions of your operator; they appear here immediately.").classes(
            "kw-problem-text"
        )
        command("kubewright install your_operator.py")
        command("kubectl apply -f crds/")
