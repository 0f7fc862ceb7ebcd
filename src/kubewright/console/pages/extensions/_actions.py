"""Actions of extensions on an object: which ones apply, the dialog that confirms one, and its result."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

from nicegui import ui

from kubewright.api import DecodeError, from_dict
from kubewright.console._object_view import ObjectView
from kubewright.console.extensions import Action, ActionContext, missing_need
from kubewright.console.pages.extensions._errors import explain
from kubewright.console.pages.widgets import labeled
from kubewright.durations import format_duration

__all__ = ["ask_action", "extension_actions"]

logger = logging.getLogger("kubewright.console")

_CALL_SECONDS: Final = 60.0


def extension_actions(view: ObjectView) -> list[Action]:
    """Returns the actions of extensions that apply to the object."""
    found = [action for one in view.backend.extensions for action in one.actions_of(view.kind.path)]
    return [action for action in found if _applies(action, view.obj or {})]


def _applies(action: Action, obj: dict[str, Any]) -> bool:
    """Whether to show an action. If `when` fails, the action is shown, and its failure is logged."""
    if action.when is None:
        return True
    try:
        return bool(action.when(from_dict(action.kind, obj)))
    except Exception:
        logger.warning("`when` of action %s failed", action.id, exc_info=True)
        return True


async def ask_action(view: ObjectView, action: Action, dialogs: ui.element) -> None:
    """Shows the dialog of an action."""
    missing = await _missing(view, action)
    dialogs.clear()
    with dialogs:
        _Dialog(view, action).draw(missing)


async def _missing(view: ObjectView, action: Action) -> str:
    if view.viewer.read_only and any(need.verb not in ("get", "list", "watch") for need in action.needs):
        return "This console is read-only."
    place = view.key.namespace, view.key.name
    missing = await missing_need(action.needs, view.backend, view.viewer, view.kind, *place)
    return "" if missing is None else f"You may not do this: {missing[2]}."


class _Dialog:
    """The confirmation of one action. After the run it shows the result."""

    def __init__(self, view: ObjectView, action: Action) -> None:
        self._view = view
        self._action = action
        self._uid = view.uid  # a new object with the same name has another UID

    def draw(self, missing: str) -> None:
        """Draws the open dialog. `missing` is why the viewer may not run the action."""
        action, view = self._action, self._view
        with ui.dialog(value=True) as self._dialog, ui.card().props("data-testid=action"):
            labeled(self._dialog, action.title)
            with ui.element("h2").classes("kw-section"):
                ui.label(f"{action.title}: {view.kind.kind} {view.key.name}")
            if action.confirm:
                ui.label(action.confirm).classes("kw-muted")
            self._typed: ui.input | None = None
            if action.type_name:
                self._typed = ui.input(f"Type the name {view.key.name} to confirm")
                self._typed.props("outlined dense stack-label autocomplete=off spellcheck=false").classes("w-full")
                labeled(self._typed, "Name of the object")
                self._typed.on_value_change(self._update)
            self._result = ui.label("").props("role=status data-testid=action-result").classes("kw-error")
            with ui.row():
                self._button = ui.button(action.title, icon=action.icon, on_click=self._run)
                self._button.props("unelevated dense no-caps")
                self._close = ui.button("Cancel", on_click=self._dialog.close).props("flat dense no-caps")
        self._allowed = not missing
        self._show(missing, failed=True)
        self._update()

    def _update(self) -> None:
        self._button.set_enabled(self._confirmed)

    @property
    def _confirmed(self) -> bool:
        return self._allowed and (self._typed is None or self._typed.value == self._view.key.name)

    def _show(self, text: str, *, failed: bool) -> None:
        self._result.set_text(text)
        self._result.classes(remove="kw-error kw-ready", add="kw-error" if failed else "kw-ready")

    async def _run(self) -> None:
        if not self._confirmed:  # a browser can send events that its page does not offer
            return
        if missing := await _missing(self._view, self._action):
            self._show(missing, failed=True)
            return
        self._button.props("loading").disable()
        outcome = "ok"
        try:
            async with asyncio.timeout(_CALL_SECONDS):
                result = await self._call()
        except TimeoutError:
            outcome = "TimeoutError"
            self._show(
                f"The action has not finished within {format_duration(_CALL_SECONDS)}. It was canceled.", failed=True
            )
            logger.error("action %s has not finished within %s", self._action.id, format_duration(_CALL_SECONDS))
        except Exception as error:
            outcome = type(error).__name__
            self._show(": ".join(explain(error, f"action {self._action.id}")), failed=True)
        else:
            self._show(result or "Done.", failed=False)
            self._allowed = False  # done: the dialog only shows the result
            self._close.set_text("Close")
        finally:
            self._record(outcome)
            self._button.props(remove="loading")
            self._update()

    async def _call(self) -> str | None:
        view, action = self._view, self._action
        try:
            obj = await view.viewer.client.get(action.kind, view.key.name, view.key.namespace or None)
        except DecodeError as error:
            raise ValueError(f"the object does not fit {action.kind.__name__}: {error}") from error
        if obj.metadata.uid != self._uid:
            raise LookupError("the object was deleted and created again; reload the page")
        return await action.run(ActionContext(obj, view.viewer.client, view.viewer.name))

    def _record(self, outcome: str) -> None:
        view = self._view
        record = view.backend.primary.audit.of(view.viewer.name, view.kind)
        record(f"action {self._action.id}", view.key.namespace, view.key.name, [], outcome)
