"""An object, and why it is as it is: its address, its head, and its tabs."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from nicegui import ui

from kubewright.cache import ObjectKey
from kubewright.client import ApiError
from kubewright.console._kinds import Kind
from kubewright.console._look import Look
from kubewright.console._visits import Visit, page
from kubewright.console.pages import _problems as problems
from kubewright.console.pages._edit import kind_at
from kubewright.console.pages._frame import frame
from kubewright.console.pages._keys import Shell
from kubewright.console.pages._object_events import EventsTab
from kubewright.console.pages._object_head import Head
from kubewright.console.pages._object_logs import LogsTab
from kubewright.console.pages._object_overview import OverviewTab
from kubewright.console.pages._object_parts import Moments, Tab, style
from kubewright.console.pages._object_timeline import TimelineTab
from kubewright.console.pages._object_yaml import YamlTab
from kubewright.console.pages._view import object_address

__all__ = ["show_object"]

logger = logging.getLogger("kubewright.console")

_PAUSE: Final = 0.2
_RETRY_SECONDS: Final = 2.0
_TABS: Final[dict[str, tuple[str, str, type[Tab]]]] = {
    "overview": ("Overview", "dashboard", OverviewTab),
    "timeline": ("Timeline", "history", TimelineTab),
    "events": ("Events", "notifications_none", EventsTab),
    "logs": ("Logs", "subject", LogsTab),
    "yaml": ("YAML", "data_object", YamlTab),
}


@page("/objects/{group}/{plural}/{namespace}/{name}")
async def show_object(visit: Visit, group: str, plural: str, namespace: str, name: str, tab: str = "overview") -> None:
    """One object."""
    kind = await kind_at(visit, group, plural)
    key = ObjectKey(namespace if kind.namespaced else "", name)
    with frame(visit, name, kind=kind, namespace=key.namespace) as around:
        style()
        if not await visit.viewer.may_see(kind, key.namespace, key.name):
            problems.draw(problems.MayNotSee("get", kind, visit.viewer.name, key.namespace))
            return
        await ObjectPage(visit, around.shell, kind, key, tab if tab in _TABS else "overview").draw()


class ObjectPage:
    """The page of one object, which follows it until the browser is gone."""

    def __init__(self, visit: Visit, shell: Shell, kind: Kind, key: ObjectKey, tab: str) -> None:
        self._visit = visit
        self._shell = shell
        self._woken = asyncio.Event()
        self._look = Look(visit.console, visit.viewer, kind, key, self._woken.set)
        self._name = tab
        self._moments = Moments()
        self._tab: Tab | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def draw(self) -> None:
        """Draw what is known at once, and the rest as it comes."""
        self._visit.on_leave(self._leave)
        await self._look.open()
        await self._look.refresh()
        self._head = Head(self._look, self._moments)
        self._head.draw()
        with ui.tabs(on_change=lambda event: self._choose(str(event.value))).classes("kw-tabs") as tabs:
            tabs.props("dense no-caps inline-label align=left aria-label='Parts of this page'")
            for name, (title, picture, _) in _TABS.items():
                ui.tab(name, title, icon=picture).props["data-testid"] = f"tab-{name}"
        tabs.set_value(self._name)
        self._panel = ui.column().classes("kw-panel").props("role=tabpanel")
        self._show()
        ui.timer(5.0, self._moments.tick)
        self._tasks.append(asyncio.create_task(self._follow(), name=f"page of {self._look.kind} {self._look.key}"))

    def _choose(self, name: str) -> None:
        if name in _TABS and name != self._name:
            self._name = name
            look = self._look
            address = object_address(look.kind.path, look.key.namespace, look.key.name)
            self._shell.show_address(address if name == "overview" else f"{address}?tab={name}")
            self._show()

    def _show(self) -> None:
        self._panel.clear()
        with self._panel:
            self._tab = _TABS[self._name][2](self._look, self._moments)
            self._tab.draw()

    async def _follow(self) -> None:
        """One loop for each page: however much changes, it is brought up to date five times a second at most."""
        try:
            await self._look.open_others()
        except ApiError as error:
            logger.warning("a page does not see what %s owns: %s", self._look.key, error)
        self._woken.set()
        while True:
            await self._woken.wait()
            self._woken.clear()
            try:
                await self._look.refresh()
                self._head.update()
                if self._tab is not None:
                    await self._tab.update()
            except ApiError as error:
                self._head.behind(str(error))
                asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._woken.set)
            except Exception:
                logger.exception("the page of %s %s could not be brought up to date", self._look.kind, self._look.key)
            await asyncio.sleep(_PAUSE)

    def _leave(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._look.close()
