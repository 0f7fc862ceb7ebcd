"""The page that creates an object."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import msgspec
from nicegui import ui

from kubewright.console.forms import Checker, diff_yaml, minimal_object, olm_examples, schema_example
from kubewright.console.kinds import Kind
from kubewright.console.pages._addresses import kind_address
from kubewright.console.pages._context import PageContext
from kubewright.console.pages.edit._change import editable
from kubewright.console.pages.edit._editor import Editor
from kubewright.console.pages.edit._page import EditPage
from kubewright.console.pages.edit._review import Review
from kubewright.console.pages.layout import Shell
from kubewright.console.pages.widgets import heading

__all__ = ["NewPage"]

_MAX_NAMESPACES: Final = 200
_MAX_EXAMPLES: Final = 50
_SERVICE_VERSIONS: Final = "operators.coreos.com/clusterserviceversions"


class NewPage(EditPage):
    """The form of a new object. It is created, so it never overwrites an existing one."""

    action = "create"

    def __init__(
        self, ctx: PageContext, shell: Shell, kind: Kind, namespace: str, copy: str = "", values: str = ""
    ) -> None:
        super().__init__(ctx, shell, kind)
        self.namespace = namespace
        self._copy = copy
        self._values = _fields(values)
        self._checked_namespace: str | None = None

    async def draw(self) -> None:
        """Draws the page."""
        kind = self.kind
        form = await self.form()
        allowed = await self._allowed_namespaces() if kind.namespaced else None
        value = minimal_object(kind.api_version, kind.kind, form, self._initial_namespace(allowed), kind.form)
        if self._copy:
            value = _with_identity(await self._read_source(), value)
        value = _with_fields(value, self._values)
        example = await self._find_example()
        with ui.row().classes("kw-toolbar"):
            heading(f"New {kind.kind}", " · ".join(text for text in (kind.api_version, form.description) if text))
            ui.space()
            if example is not None:
                fill = ui.button("Use example", icon="content_paste")
                fill.props("outline dense no-caps").classes("q-px-sm")
                fill.on_click(lambda: self.editor.replace(_with_identity(example, self.editor.value)))
        editor = Editor(form, Checker(form, namespaced=kind.namespaced), value, namespaces=allowed, declared=kind.form)
        self.draw_editor(editor, kind_address(kind.path))
        await self._check_permission()

    def _initial_namespace(self, allowed: list[str] | None) -> str | None:
        """Returns the initial namespace."""
        if allowed is None:
            return None
        own = self.ctx.viewer.client.namespace
        return self.namespace or (own if own in allowed or not allowed else allowed[0])

    async def _allowed_namespaces(self) -> list[str]:
        """Returns the namespaces in which the viewer may create the object."""
        everywhere = await self.ctx.backend.all_namespaces()
        if await self.ctx.viewer.may("create", self.kind):
            return everywhere
        candidates = everywhere[:_MAX_NAMESPACES]
        answers = await asyncio.gather(*(self.ctx.viewer.may("create", self.kind, one) for one in candidates))
        return [name for name, allowed in zip(candidates, answers, strict=True) if allowed]

    async def _read_source(self) -> dict[str, Any]:
        """Reads the object to copy with the viewer's credentials. Returns it without its identity."""
        namespace, _, name = self._copy.partition("/")
        found = editable(await self.writer.read(name, namespace if self.kind.namespaced else None), self.kind)
        about = {part: found["metadata"][part] for part in ("labels", "annotations") if found["metadata"].get(part)}
        return {**found, "metadata": about}

    async def _find_example(self) -> dict[str, Any] | None:
        """Returns an example from the definition or from OLM; None if there is none."""
        if (found := schema_example(self.kind.schema)) is not None:
            return found
        versions = await self.ctx.backend.kind(_SERVICE_VERSIONS)
        if versions is None or not await self.ctx.viewer.may("list", versions):
            return None
        listed = await self.ctx.viewer.client.list(versions.resource, limit=_MAX_EXAMPLES)
        texts = [text for one in listed if (text := one.metadata.annotations.get("alm-examples"))]
        return next(iter(olm_examples(texts, self.kind.api_version, self.kind.kind)), None)

    # Permissions

    def edited(self) -> None:
        """Checks the permission again if the namespace changed."""
        super().edited()
        if self._checked_namespace is not None and self._current_namespace() != self._checked_namespace:
            self._checked_namespace = self._current_namespace()
            with self.change_notices:
                ui.timer(0, self._check_permission, once=True)

    def _current_namespace(self) -> str:
        metadata = self.editor.value.get("metadata")
        return str(metadata.get("namespace") or "") if isinstance(metadata, dict) else ""

    async def _check_permission(self) -> None:
        viewer, kind = self.ctx.viewer, self.kind
        self._checked_namespace = where = self._current_namespace()
        reason = ""
        if viewer.read_only:
            reason = "This console is read-only."
        elif "create" not in kind.verbs:
            reason = f"The server does not support creating {kind.plural}."
        elif (where or not kind.namespaced) and not await viewer.may("create", kind, where or None):
            place = f" in namespace {where}" if where else ""
            reason = f"You may not create {kind.plural}{place}: you need the verb “create”."
        self.set_disabled_reason(reason)

    async def dry_run(self) -> None:
        """Creates the object as a dry run, and shows the result."""
        value = self.editor.value
        answer = await self.writer.create(value, dry_run=True)
        assert answer.value is not None
        lines = diff_yaml(None, value, answer.value)
        review = Review(
            f"New {self.kind.kind}", "Create", lines, answer.warnings, target=self.target(self._current_namespace())
        )
        self.show(review, lambda: self.writer.create(value))


def _fields(values: str) -> dict[str, Any]:
    """Returns the fields in a URL; none if it contains no JSON object. The form validates them like user input."""
    try:
        found = msgspec.json.decode(values) if values else {}
    except (msgspec.DecodeError, RecursionError):
        return {}
    kept = ("metadata", "spec", "data")
    return {name: part for name, part in found.items() if name in kept} if isinstance(found, dict) else {}


def _with_fields(value: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """Returns the object with these fields merged into it."""
    made = dict(value)
    for name, part in fields.items():
        inner = made.get(name)
        made[name] = _with_fields(inner, part) if isinstance(inner, dict) and isinstance(part, dict) else part
    return made


def _with_identity(example: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    """Returns the example with the name and namespace of the current object."""
    given, own = example.get("metadata"), value.get("metadata")
    metadata: dict[str, Any] = dict(given) if isinstance(given, dict) else {}
    metadata |= {name: text for name, text in (own if isinstance(own, dict) else {}).items() if text}
    body = {name: part for name, part in example.items() if name not in ("apiVersion", "kind", "metadata", "status")}
    return {"apiVersion": value.get("apiVersion"), "kind": value.get("kind"), "metadata": metadata, **body}
