"""A new object."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from nicegui import ui

from kubewright.console.forms import Checker, diff_yaml, minimal_object, olm_examples, schema_example
from kubewright.console.kinds import Kind
from kubewright.console.pages._addresses import kind_address
from kubewright.console.pages._context import PageContext
from kubewright.console.pages.edit._editor import Editor
from kubewright.console.pages.edit._page import EditPage
from kubewright.console.pages.edit._review import Review
from kubewright.console.pages.layout import Shell
from kubewright.console.pages.widgets import heading

__all__ = ["NewPage"]

_MOST_NAMESPACES: Final = 200
_MOST_EXAMPLES: Final = 50
_SERVICE_VERSIONS: Final = "operators.coreos.com/clusterserviceversions"


class NewPage(EditPage):
    """The form of an object that is not there yet. It is created, and never takes over one that is there."""

    action = "create"

    def __init__(self, ctx: PageContext, shell: Shell, kind: Kind, namespace: str) -> None:
        super().__init__(ctx, shell, kind)
        self.namespace = namespace
        self._asked: str | None = None

    async def draw(self) -> None:
        """All of the page."""
        kind = self.kind
        form = await self.form()
        allowed = await self._namespaces() if kind.namespaced else None
        value = minimal_object(kind.api_version, kind.kind, form, self._first(allowed))
        example = await self._example()
        with ui.row().classes("kw-toolbar"):
            heading(f"New {kind.kind}", " · ".join(text for text in (kind.api_version, form.description) if text))
            ui.space()
            if example is not None:
                fill = ui.button("Start from the example", icon="content_paste")
                fill.props("outline dense no-caps").classes("q-px-sm")
                fill.on_click(lambda: self.editor.replace(_started(example, self.editor.value)))
        editor = Editor(form, Checker(form, namespaced=kind.namespaced), value, namespaces=allowed)
        self.draw_editor(editor, kind_address(kind.path))
        await self._ask()

    def _first(self, allowed: list[str] | None) -> str | None:
        """The namespace to begin with."""
        if allowed is None:
            return None
        own = self.ctx.viewer.client.namespace
        return self.namespace or (own if own in allowed or not allowed else allowed[0])

    async def _namespaces(self) -> list[str]:
        """Where the viewer may create objects of the kind."""
        everywhere = await self.ctx.backend.all_namespaces()
        if await self.ctx.viewer.may("create", self.kind):
            return everywhere
        asked = everywhere[:_MOST_NAMESPACES]
        answers = await asyncio.gather(*(self.ctx.viewer.may("create", self.kind, one) for one in asked))
        return [name for name, allowed in zip(asked, answers, strict=True) if allowed]

    async def _example(self) -> dict[str, Any] | None:
        """What somebody wrote as an example: in the definition, or for OLM."""
        if (found := schema_example(self.kind.schema)) is not None:
            return found
        versions = await self.ctx.backend.kind(_SERVICE_VERSIONS)
        if versions is None or not await self.ctx.viewer.may("list", versions):
            return None
        listed = await self.ctx.viewer.client.list(versions.resource, limit=_MOST_EXAMPLES)
        texts = [text for one in listed if (text := one.metadata.annotations.get("alm-examples"))]
        return next(iter(olm_examples(texts, self.kind.api_version, self.kind.kind)), None)

    # Whether it may be created

    def edited(self) -> None:
        """Form and text agree again; perhaps on another namespace."""
        super().edited()
        if self._asked is not None and self._place() != self._asked:
            self._asked = self._place()
            with self.news:
                ui.timer(0, self._ask, once=True)

    def _place(self) -> str:
        metadata = self.editor.value.get("metadata")
        return str(metadata.get("namespace") or "") if isinstance(metadata, dict) else ""

    async def _ask(self) -> None:
        viewer, kind = self.ctx.viewer, self.kind
        self._asked = where = self._place()
        reason = ""
        if viewer.read_only:
            reason = "This console is read-only."
        elif "create" not in kind.verbs:
            reason = f"The server creates no {kind.plural} on request."
        elif (where or not kind.namespaced) and not await viewer.may("create", kind, where or None):
            place = f" in namespace {where}" if where else ""
            reason = f"You may not create {kind.plural}{place}: the verb “create” is missing."
        self.forbid(reason)

    async def ask_server(self) -> None:
        """What the server would make of a new one."""
        value = self.editor.value
        answer = await self.writer.create(value, dry_run=True)
        assert answer.value is not None
        lines = diff_yaml(None, value, answer.value)
        self.show(Review(f"New {self.kind.kind}", "Create", lines, answer.warnings), lambda: self.writer.create(value))


def _started(example: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    """An example in the place of what is there, except for where and under which name."""
    given, own = example.get("metadata"), value.get("metadata")
    metadata: dict[str, Any] = dict(given) if isinstance(given, dict) else {}
    metadata |= {name: text for name, text in (own if isinstance(own, dict) else {}).items() if text}
    body = {name: part for name, part in example.items() if name not in ("apiVersion", "kind", "metadata", "status")}
    return {"apiVersion": value.get("apiVersion"), "kind": value.get("kind"), "metadata": metadata, **body}
