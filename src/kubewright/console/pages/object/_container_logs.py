"""The logs of the containers of a pod, or of the pods that an object owns."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Final

from nicegui import background_tasks, ui

from kubewright.client import ApiError
from kubewright.console._object_view import ObjectView
from kubewright.console.objects import LEVELS, decode_object, fold_repeats, select_lines
from kubewright.console.pages.widgets import Download, empty, labeled, section

__all__ = ["ContainerLogs", "containers_of"]

_MAX_LINES: Final = 2_000
_MAX_SHOWN: Final = 500
_MAX_LINE_LENGTH: Final = 4_000
_REFRESH_SECONDS: Final = 0.5
_PODS: Final = "core/pods"


def containers_of(pod: dict[str, Any]) -> list[str]:
    """Returns the names of a pod's containers: those of the application, then init and ephemeral containers."""
    spec = pod.get("spec")
    found = []
    for part in ("containers", "initContainers", "ephemeralContainers"):
        listed = spec.get(part) if isinstance(spec, dict) else None
        found += [one["name"] for one in listed or () if isinstance(one, dict) and isinstance(one.get("name"), str)]
    return found


class ContainerLogs:
    """One selected container, its last 2,000 lines, and the filters. Reads with the viewer's own credentials."""

    def __init__(self, view: ObjectView) -> None:
        self._view = view
        self._lines: deque[str] = deque(maxlen=_MAX_LINES)
        self._reading: asyncio.Task[None] | None = None
        self._dirty = False
        self._state = ""

    @staticmethod
    def choices(view: ObjectView) -> dict[str, str]:
        """Returns the containers that can be selected, by `pod/container`."""
        pods = [node.key.name for node in view.tree.walk() if node.kind.path == _PODS]
        if view.kind.path == _PODS and view.obj is not None:
            return {f"{view.key.name}/{one}": one for one in containers_of(view.obj)}
        found = {}
        for pod in pods:
            raw = view.raw(_PODS, view.key.namespace, pod)
            for one in containers_of(decode_object(raw)) if raw is not None else ():
                found[f"{pod}/{one}"] = f"{pod} / {one}"
        return found

    def draw(self, choices: dict[str, str]) -> None:
        """Draws the controls and the lines of the first container."""
        section("Container logs")
        if not choices:
            empty("There are no pods with logs.", picture="subject")
            return
        with ui.row().classes("kw-toolbar"):
            self._container = ui.select(choices, value=next(iter(choices)), on_change=self._start)
            labeled(self._container.props("outlined dense options-dense"), "Container")
            self._level = ui.select(
                {"": "All levels", **{one: f"{one} and above" for one in LEVELS[1:]}},
                value="",
                on_change=self._mark_dirty,
            )
            labeled(self._level.props("outlined dense options-dense"), "Level")
            self._text = ui.input(placeholder="Search", on_change=self._mark_dirty)
            labeled(self._text.props("outlined dense clearable debounce=200"), "Search the log")
            self._following = ui.switch("Follow", value=True, on_change=self._start)
            self._previous = ui.switch("Previous container", value=False, on_change=self._start)
            self._folding = ui.switch("Collapse repeated lines", value=True, on_change=self._mark_dirty)
            ui.button("Download", icon="download", on_click=self._download).props("flat dense no-caps")
        self._file = Download()
        self._note = ui.label("").classes("kw-muted kw-small").props("role=status data-testid=log-state")
        self._output = ui.label("").classes("kw-log kw-card kw-log-plain")
        self._output.props("role=log tabindex=0 data-testid=container-log")
        labeled(self._output, "Container log")
        ui.timer(_REFRESH_SECONDS, self._refresh)
        self._start()

    def close(self) -> None:
        """Stops reading."""
        if self._reading is not None:
            self._reading.cancel()

    def _mark_dirty(self) -> None:
        self._dirty = True

    def _start(self) -> None:
        self.close()
        self._lines.clear()
        self._dirty = True
        self._reading = background_tasks.create(self._read(), name="container log")

    async def _read(self) -> None:
        view = self._view
        pod, _, container = str(self._container.value).partition("/")
        pods = await view.backend.kind(_PODS)
        if pods is None or not await view.viewer.may("get", pods, view.key.namespace, pod, "log"):
            self._state = "You may not read this log: you need the verb “get” on pods/log."
            return
        self._state = "Following" if self._following.value else "Reading…"
        try:
            async for line in view.viewer.client.logs(
                pod,
                view.key.namespace,
                container=container,
                follow=bool(self._following.value) and not self._previous.value,
                previous=bool(self._previous.value),
                timestamps=True,
                tail_lines=_MAX_LINES,
            ):
                self._lines.append(line[:_MAX_LINE_LENGTH])
                self._dirty = True
        except ApiError as error:
            self._state = error.status.message or str(error)
        else:
            self._state = "End of the log"
        self._dirty = True

    def _selected(self) -> list[str]:
        return [*select_lines(self._lines, str(self._level.value or ""), str(self._text.value or ""))]

    def _refresh(self) -> None:
        if not self._dirty:
            self._show_status(self._note.text.partition(" · ")[2])
            return
        self._dirty = False
        found = self._selected()
        shown = [*map(str, fold_repeats(found))] if self._folding.value else found
        self._output.set_text("\n".join(shown[-_MAX_SHOWN:]))
        truncation = f", the last {_MAX_SHOWN} are shown" if len(shown) > _MAX_SHOWN else ""
        self._show_status(f"{len(found):,} of {len(self._lines):,} lines{truncation}")

    def _show_status(self, counted: str) -> None:
        self._note.set_text(f"{self._state} · {counted}")

    def _download(self) -> None:
        name = str(self._container.value).replace("/", "_") + ".log"
        text = "\n".join(self._selected()) + "\n"
        self._file.save(name, text)
