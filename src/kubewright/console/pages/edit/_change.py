"""The page that changes an existing object."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from nicegui import ui

from kubewright.client import ApiError, Conflict, NotFound
from kubewright.console.caches import Batch
from kubewright.console.forms import (
    MISSING,
    Checker,
    Path,
    changed_paths,
    diff_yaml,
    format_path,
    merge,
    ownership_conflicts,
)
from kubewright.console.kinds import Kind
from kubewright.console.pages._addresses import object_address
from kubewright.console.pages._context import PageContext
from kubewright.console.pages.edit._editor import Editor
from kubewright.console.pages.edit._page import EditPage
from kubewright.console.pages.edit._review import Review
from kubewright.console.pages.layout import Shell
from kubewright.console.pages.widgets import heading, notice
from kubewright.redaction import COPIES_OF_OBJECTS

__all__ = ["ChangePage", "editable"]

_HEADER_FIELDS: Final = ("apiVersion", "kind", "metadata")
_SERVER_METADATA: Final = frozenset(
    [
        *("managedFields", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink"),
        *("deletionTimestamp", "deletionGracePeriodSeconds"),
    ]
)
_MAX_SHOWN_PATHS: Final = 10


def editable(obj: dict[str, Any], kind: Kind) -> dict[str, Any]:
    """Returns the parts of an object that users change: without server-managed metadata, the status, and annotations
    that only contain a copy of the object.
    """
    metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name not in _SERVER_METADATA}
    if (annotations := metadata.get("annotations")) and isinstance(annotations, dict):
        metadata["annotations"] = {name: text for name, text in annotations.items() if name not in COPIES_OF_OBJECTS}
        if not metadata["annotations"]:
            del metadata["annotations"]
    rest = {name: value for name, value in obj.items() if name not in _HEADER_FIELDS}
    if kind.has_status:
        rest.pop("status", None)
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **rest}


def _with_hidden_parts(current: dict[str, Any], wanted: dict[str, Any], kind: Kind) -> dict[str, Any]:
    """Returns the wanted object with the parts of the current one that the form does not show."""
    about = current.get("metadata") or {}
    kept = {name: value for name, value in about.items() if name in _SERVER_METADATA}
    metadata = wanted.get("metadata")
    whole = {**wanted, "metadata": {**(metadata if isinstance(metadata, dict) else {}), **kept}}
    copies = {name: text for name, text in (about.get("annotations") or {}).items() if name in COPIES_OF_OBJECTS}
    if copies:
        shown = whole["metadata"].get("annotations")
        whole["metadata"]["annotations"] = {**copies, **(shown if isinstance(shown, dict) else {})}
    if kind.has_status and "status" in current:
        whole["status"] = current["status"]
    return whole


class ChangePage(EditPage):
    """The form of an existing object. `base` is the state that the edits are based on."""

    action = "apply"

    def __init__(self, ctx: PageContext, shell: Shell, kind: Kind, namespace: str, name: str) -> None:
        super().__init__(ctx, shell, kind)
        self.namespace = namespace
        self.name = name
        self.base: dict[str, Any] = {}

    async def draw(self) -> None:
        """Draws the page. The values of a Secret are shown only on request."""
        heading(f"Edit {self.name}", f"{self.kind.kind} · {self.kind.api_version}")
        if not self.kind.secret:
            await self._draw_form()
            return
        with ui.element("div").classes("kw-form") as body:
            notice("Editing a Secret shows its values", ["They will appear on this page, in the form and as YAML."])

            async def show() -> None:
                body.clear()
                with body:
                    await self._draw_form()

            ui.button("Show the values and edit", icon="visibility", on_click=show).props("outline no-caps")

    async def _draw_form(self) -> None:
        form = await self.form()
        self.base = editable(await self.writer.read(self.name, self.namespace or None), self.kind)
        editor = Editor(
            form, Checker(form, namespaced=self.kind.namespaced), self.base, old=self.base, declared=self.kind.form
        )
        self.draw_editor(editor, object_address(self.kind.path, self.namespace, self.name))
        await self._check_permission()
        await self._follow()

    async def _check_permission(self) -> None:
        viewer, kind = self.ctx.viewer, self.kind
        reason = ""
        if viewer.read_only:
            reason = "This console is read-only."
        elif not await viewer.may("patch", kind, self.namespace or None, self.name):
            place = f" in namespace {self.namespace}" if self.namespace else ""
            reason = f"You may not change {kind.plural}{place}: you need the verb “patch”."
        self.set_disabled_reason(reason)

    # Concurrent changes

    async def _follow(self) -> None:
        """Follows changes of the object while the page is open. Does not wait until the cache is in sync."""
        try:
            cache = await self.ctx.backend.open_cache(self.kind)
        except (ApiError, OSError):
            return  # the console may lack the permission; the review also detects concurrent changes
        self.ctx.on_close(cache.release)

        def on_batch(batch: Batch) -> None:
            key = (self.namespace, self.name)
            if key in batch.gone:
                self._show_concurrent_change("This object was deleted while you were editing it", [], mergeable=False)
            elif key in batch.changed and (raw := cache.get(self.namespace, self.name)) is not None:
                theirs = editable(msgspec.json.decode(raw), self.kind)
                if paths := self._changed_paths(self.base, theirs):
                    shown_paths = [format_path(path) for path in paths[:_MAX_SHOWN_PATHS]]
                    self._show_concurrent_change(
                        "This object was changed while you were editing it", shown_paths, mergeable=True
                    )

        self.ctx.on_close(cache.subscribe(on_batch).close)

    def _show_concurrent_change(self, title: str, shown_paths: list[str], *, mergeable: bool) -> None:
        self.change_notices.clear()
        with self.change_notices, notice(title, shown_paths, "kw-warn").props("data-testid=news"):
            if mergeable:
                merge_button = ui.button("Merge changes", on_click=self._merge_current)
                merge_button.props("outline dense no-caps").classes("self-start q-px-sm")

    def _changed_paths(self, before: dict[str, Any], after: dict[str, Any]) -> list[Path]:
        return changed_paths(before, after, form=self.editor.form)

    async def _merge_current(self) -> dict[str, Any]:
        """Merges the current object into the form and returns it. Reports conflicts."""
        current = await self.writer.read(self.name, self.namespace or None)
        theirs = editable(current, self.kind)
        if self._changed_paths(self.base, theirs):
            merged = merge(self.base, self.editor.value, theirs, self.editor.form)
            self.base = self.initial = theirs
            self.editor.replace(merged.value, old=theirs)
            self.change_notices.clear()
            if merged.conflicts:
                texts = [
                    f"{format_path(conflict.path)}: your value is kept; the server has {_format_json(conflict.theirs)}"
                    for conflict in merged.conflicts
                ]
                self.show_notice("The same fields were changed on the server", texts, "kw-warn")
            else:
                self.show_notice("The server's changes were merged into the form; yours are kept", [], "")
        return current

    async def dry_run(self) -> None:
        """Runs the change as a dry run, and shows the result with the current field owners."""
        try:
            current = await self._merge_current()
        except NotFound:
            self.change_notices.clear()
            self.show_notice(
                "This object was deleted while you were editing it",
                ["To create it again, copy the YAML into a new object."],
            )
            return
        wanted = _with_hidden_parts(current, self.editor.value, self.kind)
        answer = await self.writer.change(current, wanted, dry_run=True)
        assert answer.value is not None
        owners = ownership_conflicts(current, self._changed_paths(self.base, self.editor.value))
        before, requested, after = (editable(one, self.kind) for one in (current, wanted, answer.value))
        lines = diff_yaml(before, requested, after)
        review = Review(f"Change {self.name}", "Apply", lines, answer.warnings, owners, self.target(self.namespace))
        self.show(review, lambda: self.writer.change(current, wanted))

    async def on_conflict(self, error: Conflict) -> None:
        """Handles a write between review and apply: merges both changes and asks for another review."""
        try:
            await self._merge_current()
        except ApiError as failure:
            self.show_rejection(failure)
            return
        text = "Nothing was written. The new changes are in the form: review it again."
        self.show_notice("The object changed after your review", [text], "kw-warn")


def _format_json(value: Any) -> str:
    if value is MISSING:
        return "removed"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 80 else f"{text[:77]}…"
