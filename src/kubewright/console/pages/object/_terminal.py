"""The terminal of a pod, or of a pod that the object owns."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any, Final

import nicegui.elements.xterm
from nicegui import background_tasks, ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from kubewright.client import ApiError
from kubewright.console._object_view import ObjectView
from kubewright.console.actions import MAX_INPUT_BYTES, MISSING_VERB, Terminal, may_exec
from kubewright.console.pages._static_files import STATIC
from kubewright.console.pages.object._container_logs import ContainerLogs
from kubewright.console.pages.object._tab import Tab
from kubewright.console.pages.widgets import RelativeTimes, empty, labeled

__all__ = ["TerminalTab", "offers_terminal"]

_PODS: Final = "core/pods"
_SHOW_SECONDS: Final = 30.0
_FRONT_END: Final = Path(nicegui.elements.xterm.__file__).parent / "dist"


async def offers_terminal(view: ObjectView) -> bool:
    """Whether there are containers, and the viewer may open a shell in the first of them."""
    first = next(iter(ContainerLogs.choices(view)), "")
    pods = await view.backend.kind(_PODS) if first else None
    return pods is not None and await may_exec(view.viewer, pods, view.key.namespace, first.partition("/")[0])


class TerminalScreen(Element, component=STATIC / "terminal.js"):
    """An xterm.js terminal. It emits `ready` and `size` with its size, and `typed`."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self.add_resource(_FRONT_END)
        self.props["label"] = label

    async def show(self, data: bytes) -> None:
        """Shows output. Returns when the browser has processed it; raises TimeoutError if it does not."""
        await self.run_method("write", base64.b64encode(data).decode(), timeout=_SHOW_SECONDS)


class TerminalTab(Tab):
    """A shell in the selected container. It ends when another tab or page is opened."""

    def __init__(self, view: ObjectView, times: RelativeTimes) -> None:
        super().__init__(view, times)
        self._terminal: Terminal | None = None
        self._running: asyncio.Task[None] | None = None
        self._choices: dict[str, str] = {}
        self._size: tuple[Any, Any] = (80, 24)

    def content(self) -> Any:
        """Returns whether there are containers. A terminal is not redrawn when others appear."""
        return bool(ContainerLogs.choices(self.view))

    def fill(self) -> None:
        """Draws the controls and the terminal."""
        self.close()
        self._choices = ContainerLogs.choices(self.view)
        if not self._choices:
            empty("There are no containers to run a shell in.", picture="terminal")
            return
        with ui.row().classes("kw-toolbar"):
            self._container = ui.select(self._choices, value=next(iter(self._choices)), on_change=self._start)
            labeled(self._container.props("outlined dense options-dense"), "Container")
            ui.button("Reconnect", icon="refresh", on_click=self._start).props("flat dense no-caps")
            self._state = ui.label("Connecting…").classes("kw-muted kw-small")
            self._state.props("role=status data-testid=terminal-state")
        with ui.element("div").classes("kw-card kw-terminal-frame").props("data-testid=terminal"):
            self._screen = TerminalScreen("Terminal. Shift+Tab leaves it.")
        self._screen.on("ready", self._ready).on("size", self._resized).on("typed", self._typed)
        ui.label("Shift+Tab leaves the terminal. Your input is sent to the container and is not recorded.").classes(
            "kw-muted kw-small"
        )

    async def update(self) -> None:
        """Offers the current containers, without disturbing the open terminal."""
        await super().update()
        choices = ContainerLogs.choices(self.view)
        if choices and choices != self._choices:
            selected = {self._container.value: self._choices[self._container.value]}
            self._choices = {**choices, **selected}
            self._container.set_options(self._choices)

    def close(self) -> None:
        """Ends the shell."""
        if self._running is not None:
            self._running.cancel()

    def _ready(self, event: GenericEventArguments) -> None:
        self._resized(event)
        self._start()

    def _resized(self, event: GenericEventArguments) -> None:
        given = event.args if isinstance(event.args, dict) else {}
        self._size = given.get("cols"), given.get("rows")
        if self._terminal is not None:
            self._terminal.resize(*self._size)

    def _typed(self, event: GenericEventArguments) -> None:
        text = event.args.get("text") if isinstance(event.args, dict) else None
        if self._terminal is not None and not self._terminal.write(text):
            self._state.set_text(f"Input was dropped: the container has not read {MAX_INPUT_BYTES // 1024} KiB yet.")

    def _start(self) -> None:
        self.close()
        self._running = background_tasks.create(self._run(str(self._container.value)), name="terminal")

    async def _run(self, chosen: str) -> None:
        view = self.view
        pod, _, container = chosen.partition("/")
        pods = await view.backend.kind(_PODS)
        if pods is None:
            self._state.set_text(f"You may not open a terminal: {MISSING_VERB}")
            return
        terminal = Terminal(
            view.viewer,
            pods,
            view.key.namespace,
            pod,
            container,
            show=self._screen.show,
            record=view.backend.primary.audit.of_terminal(view.viewer.name, view.key.namespace, pod, container),
            clock=view.backend.clock,
        )
        terminal.resize(*self._size)
        self._terminal = terminal
        self._screen.run_method("clear")
        self._state.set_text(f"Shell in {pod} / {container}")
        try:
            ended = await terminal.run()
        except TimeoutError:
            ended = "The terminal was closed: the browser does not respond."
        except ApiError as error:
            ended = f"The terminal ended: {error}"
        finally:
            if self._terminal is terminal:
                self._terminal = None
        self._state.set_text(ended)
