"""The first page: the kinds that are served, with how their objects are doing."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Final

from nicegui import background_tasks, ui

from kubewright.cache import CacheSyncError
from kubewright.client import ApiError, Forbidden
from kubewright.console._kinds import Kind
from kubewright.console._shelves import Shelf
from kubewright.console._states import State
from kubewright.console._visits import Visit, page
from kubewright.console.pages._frame import frame
from kubewright.console.pages._navigation import BUILT_IN
from kubewright.console.pages._parts import command, heading, icon, link, state_mark
from kubewright.console.pages._view import View

__all__ = ["kinds"]

_COUNT_SECONDS: Final = 0.5
_ASK_AGAIN_SECONDS: Final = 15.0
"""How often it is asked anew whether somebody may list a kind that he may not."""
_COUNTED: Final = 60
"""Of so many kinds the objects are counted at once; each costs the API server a watch. Of others when asked."""


@page("/")
async def kinds(visit: Visit, namespace: str = "") -> None:
    """All kinds: those of custom resources with live counts, those that are built in as links."""
    await visit.console.kinds()
    with frame(visit, "Kinds", here="/", namespace=namespace):
        heading(
            "Kinds", f"Custom resources in namespace {namespace}" if namespace else "Custom resources of this cluster"
        )
        table = _Table(visit, namespace)
        await table.draw()
        ui.timer(_COUNT_SECONDS, table.look)


class _Table:
    """The kinds and their counts, in one browser."""

    def __init__(self, visit: Visit, namespace: str) -> None:
        self.visit = visit
        self.namespace = namespace
        self.content = ui.column().classes("w-full")
        self.drawn: list[Kind] = []
        self.counts: dict[Kind, _Counts] = {}

    async def draw(self) -> None:
        """All of it, for the kinds that there are now."""
        self.drawn = await self.visit.console.kinds()
        self.content.clear()
        with self.content:
            custom = [kind for kind in self.drawn if kind.custom]
            if custom:
                self._custom(custom)
            else:
                _none()
            self._built_in([kind for kind in self.drawn if not kind.custom])
        self.counts = {kind: counts for kind, counts in self.counts.items() if kind in custom}

    async def look(self) -> None:
        """Count again what changed; draw again when there are other kinds."""
        try:
            if await self.visit.console.kinds() != self.drawn:
                await self.draw()
        except (ApiError, CacheSyncError):
            return  # the frame says that the API server is away
        for counts in self.counts.values():
            counts.look()

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
                    self._row(kind, at < _COUNTED)

    def _row(self, kind: Kind, at_once: bool) -> None:
        view = View(namespace=self.namespace if kind.namespaced else "")
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
            known = self.counts[kind] = _Counts(self.visit, kind, view, at_once)
        known.place(total, states)

    def _built_in(self, built_in: list[Kind]) -> None:
        paths = {kind.path: kind for kind in built_in}
        first = [paths[path] for path in BUILT_IN if path in paths]
        others = [kind for kind in built_in if kind not in first]
        if first:
            ui.label("Built in").classes("kw-section")
            self._chips(first, short=True)
        if others:
            with ui.expansion(f"{len(others)} more kinds").classes("w-full kw-more").props("dense"):
                self._chips(others, short=False)

    def _chips(self, chosen: list[Kind], *, short: bool) -> None:
        with ui.element("div").classes("kw-chips"):
            for kind in chosen:
                view = View(namespace=self.namespace if kind.namespaced else "")
                link(kind.kind if short else str(kind), view.address(kind.path), "kw-chip")


class _Counts:
    """The objects of one kind by their state, as the viewer may see them."""

    def __init__(self, visit: Visit, kind: Kind, view: View, at_once: bool) -> None:
        self.visit, self.kind, self.view = visit, kind, view
        self.wanted = at_once
        self.dirty = True
        self.shelf: Shelf | None = None
        self.said: tuple[str, Counter[str]] | None = None
        self.counting: asyncio.Task[None] | None = None
        self.asked_again_at: float | None = None

    def place(self, total: ui.element, states: ui.element) -> None:
        """Where they are shown from now on."""
        self.total, self.states, self.said, self.dirty = total, states, None, True
        if not self.wanted:
            with total:
                ui.button("Count", on_click=self._want).props("flat dense no-caps")

    def _want(self) -> None:
        self.wanted = True

    def look(self) -> None:
        """Count, when something changed; each kind by itself, for one that is slow must not hold up the others."""
        if self.asked_again_at is not None and self.asked_again_at <= asyncio.get_running_loop().time():
            self.asked_again_at, self.dirty = None, True
        if self.wanted and self.dirty and (self.counting is None or self.counting.done()):
            self.dirty = False
            self.counting = background_tasks.create(self._count(), name=f"count {self.kind}")  # ends with the server

    async def _count(self) -> None:
        try:
            if not await self.visit.sees(self.kind, self.view.namespace):  # asked first: a shelf costs a watch
                self._say("", Counter(), "you may not list them")
                self.asked_again_at = asyncio.get_running_loop().time() + _ASK_AGAIN_SECONDS
                return
            shelf = await self._open()
            rows = await shelf.rows(self.visit.viewer, self.view.namespace or None)
        except Forbidden:
            self._say("", Counter(), "the console may not read them")
        except (ApiError, CacheSyncError):
            self.dirty = True
            self._say("", Counter(), "cannot be read now")
        else:
            self._say(f"{len(rows):,}", Counter(row["state"] for row in rows), "")

    async def _open(self) -> Shelf:
        if self.shelf is None:
            self.shelf = await self.visit.shelf(self.kind)
            subscription = self.shelf.subscribe(lambda _batch: setattr(self, "dirty", True))
            self.visit.on_leave(subscription.close)
        return self.shelf

    def _say(self, total: str, counted: Counter[str], why: str) -> None:
        if self.said == (total + why, counted) or self.visit.browser.is_deleted:
            return
        self.said = (total + why, counted)
        self.total.clear()
        self.states.clear()
        with self.total:
            ui.label(total)
        with self.states, ui.element("div").classes("kw-counts"):
            if why:
                ui.label(why).classes("kw-muted")
            for state in State:
                if counted[state]:
                    with link("", self.view.but(text=str(state)).address(self.kind.path)) as way:
                        state_mark(state, f"{counted[state]:,} {state}")
                    way.props["title"] = f"{counted[state]:,} of them"


def _none() -> None:
    with ui.column().classes("kw-card kw-problem").props("data-testid=empty"):
        icon("category").classes("kw-muted")
        ui.label("No custom resources are defined yet").classes("kw-problem-title")
        ui.label("Install the definitions of your operator; they appear here at once.").classes("kw-problem-text")
        command("kubewright install your_operator.py")
        command("kubectl apply -f crds/")
