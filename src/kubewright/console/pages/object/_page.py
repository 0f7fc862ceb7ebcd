"""The page of one object: its route, head and tabs."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from nicegui import ui

from kubewright.cache import ObjectKey
from kubewright.client import ApiError
from kubewright.console._object_view import ObjectView
from kubewright.console.kinds import Kind
from kubewright.console.pages import _problems as problems
from kubewright.console.pages._addresses import object_address
from kubewright.console.pages._context import PageContext
from kubewright.console.pages._page import page
from kubewright.console.pages.layout import Shell, frame
from kubewright.console.pages.object._events import EventsTab
from kubewright.console.pages.object._head import Head
from kubewright.console.pages.object._logs import LogsTab
from kubewright.console.pages.object._overview import OverviewTab
from kubewright.console.pages.object._tab import Tab
from kubewright.console.pages.object._terminal import TerminalTab, offers_terminal
from kubewright.console.pages.object._timeline import TimelineTab
from kubewright.console.pages.object._yaml import YamlTab
from kubewright.console.pages.widgets import RelativeTimes, add_object_style

__all__ = ["show_object"]

logger = logging.getLogger("kubewright.console")

_REDRAW_DELAY: Final = 0.2
_TERMINAL: Final = "terminal"
_RETRY_SECONDS: Final = 2.0
_TABS: Final[dict[str, tuple[str, str, type[Tab]]]] = {
    "overview": ("Overview", "dashboard", OverviewTab),
    "timeline": ("Timeline", "history", TimelineTab),
    "events": ("Events", "notifications_none", EventsTab),
    "logs": ("Logs", "subject", LogsTab),
    "yaml": ("YAML", "data_object", YamlTab),
    "terminal": ("Terminal", "terminal", TerminalTab),  # only for viewers who may use it
}


@page("/objects/{group}/{plural}/{namespace}/{name}")
async def show_object(
    ctx: PageContext, group: str, plural: str, namespace: str, name: str, tab: str = "overview"
) -> None:
    """Shows one object."""
    kind = await ctx.find_kind(group, plural)
    key = ObjectKey(namespace if kind.namespaced else "", name)
    with frame(ctx, name, kind=kind) as around:
        add_object_style()
        if not await ctx.viewer.may_see(kind, key.namespace, key.name):
            problems.draw(problems.AccessDenied("get", kind, ctx.viewer.name, key.namespace))
            return
        await ObjectPage(ctx, around.shell, kind, key, tab if tab in _TABS else "overview").draw()


class ObjectPage:
    """The page of one object. It follows the object until the browser leaves."""

    def __init__(self, ctx: PageContext, shell: Shell, kind: Kind, key: ObjectKey, tab: str) -> None:
        self._ctx = ctx
        self._shell = shell
        self._changed = asyncio.Event()
        self._view = ObjectView(ctx.backend, ctx.viewer, kind, key, self._changed.set)
        self._tab_name = tab
        self._times = RelativeTimes()
        self._tab: Tab | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def draw(self) -> None:
        """Draws what is available, and loads the rest afterwards."""
        self._ctx.on_close(self._close)
        self._ctx.on_session_end(self._close_tab)
        await self._view.open()
        await self._view.refresh()
        self._head = Head(self._view, self._times)
        self._head.draw()
        self._tabs = ui.tabs(on_change=lambda event: self._choose(str(event.value))).classes("kw-tabs")
        self._tabs.props("dense no-caps inline-label align=left aria-label='Views of this object'")
        self._tab_elements: dict[str, ui.tab] = {}
        for name in _TABS:
            if name != _TERMINAL or name == self._tab_name:
                self._add_tab(name)
        self._tabs.set_value(self._tab_name)
        self._panel = ui.column().classes("kw-panel").props("role=tabpanel")
        self._show()
        ui.timer(5.0, self._times.tick)
        self._tasks.append(asyncio.create_task(self._follow(), name=f"page of {self._view.kind} {self._view.key}"))

    def _add_tab(self, name: str) -> None:
        with self._tabs:
            title, picture, _ = _TABS[name]
            self._tab_elements[name] = ui.tab(name, title, icon=picture)
            self._tab_elements[name].props["data-testid"] = f"tab-{name}"

    async def _update_terminal_tab(self) -> None:
        """Adds or removes the terminal's tab. The tab of an open terminal stays, and shows why the terminal ended."""
        wanted = self._tab_name == _TERMINAL or await offers_terminal(self._view)
        if wanted and _TERMINAL not in self._tab_elements:
            self._add_tab(_TERMINAL)
        elif not wanted and _TERMINAL in self._tab_elements:
            self._tab_elements.pop(_TERMINAL).delete()

    def _choose(self, name: str) -> None:
        if name in _TABS and name != self._tab_name:
            self._tab_name = name
            view = self._view
            address = object_address(view.kind.path, view.key.namespace, view.key.name)
            self._shell.show_address(address if name == "overview" else f"{address}?tab={name}")
            self._show()

    def _show(self) -> None:
        self._close_tab()
        self._panel.clear()
        with self._panel:
            self._tab = _TABS[self._tab_name][2](self._view, self._times)
            self._tab.draw()

    def _close_tab(self) -> None:
        if self._tab is not None:
            self._tab.close()

    async def _follow(self) -> None:
        """Updates the page after changes, at most five times a second."""
        try:
            await self._view.open_others()
        except ApiError as error:
            logger.warning("cannot show the objects that %s owns: %s", self._view.key, error)
        self._changed.set()
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._view.refresh()
                self._head.update()
                await self._update_terminal_tab()
                if self._tab is not None:
                    await self._tab.update()
            except ApiError as error:
                self._head.show_outage(str(error))
                asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._changed.set)
            except Exception:
                logger.exception("cannot update the page of %s %s", self._view.kind, self._view.key)
            await asyncio.sleep(_REDRAW_DELAY)

    def _close(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._close_tab()
        self._view.close()
