"""An object as YAML, read-only: what the server has, live, with secrets masked and bookkeeping folded away."""

from __future__ import annotations

from typing import Any

import msgspec
from nicegui import ui

from kubewright.client import ApiError
from kubewright.console._look import Look
from kubewright.console._masks import is_secret, masked, without_managed_fields
from kubewright.console.forms._yaml import write_yaml
from kubewright.console.pages._copy import CopyButton
from kubewright.console.pages._object_parts import Moments, Tab

__all__ = ["YamlTab"]


class YamlTab(Tab):
    """CodeMirror, whose text follows the object."""

    def __init__(self, look: Look, moments: Moments) -> None:
        super().__init__(look, moments)
        self._whole: dict[str, Any] | None = None
        self._managed = False
        self._revealed = False
        self._editor: ui.codemirror

    def draw(self) -> None:
        """Switches, and the text below them."""
        with ui.row().classes("kw-toolbar"):
            ui.switch("Managed fields", on_change=lambda event: self._manage(bool(event.value))).props(
                "dense data-testid=managed-fields"
            )
            if self.look.obj is not None and is_secret(self.look.obj):
                ui.switch("Show values", on_change=lambda event: self._reveal(bool(event.value))).props(
                    "dense data-testid=reveal"
                )
            self._note = ui.label("").classes("kw-muted")
            ui.space()
            CopyButton(lambda: self._editor.value)
        self._editor = ui.codemirror(self._text(), language="YAML", line_wrapping=False).classes("kw-yaml")
        self._editor.props["aria-label"] = "The object as YAML"
        self._editor.props("data-testid=yaml")
        self._editor.disable()

    async def update(self) -> None:
        """The object may be another."""
        if self._managed and _revision(self._whole) != _revision(self.look.obj) and not self.look.gone:
            await self._fetch()
        text = self._text()
        if text != self._editor.value:
            self._editor.set_value(text)

    def _text(self) -> str:
        obj = self._whole if self._managed and self._whole is not None else self.look.obj
        if obj is None:
            return ""
        shown = dict(obj) if self._managed else without_managed_fields(obj)
        return write_yaml(shown if self._revealed else masked(shown))

    async def _manage(self, wanted: bool) -> None:
        self._managed = wanted
        await self.update()

    async def _fetch(self) -> None:
        """Shelves drop the managed fields, a third of most objects: who wants them reads the object himself."""
        look = self.look
        try:
            found = await look.viewer.client.get(look.kind.resource, look.key.name, look.key.namespace or None)
        except ApiError as error:
            self._note.set_text(f"The managed fields could not be read: {error}")
            return
        origin = found.metadata.origin
        if origin is not None:
            self._whole = msgspec.json.decode(origin.raw)
            self._note.set_text("")

    async def _reveal(self, wanted: bool) -> None:
        look = self.look
        allowed = wanted and await look.viewer.may("get", look.kind, look.key.namespace, look.key.name)
        if wanted and not allowed:
            self._note.set_text("You may not get this Secret: its values stay masked.")
        self._revealed = allowed
        await self.update()


def _revision(obj: dict[str, Any] | None) -> Any:
    metadata = (obj or {}).get("metadata")
    return metadata.get("resourceVersion") if isinstance(metadata, dict) else None
