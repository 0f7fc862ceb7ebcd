"""The live list of one kind."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any, Final

from fastapi import Query
from nicegui import ui

from kubewright.api import Selector, SelectorError
from kubewright.cache import CacheSyncError, ObjectKey
from kubewright.client import ApiError
from kubewright.console.actions import Target
from kubewright.console.caches import Batch, ObjectCache, Row
from kubewright.console.kinds import Kind
from kubewright.console.objects import decode_object
from kubewright.console.pages._addresses import ListView, kind_address, new_address
from kubewright.console.pages._context import PageContext
from kubewright.console.pages._page import page
from kubewright.console.pages._problems import AccessDenied, KindNotFound, draw
from kubewright.console.pages.layout import Frame, frame
from kubewright.console.pages.lists._bulk import SelectionBar
from kubewright.console.pages.lists._grid import LiveGrid, columns_of
from kubewright.console.pages.widgets import command, heading, icon, labeled, link

__all__ = ["kind_list"]

_FIRST_ROWS: Final = 200
"""Rows in the first message, so that the list appears quickly. The others follow in batches of `_BATCH_SIZE`."""
_BATCH_SIZE: Final = 2_000
_RESYNC_SECONDS: Final = 15.0
"""The interval at which the page compares the visible rows with those that it has sent."""
_STATE_SECONDS: Final = 2.0


@page("/kinds/{group}/{plural}")
async def kind_list(
    ctx: PageContext,
    group: str,
    plural: str,
    namespace: str = "",
    text: Annotated[str, Query(alias="filter")] = "",
    labels: str = "",
    sort: str = "",
    wide: str = "",
) -> None:
    """The objects of a kind, in the view that the URL describes."""
    kind = await ctx.find_kind(group, plural)
    shown = _List(ctx, kind, ListView(namespace if kind.namespaced else "", text, labels, sort, wide not in ("", "0")))
    with frame(
        ctx, kind.kind, kind=kind, namespace=shown.view.namespace, in_namespace=shown.in_namespace, fill=True
    ) as around:
        await shown.draw(around)


class _List:
    """The list on one page: its view, and the rows that were sent."""

    def __init__(self, ctx: PageContext, kind: Kind, view: ListView) -> None:
        self.ctx = ctx
        self.kind = kind
        self.view = view
        self.selector = Selector.everything()
        self.sent: dict[str, Row] = {}
        self.complete = False
        self.state = "rows"
        self.typing_labels = False
        self.drawn = _layout_of(kind)
        # Serializes messages. Initial rows must not overwrite newer changes, and rows of an earlier selector must not
        # overwrite those of the current one.
        self.sending = asyncio.Lock()
        self.comparing = asyncio.Lock()

    async def draw(self, around: Frame) -> None:
        """Draws the page. Raises `AccessDenied`."""
        self.shell = around.shell
        ctx, kind = self.ctx, self.kind
        if not await ctx.can_see(kind, self.view.namespace):
            raise AccessDenied("list", kind, ctx.viewer.name, self.view.namespace)
        self.cache: ObjectCache = await ctx.backend.open_cache(kind)
        ctx.on_close(self.cache.release)
        around.follow(self.cache)
        self.selector = self._selector(self.view.labels) or Selector.everything()
        with ui.row().classes("kw-toolbar"):
            scope = "namespaced" if kind.namespaced else "cluster-scoped"
            heading(kind.kind, f"{kind.api_version} · {scope}")
            ui.space()
            await self._create_button()
        self._toolbar()
        self.selection = SelectionBar(ctx, kind, self.targets)
        self.selection.draw()
        self.empty = ui.column().classes("w-full kw-empty")
        self.grid = LiveGrid(kind, self.view, on_ready=self.fill, on_sort=self.sort, on_select=self.selection.show)
        self.grid.props["data-testid"] = "grid"
        if self.cache.synced:
            await self._draw_first_rows()

    async def _draw_first_rows(self) -> None:
        """Puts the first rows into the page, so that they appear before the browser has connected its socket."""
        with suppress(ApiError):  # the frame reports the lost connection
            keys = await self._visible_keys()
            rows = await self.cache.rows_of(self.ctx.viewer, keys[:_FIRST_ROWS])
            if rows:
                self.sent.update((row["id"], row) for row in rows)
                self.grid.set_initial_rows(rows, last=len(keys) <= _FIRST_ROWS)

    def _toolbar(self) -> None:
        with ui.row().classes("kw-toolbar"):
            self.filter_field = ui.input(placeholder="Filter", value=self.view.text)
            self.filter_field.props("outlined dense clearable hide-bottom-space debounce=150").on_value_change(
                self.filter
            )
            self.filter_field.props["data-search"] = "page"
            labeled(self.filter_field, "Filter rows")
            with self.filter_field.add_slot("prepend"):
                icon("filter_list")
            self.label_field = ui.input(placeholder="Labels: app=web", value=self.view.labels)
            self.label_field.props("outlined dense clearable hide-bottom-space debounce=300")
            self.label_field.on_value_change(self.choose_labels)
            self.label_field.on("blur", self.finish_labels, args=[])
            labeled(self.label_field, "Label selector")
            with self.label_field.add_slot("prepend"):
                icon("label")
            if any(column.wide for column in self.kind.columns):
                ui.switch("All columns", value=self.view.wide, on_change=self.widen).classes("kw-wide-only")
        if self._selector(self.view.labels) is None:
            self._show_selector_error(self.view.labels)

    async def _create_button(self) -> None:
        self.may_create = await self._may_create()
        if self.may_create:
            made = ui.button(f"New {self.kind.kind}", icon="add", on_click=self._create).props(
                "unelevated dense no-caps"
            )
            made.classes("q-px-md")

    async def _may_create(self) -> bool:
        if "create" not in self.kind.verbs:
            return False
        namespace = self.view.namespace or None
        if await self.ctx.viewer.may("create", self.kind, namespace):
            return True
        own = self.ctx.viewer.client.namespace
        return self.kind.namespaced and not namespace and await self.ctx.viewer.may("create", self.kind, own)

    def _create(self) -> None:
        ui.navigate.to(new_address(self.kind.path, self.view.namespace))

    # User input

    def show(self, *, push: bool = False, **changes: str | bool) -> None:
        """Changes the view and the URL."""
        self.view = self.view.replace(**changes)
        self.shell.show_address(self.view.address(self.kind.path), push=push)

    def filter(self) -> None:
        """Applies the filter."""
        self.show(text=self.filter_field.value or "")
        self.grid.search(self.view.text)

    def sort(self, sort: str) -> None:
        """Applies the sort order."""
        self.show(sort=sort)

    def widen(self, event: Any) -> None:
        """Shows or hides columns of lower priority."""
        self.show(wide=bool(event.value))
        self.grid.widen(self.view.wide)

    def in_namespace(self, namespace: str) -> str:
        """Returns the path of this view in another namespace."""
        return self.view.replace(namespace=namespace).address(self.kind.path)

    def targets(self, ids: Sequence[str]) -> list[Target]:
        """Returns the objects of those rows that this page has sent and that still exist."""
        found = []
        for row in (self.sent[one] for one in ids if one in self.sent):
            raw = self.cache.get(row["namespace"], row["name"])
            if raw is not None and row["uid"]:
                metadata = decode_object(raw).get("metadata")
                about = metadata if isinstance(metadata, dict) else {}
                found.append(Target(row["namespace"], row["name"], row["uid"], about))
        return found

    async def choose_labels(self) -> None:
        """Applies the label selector as the user types. Reports an invalid one at its field, and does not apply it."""
        text = (self.label_field.value or "").strip()
        selector = self._selector(text)
        if selector is None:
            self._show_selector_error(text)
            return
        self.label_field.error = None
        if text != self.view.labels:
            self.selector = selector
            # One history entry per edit, not per keystroke, so that Back returns to the previous selector.
            self.show(push=not self.typing_labels, labels=text)
            self.typing_labels = True
            await self.fill()

    def finish_labels(self) -> None:
        """Ends an edit of the label selector: the next one creates a new history entry."""
        self.typing_labels = False

    def _selector(self, text: str) -> Selector | None:
        try:
            return Selector.parse(text) if text else Selector.everything()
        except SelectorError:
            return None

    def _show_selector_error(self, text: str) -> None:
        try:
            Selector.parse(text)
        except SelectorError as error:
            self.label_field.error = str(error)

    # Cluster changes

    async def fill(self) -> None:
        """Sends the visible rows in batches. Does not send unchanged rows again."""
        self.grid.drop_initial_rows()
        try:
            await self.cache.wait_for_sync()
        except (ApiError, CacheSyncError) as error:
            self.grid.set_visibility(False)
            self.empty.clear()
            with self.empty:
                draw(error)
            return
        if not self.complete:
            subscription = self.cache.subscribe(self.follow)
            self.ctx.on_close(subscription.close)
            ui.timer(_RESYNC_SECONDS, self.resync)
            ui.timer(_STATE_SECONDS, self.check_definition)
            self.complete = True
        await self.resync()

    async def resync(self) -> None:
        """Compares the visible rows with those that were sent, and sends the difference."""
        with suppress(ApiError):  # the frame reports the lost connection
            async with self.comparing:
                await self._compare()
        await self.show_state()

    async def _compare(self) -> None:
        keys = await self._visible_keys()
        gone = [*(self.sent.keys() - {str(key) for key in keys})]
        ends = [_FIRST_ROWS, *range(_FIRST_ROWS + _BATCH_SIZE, len(keys) + _BATCH_SIZE, _BATCH_SIZE)]
        for start, end in zip([0, *ends], ends, strict=False):
            async with self.sending:
                rows = await self.cache.rows_of(self.ctx.viewer, keys[start:end])
                self._send(rows, gone if start == 0 else [], last=end >= len(keys))
            await asyncio.sleep(0)  # lets other pages run

    async def _visible_keys(self) -> list[ObjectKey]:
        seen = await self.cache.visible(self.ctx.viewer, self.view.namespace or None)
        return [one.key for one in seen if self.selector.matches(dict(one.label_items))]

    async def follow(self, batch: Batch) -> None:
        """Sends the changes of a batch."""
        async with self.sending:
            keys = [key for key in batch.changed if self.view.namespace in ("", key.namespace)]
            found = await self.cache.rows_of(self.ctx.viewer, keys)
            rows = [row for row in found if self.selector.matches(_labels_in(row))]
            matching = {row["id"] for row in rows}
            # Objects that became hidden or no longer match the selector are removed from this list.
            gone = [one for one in map(str, [*batch.gone, *keys]) if one in self.sent and one not in matching]
            self._send(rows, gone)
        await self.show_state()

    def _send(self, rows: list[Row], gone: list[str], *, last: bool = False) -> None:
        if self.ctx.browser.is_deleted:
            return
        changed = [row for row in rows if self.sent.get(row["id"]) is not row]
        for one in gone:
            self.sent.pop(one, None)
        self.sent.update((row["id"], row) for row in changed)
        if changed or gone or last:
            self.grid.change(changed, gone, last=last)

    async def check_definition(self) -> None:
        """Reloads the page when the columns or the version of the definition have changed. The URL preserves the view.

        Also detects revoked and restored permissions, and updates the rows.
        """
        if await self._permission_changed():
            await self.resync()
        await self.show_state()
        with suppress(ApiError, CacheSyncError):
            kind = await self.ctx.backend.kind(self.kind.path)
            if kind is not None and _layout_of(kind) != self.drawn:
                self.drawn = _layout_of(kind)
                ui.navigate.reload()

    async def show_state(self) -> None:
        """Shows the rows, or why there are none."""
        state = "rows" if self.sent else await self._empty_state()
        if state == self.state or self.ctx.browser.is_deleted:
            return
        self.state = state
        self.grid.set_visibility(state == "rows")
        self.empty.clear()
        with self.empty:
            if state == "denied":
                draw(AccessDenied("list", self.kind, self.ctx.viewer.name, self.view.namespace, revoked=True))
            elif state == "missing":
                draw(KindNotFound(self.kind.path, self.ctx.backend.known_kinds))
            elif state == "empty":
                self._draw_empty()

    async def _empty_state(self) -> str:
        if await self._is_denied():
            return "denied"
        try:
            return "missing" if await self.ctx.backend.kind(self.kind.path) is None else "empty"
        except (ApiError, CacheSyncError):
            return "empty"  # the server did not answer

    async def _is_denied(self) -> bool:
        try:
            return not await self.ctx.can_see(self.kind, self.view.namespace)
        except (ApiError, CacheSyncError):
            return self.state == "denied"  # the server did not answer, so the state stays

    async def _permission_changed(self) -> bool:
        """Whether the permission to see the rows was revoked or restored."""
        if self.state == "rows":
            # Checking all namespaces needs many access reviews; `resync` does it less often.
            return bool(self.view.namespace) and await self._is_denied()
        return self.state == "denied" and not await self._is_denied()

    def _draw_empty(self) -> None:
        with ui.column().classes("kw-card kw-problem").props("data-testid=empty"):
            icon("inbox").classes("kw-muted")
            where = f" in namespace {self.view.namespace}" if self.view.namespace else ""
            selected = f" with labels {self.view.labels}" if self.view.labels else ""
            ui.label(f"No {self.kind.kind}{where}{selected} yet").classes("kw-problem-title")
            if self.may_create:
                ui.label("Create one here, or from a terminal:").classes("kw-problem-text")
                link(f"New {self.kind.kind}", new_address(self.kind.path, self.view.namespace))
            command(f"kubectl apply -f {self.kind.singular}.yaml")
            if self.view.namespace:
                link("Search all namespaces", kind_address(self.kind.path))


def _layout_of(kind: Kind) -> object:
    """Returns the parts of a definition that a list shows."""
    return kind.version, columns_of(kind)


def _labels_in(row: Row) -> dict[str, str]:
    return dict(one.split("=", 1) for one in row["labels"].split(",") if one)
