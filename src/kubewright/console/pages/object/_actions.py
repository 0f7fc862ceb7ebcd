"""The menu of actions of an object's page, and the dialog that confirms an action."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from nicegui import ui

from kubewright.client import ApiError
from kubewright.console._object_view import ObjectView
from kubewright.console.actions import Action, actions_of, kubectl, scaled_to
from kubewright.console.extensions import Action as Added
from kubewright.console.forms import Writer
from kubewright.console.pages.extensions import ask_action, extension_actions
from kubewright.console.pages.widgets import CopyButton, command, labeled
from kubewright.pausing import PAUSE_ANNOTATION

__all__ = ["ActionsMenu"]

_MAX_REPLICAS = 2**31 - 1


class ActionsMenu:
    """The button with the menu. Draws dialogs in the element `dialogs`, which outlives a redraw of the button."""

    def __init__(self, view: ObjectView, dialogs: ui.element) -> None:
        self._view = view
        self._dialogs = dialogs
        self._version: object = None
        self._extension_actions: list[Added] = []

    def names(self) -> list[str]:
        """Returns the names of the actions in the menu. The menu needs a redraw only if they change."""
        actions = [] if self._view.viewer.read_only else self._actions()
        return [*(one.name for one in actions), *(one.id for one in self._extensions())]

    def draw(self) -> None:
        """Draws the button."""
        view = self._view
        actions = [] if view.viewer.read_only else self._actions()
        button = ui.button("Actions").props("flat dense no-caps icon-right=expand_more data-testid=actions")
        with button, ui.menu():
            for action in actions:
                ui.menu_item(action.title, partial(self._confirm, action.name))
            for added in self._extensions():
                ui.menu_item(added.title, partial(ask_action, view, added, self._dialogs))
            ui.menu_item("Copy as kubectl", self._show_commands)

    def _extensions(self) -> list[Added]:
        """Calls the extensions once per version of the object: their code is not ours, and can be slow or fail."""
        obj = self._view.obj or {}
        version = (obj.get("metadata") or {}).get("resourceVersion")
        if version is None or version != self._version:
            self._version, self._extension_actions = version, extension_actions(self._view)
        return self._extension_actions

    def _actions(self) -> list[Action]:
        view = self._view
        controllers = view.backend.operators.controllers_of(view.kind.group, view.kind.kind)
        annotation = controllers[0].controller.pause_annotation if controllers else PAUSE_ANNOTATION
        return actions_of(
            view.kind,
            view.key.namespace,
            view.key.name,
            view.obj or {},
            datetime.now(UTC),
            pause_annotation=annotation,
        )

    def _show_commands(self) -> None:
        view = self._view
        place = (view.kind, view.key.namespace, view.key.name)
        self._dialogs.clear()
        with self._dialogs, ui.dialog(value=True) as dialog, ui.card():
            labeled(dialog, "Copy as kubectl")
            with ui.element("h2").classes("kw-section"):
                ui.label("Copy as kubectl")
            for line in (kubectl("get", *place, "--output yaml"), kubectl("describe", *place), kubectl("edit", *place)):
                with ui.row().classes("kw-line"):
                    command(line)
                    CopyButton(partial(str, line))
            ui.button("Close", on_click=dialog.close).props("flat dense")

    async def _confirm(self, name: str) -> None:
        action = next((one for one in self._actions() if one.name == name), None)
        if action is None:
            return
        view = self._view
        may = await view.viewer.may("patch", view.kind, view.key.namespace, view.key.name, action.subresource)
        self._dialogs.clear()
        with self._dialogs:
            _Confirmation(view, action, may=may).draw()


class _Confirmation:
    """The dialog of one action: its explanation, the kubectl command that does the same, and its result."""

    def __init__(self, view: ObjectView, action: Action, *, may: bool) -> None:
        self._view = view
        self._action = action
        self._allowed = may
        self._uid = view.uid

    def draw(self) -> None:
        """Draws the open dialog."""
        action, view = self._action, self._view
        with ui.dialog(value=True) as self._dialog, ui.card().props("data-testid=action"):
            labeled(self._dialog, action.title)
            with ui.element("h2").classes("kw-section"):
                ui.label(f"{action.title}: {view.kind.kind} {view.key.name}")
            ui.label(action.explanation).classes("kw-muted")
            if action.replicas is not None:
                self._number = ui.number("Replicas", value=action.replicas, min=0, precision=0)
                self._number.props("outlined dense")
            with ui.row().classes("kw-line"):
                shown = command(self._command())
                CopyButton(self._command)
            if action.replicas is not None:
                self._number.on_value_change(lambda: shown.set_text(self._command()))
            self._problem = ui.label("").classes("kw-error").props("role=alert")
            self._problem.set_visibility(False)
            with ui.row():
                button = ui.button(action.title, icon=action.icon, on_click=self._run).props("unelevated dense no-caps")
                ui.button("Cancel", on_click=self._dialog.close).props("flat dense no-caps")
            if not self._allowed:
                part = f"/{action.subresource}" if action.subresource else ""
                self._fail(f"You may not do this: you need the verb “patch” on {view.kind.plural}{part}.")
                button.disable()

    def _command(self) -> str:
        wanted = f" {self._replicas()}" if self._action.replicas is not None else ""
        return f"{self._action.command}{wanted}".replace("--replicas ", "--replicas=")

    def _replicas(self) -> int:
        return min(max(int(self._number.value or 0), 0), _MAX_REPLICAS)

    def _fail(self, text: str) -> None:
        self._problem.set_text(text)
        self._problem.set_visibility(True)

    async def _run(self) -> None:
        view, action = self._view, self._action
        patch = dict(action.patch) if action.replicas is None else scaled_to(self._replicas())
        record = view.backend.primary.audit.of(view.viewer.name, view.kind)
        writer = Writer(view.viewer.client, view.kind.resource, record)
        try:
            await writer.patch(view.key.name, view.key.namespace or None, self._uid, patch, action.subresource)
        except (ApiError, OSError) as error:
            self._fail(str(error))
            return
        self._dialog.close()
        ui.notify(f"{action.title}: sent to the API server", type="positive")
