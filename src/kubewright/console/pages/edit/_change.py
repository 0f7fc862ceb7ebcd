"""A change of an object that is there, and that others change, too."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from nicegui import ui

from kubewright.cache import CacheSyncError
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

__all__ = ["ChangePage", "editable"]

_HEAD: Final = ("apiVersion", "kind", "metadata")
_SERVERS: Final = frozenset(
    [
        *("managedFields", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink"),
        *("deletionTimestamp", "deletionGracePeriodSeconds"),
    ]
)
_MOST_PLACES: Final = 10


def editable(obj: dict[str, Any], kind: Kind) -> dict[str, Any]:
    """What of an object people may change: without what only the server writes, and without what is only reported."""
    metadata = {name: value for name, value in (obj.get("metadata") or {}).items() if name not in _SERVERS}
    rest = {name: value for name, value in obj.items() if name not in _HEAD}
    if kind.has_status:
        rest.pop("status", None)
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **rest}


def _whole(current: dict[str, Any], wanted: dict[str, Any], kind: Kind) -> dict[str, Any]:
    """What is wanted, with what only the server writes of the object as it is."""
    kept = {name: value for name, value in (current.get("metadata") or {}).items() if name in _SERVERS}
    metadata = wanted.get("metadata")
    whole = {**wanted, "metadata": {**(metadata if isinstance(metadata, dict) else {}), **kept}}
    if kind.has_status and "status" in current:
        whole["status"] = current["status"]
    return whole


class ChangePage(EditPage):
    """The form of an object. `base` is what the changes in it were made to."""

    action = "apply"

    def __init__(self, ctx: PageContext, shell: Shell, kind: Kind, namespace: str, name: str) -> None:
        super().__init__(ctx, shell, kind)
        self.namespace = namespace
        self.name = name
        self.base: dict[str, Any] = {}

    async def draw(self) -> None:
        """All of the page. The values of a Secret are format_path to whoever asks for them, and not before."""
        heading(f"Edit {self.name}", f"{self.kind.kind} · {self.kind.api_version}")
        if not self.kind.secret:
            await self._draw_form()
            return
        with ui.element("div").classes("kw-form") as body:
            notice("To edit a Secret is to see its values", ["They will stand on this page, in the form and as YAML."])

            async def show() -> None:
                body.clear()
                with body:
                    await self._draw_form()

            ui.button("Show the values and edit", icon="visibility", on_click=show).props("outline no-caps")

    async def _draw_form(self) -> None:
        form = await self.form()
        self.base = editable(await self.writer.read(self.name, self.namespace or None), self.kind)
        editor = Editor(form, Checker(form, namespaced=self.kind.namespaced), self.base, old=self.base)
        self.draw_editor(editor, object_address(self.kind.path, self.namespace, self.name))
        await self._ask()
        await self._follow()

    async def _ask(self) -> None:
        viewer, kind = self.ctx.viewer, self.kind
        reason = ""
        if viewer.read_only:
            reason = "This console is read-only."
        elif not await viewer.may("patch", kind, self.namespace or None, self.name):
            place = f" in namespace {self.namespace}" if self.namespace else ""
            reason = f"You may not change {kind.plural}{place}: the verb “patch” is missing."
        self.forbid(reason)

    # Others change it, too

    async def _follow(self) -> None:
        """Hear of what others do with the object while this page is open."""
        try:
            cache = await self.ctx.cache(self.kind)
        except (ApiError, CacheSyncError, OSError):
            return  # the console itself may not read this kind; the review finds out in time

        def hear(batch: Batch) -> None:
            key = (self.namespace, self.name)
            if key in batch.gone:
                self._tell_news("This object was deleted meanwhile", [], mergeable=False)
            elif key in batch.changed and (raw := cache.get(self.namespace, self.name)) is not None:
                theirs = editable(msgspec.json.decode(raw), self.kind)
                if paths := self._differs(self.base, theirs):
                    places = [format_path(path) for path in paths[:_MOST_PLACES]]
                    self._tell_news("Somebody changed this object meanwhile", places, mergeable=True)

        self.ctx.on_close(cache.subscribe(hear).close)

    def _tell_news(self, title: str, places: list[str], *, mergeable: bool) -> None:
        self.news.clear()
        with self.news, notice(title, places, "kw-warn").props("data-testid=news"):
            if mergeable:
                together = ui.button("Bring both together", on_click=self._merged)
                together.props("outline dense no-caps").classes("self-start q-px-sm")

    def _differs(self, before: dict[str, Any], after: dict[str, Any]) -> list[Path]:
        return changed_paths(before, after, form=self.editor.form)

    async def _merged(self) -> dict[str, Any]:
        """The object as it is now, with our changes on top of it in the form. Clashes are told."""
        current = await self.writer.read(self.name, self.namespace or None)
        theirs = editable(current, self.kind)
        if self._differs(self.base, theirs):
            merged = merge(self.base, self.editor.value, theirs, self.editor.form)
            self.base = self.initial = theirs
            self.editor.replace(merged.value, old=theirs)
            self.news.clear()
            if merged.conflicts:
                texts = [
                    f"{format_path(conflict.path)}: yours stands; on the server it is {_told(conflict.theirs)}"
                    for conflict in merged.conflicts
                ]
                self.tell("You both changed the same fields", texts, "kw-warn")
            else:
                self.tell("The changes of others are in the form now, and yours are kept", [], "")
        return current

    async def ask_server(self) -> None:
        """What the server would make of the change, and who owns what it touches."""
        try:
            current = await self._merged()
        except NotFound:
            self.news.clear()
            self.tell("This object was deleted meanwhile", ["To make it again, copy the YAML into a new one."])
            return
        wanted = _whole(current, self.editor.value, self.kind)
        answer = await self.writer.change(current, wanted, dry_run=True)
        assert answer.value is not None
        owners = ownership_conflicts(current, self._differs(self.base, self.editor.value))
        lines = diff_yaml(current, wanted, answer.value)
        review = Review(f"Change {self.name}", "Apply", lines, answer.warnings, owners)
        self.show(review, lambda: self.writer.change(current, wanted))

    async def on_conflict(self, error: Conflict) -> None:
        """Somebody wrote between the review and the write: both are brought together, and looked at again."""
        try:
            await self._merged()
        except ApiError as failure:
            self.refused(failure)
            return
        text = "Nothing was written. Their changes are in the form now: review it again."
        self.tell("Somebody changed the object a moment ago", [text], "kw-warn")


def _told(value: Any) -> str:
    if value is MISSING:
        return "removed"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 80 else f"{text[:77]}…"
