"""The object as read-only YAML, updated live, with masked secrets and without managed fields by default."""

from __future__ import annotations

from typing import Any

import msgspec
from nicegui import ui

from kubewright.client import ApiError
from kubewright.console._object_view import ObjectView
from kubewright.console.forms import write_yaml
from kubewright.console.objects import is_secret, redact_secret, without_managed_fields
from kubewright.console.pages.object._tab import Tab
from kubewright.console.pages.widgets import CopyButton, RelativeTimes, name_editor

__all__ = ["YamlTab"]


class YamlTab(Tab):
    """A CodeMirror editor with the object."""

    def __init__(self, view: ObjectView, times: RelativeTimes) -> None:
        super().__init__(view, times)
        self._full_object: dict[str, Any] | None = None
        self._shows_managed_fields = False
        self._shows_values = False
        self._editor: ui.codemirror

    def draw(self) -> None:
        """Draws the switches and the editor."""
        with ui.row().classes("kw-toolbar"):
            ui.switch("Managed fields", on_change=lambda event: self._toggle_managed_fields(bool(event.value))).props(
                "dense data-testid=managed-fields"
            )
            if self.view.obj is not None and is_secret(self.view.obj):
                ui.switch("Show values", on_change=lambda event: self._toggle_values(bool(event.value))).props(
                    "dense data-testid=reveal"
                )
            self._note = ui.label("").classes("kw-muted")
            ui.space()
            CopyButton(lambda: self._editor.value)
        self._editor = ui.codemirror(self._text(), language="YAML", line_wrapping=False).classes("kw-yaml")
        name_editor(self._editor, "The object as YAML")
        self._editor.props("data-testid=yaml")
        self._editor.disable()

    async def update(self) -> None:
        """Updates the text if the object changed."""
        if (
            self._shows_managed_fields
            and _revision(self._full_object) != _revision(self.view.obj)
            and not self.view.gone
        ):
            await self._read_full_object()
        text = self._text()
        if text != self._editor.value:
            self._editor.set_value(text)

    def _text(self) -> str:
        obj = self._full_object if self._shows_managed_fields and self._full_object is not None else self.view.obj
        if obj is None:
            return ""
        shown = dict(obj) if self._shows_managed_fields else without_managed_fields(obj)
        return write_yaml(shown if self._shows_values else redact_secret(shown))

    async def _toggle_managed_fields(self, wanted: bool) -> None:
        self._shows_managed_fields = wanted
        await self.update()

    async def _read_full_object(self) -> None:
        """Reads the object from the server. Caches omit managed fields, which are a third of most objects."""
        view = self.view
        try:
            found = await view.viewer.client.get(view.kind.resource, view.key.name, view.key.namespace or None)
        except ApiError as error:
            self._note.set_text(f"Cannot read the managed fields: {error}")
            return
        origin = found.metadata.origin
        if origin is not None:
            self._full_object = msgspec.json.decode(origin.raw)
            self._note.set_text("")

    async def _toggle_values(self, wanted: bool) -> None:
        view = self.view
        allowed = wanted and await view.viewer.may("get", view.kind, view.key.namespace, view.key.name)
        if wanted and not allowed:
            self._note.set_text("You may not get this Secret: its values stay masked.")
        self._shows_values = allowed
        await self.update()


def _revision(obj: dict[str, Any] | None) -> Any:
    metadata = (obj or {}).get("metadata")
    return metadata.get("resourceVersion") if isinstance(metadata, dict) else None
