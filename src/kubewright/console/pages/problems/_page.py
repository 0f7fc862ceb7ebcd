"""The problems page: failing objects of all kinds that the viewer may see, with error, duration and link."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from nicegui import ui

from kubewright.cache import CacheSyncError
from kubewright.client import ApiError
from kubewright.console.caches import ObjectCache, Row
from kubewright.console.kinds import Kind
from kubewright.console.pages._addresses import ListView, object_address
from kubewright.console.pages._context import PageContext
from kubewright.console.pages._page import page
from kubewright.console.pages.layout import frame
from kubewright.console.pages.problems._found import Problem, find_problems
from kubewright.console.pages.widgets import RelativeTimes, add_object_style, banner, empty, heading, link, state_mark
from kubewright.counts import counted

__all__ = ["show_problems"]

_MAX_KINDS: Final = 60
"""The most custom kinds to check. Each costs the API server a watch."""
_WORKLOADS: Final = (
    *("apps/deployments", "apps/statefulsets", "apps/daemonsets", "batch/jobs", "core/pods"),
    "core/persistentvolumeclaims",
)
_MAX_SHOWN: Final = 200
_REFRESH_SECONDS: Final = 1.0


@page("/problems")
async def show_problems(ctx: PageContext, namespace: str = "") -> None:
    """Shows all problems, in one namespace or in all."""
    kinds = await ctx.backend.kinds()
    with frame(
        ctx,
        "Problems",
        here="/problems",
        namespace=namespace,
        in_namespace=lambda chosen: f"/problems?namespace={chosen}" if chosen else "/problems",
    ):
        add_object_style()
        where = f"in namespace {namespace}" if namespace else "in all namespaces"
        heading("Problems", f"Objects that are failing, or whose deletion is stuck, {where}. Worst first.")
        await _Problems(ctx, kinds, namespace).draw()


class _Problems:
    """The table on one page."""

    def __init__(self, ctx: PageContext, kinds: list[Kind], namespace: str) -> None:
        self._ctx = ctx
        self._namespace = namespace
        custom = [kind for kind in kinds if kind.custom]
        self._kinds = [*custom[:_MAX_KINDS], *(kind for kind in kinds if kind.path in _WORKLOADS)]
        self._unchecked_kinds = max(len(custom) - _MAX_KINDS, 0)
        self._caches: list[ObjectCache] = []
        self._times = RelativeTimes()
        self._shown: Any = None
        self._dirty = True

    async def draw(self) -> None:
        """Draws the known problems, and updates them."""
        self._place = ui.column().classes("kw-tab")
        with self._place:
            ui.label("Loading…").classes("kw-muted")
        self._ctx.on_close(self._ctx.backend.operators.subscribe(self._mark_dirty))
        ui.timer(_REFRESH_SECONDS, self._refresh, immediate=False)
        ui.timer(0, self._open, once=True)

    def _mark_dirty(self, *_: object) -> None:
        self._dirty = True

    async def _open(self) -> None:
        await asyncio.gather(*(self._follow(kind) for kind in self._kinds))
        self._dirty = True
        await self._refresh()

    async def _follow(self, kind: Kind) -> None:
        try:
            if not await self._ctx.can_see(kind, self._namespace):  # checked first: a cache costs a watch
                return
            cache = await self._ctx.cache(kind)
        except (ApiError, CacheSyncError):
            return
        self._ctx.on_close(cache.subscribe(self._mark_dirty).close)
        self._caches.append(cache)

    async def _refresh(self) -> None:
        self._times.tick()
        if not self._dirty:
            return
        self._dirty = False
        rows: list[tuple[Kind, Row]] = []
        try:
            for cache in self._caches:
                found = await cache.rows(self._ctx.viewer, self._namespace or None)
                rows += [(cache.kind, row) for row in found]
        except ApiError:
            self._dirty = True  # the frame reports the lost connection
            return
        problems = find_problems(rows, self._ctx.backend.clock.now())
        unavailable = [one for one in self._ctx.backend.operators if one.unavailable_since is not None]
        content = [(one.kind.path, one.row["id"], one.row["message"], one.row["state"]) for one in problems]
        shown = (content, [(one.name, one.problem) for one in unavailable], len(rows))
        if shown != self._shown and not self._ctx.browser.is_deleted:
            self._shown = shown
            self._draw(
                problems, len(rows), [f"Operator {one.name} is unavailable. {one.problem}" for one in unavailable]
            )

    def _draw(self, problems: list[Problem], checked: int, notices: list[str]) -> None:
        self._place.clear()
        with self._place:
            for text in notices:
                banner(text, "failing", "cloud_off")
            if problems:
                self._table(problems[:_MAX_SHOWN])
            else:
                empty("No problems.", f"{checked:,} objects of {len(self._caches)} kinds were checked.", "check_circle")
            if len(problems) > _MAX_SHOWN:
                ui.label(f"{len(problems) - _MAX_SHOWN:,} more problems.").classes("kw-muted")
            if self._unchecked_kinds:
                text = f"{counted(self._unchecked_kinds, 'kind was', 'kinds were')} not checked: open their lists."
                ui.label(text).classes("kw-muted")

    def _table(self, problems: list[Problem]) -> None:
        scroll = ui.element("div").classes("kw-scroll").props("tabindex=0 role=region aria-label=Problems")
        with scroll, ui.element("table").classes("kw-table kw-table-flow").props("data-testid=problems"):
            with ui.element("thead"), ui.element("tr"):
                for title in ("State", "Kind", "Name", "Namespace", "Message", "Since"):
                    with ui.element("th").props("scope=col"):
                        ui.label(title)
            with ui.element("tbody"):
                for one in problems:
                    self._row(one)

    def _row(self, one: Problem) -> None:
        row = one.row
        with ui.element("tr").props("data-testid=problem-row"):
            with ui.element("td").classes("kw-nowrap"):
                state_mark(one.state, tooltip=row["why"])
            with ui.element("td"):
                scope = self._namespace if one.kind.namespaced else ""
                link(one.kind.kind, ListView(namespace=scope, text=str(one.state)).address(one.kind.path))
            with ui.element("td"):
                link(row["name"], object_address(one.kind.path, row["namespace"], row["name"]))
            with ui.element("td"):
                ui.label(row["namespace"]).classes("kw-muted")
            with ui.element("td").classes("kw-message"):
                ui.label(row["message"])
            with ui.element("td").classes("kw-nowrap"):
                if one.since is not None:
                    self._times.label(one.since).classes("kw-muted")
