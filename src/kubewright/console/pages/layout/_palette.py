"""The palette that Ctrl+K opens: pages, kinds, and live objects as you type."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from nicegui import background_tasks
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from kubewright.console.caches import MAX_SEARCHED_KINDS, Found, find_objects, searched_kinds
from kubewright.console.objects import State
from kubewright.console.pages._addresses import ListView, home_address, object_address
from kubewright.console.pages._context import PageContext
from kubewright.console.pages._static_files import STATIC
from kubewright.console.theme import ICONS

__all__ = ["Palette"]

_MAX_PER_KIND: Final = 8
_MAX_FIXED_ITEMS: Final = 400
_MAX_QUERY_LENGTH: Final = 200


class Palette(Element, component=STATIC / "palette.js"):
    """A dialog with a search field. It is open when it is created; `open` opens it again.

    The browser waits until the user pauses. A new search cancels the previous one. Objects are read from the caches
    of the console, and only those that the viewer may see are sent.
    """

    def __init__(self, ctx: PageContext, namespace: str, keys: Mapping[str, str]) -> None:
        """Takes the page, the chosen namespace, and the keyboard shortcuts to show."""
        super().__init__()
        self._ctx = ctx
        self._searching: asyncio.Task[None] | None = None
        kinds = ctx.backend.known_kinds
        _, omitted = searched_kinds(kinds)
        self.props["fixed"] = [*_pages(ctx, namespace), *_kinds(ctx, namespace)][:_MAX_FIXED_ITEMS]
        self.props["keys"] = dict(keys)
        self.props["note"] = (
            f"Searched {MAX_SEARCHED_KINDS} of {MAX_SEARCHED_KINDS + omitted} kinds." if omitted else ""
        )
        self.on("search", self._search)
        ctx.on_close(self._cancel)
        ctx.on_session_end(self._cancel)

    def open(self) -> None:
        """Opens the dialog again."""
        self.run_method("open")

    def _cancel(self) -> None:
        if self._searching is not None:
            self._searching.cancel()

    def _search(self, event: GenericEventArguments) -> None:
        given = event.args if isinstance(event.args, dict) else {}
        number, text = given.get("number"), given.get("text")
        self._cancel()
        if isinstance(number, int) and isinstance(text, str) and text.strip() and len(text) <= _MAX_QUERY_LENGTH:
            self._searching = background_tasks.create(self._find(number, text), name="palette")

    async def _find(self, number: int, text: str) -> None:
        backend = self._ctx.backend
        try:
            kinds, _ = searched_kinds(await backend.kinds())
            among = await backend.all_namespaces()
            async for found in find_objects(backend.cache, self._ctx.viewer, kinds, among, text, most=_MAX_PER_KIND):
                self._show(number, [*_objects(found)], done=False)
        finally:
            self._show(number, [], done=True)

    def _show(self, number: int, items: list[dict[str, Any]], *, done: bool) -> None:
        if not self._ctx.browser.is_deleted:
            self.run_method("show", number, msgspec.json.encode(items).decode(), done)


def _pages(ctx: PageContext, namespace: str) -> Iterator[dict[str, str]]:
    yield _item("Kinds", "page", home_address(namespace), "category")
    yield _item("Problems", "page", "/problems", "report_problem")
    yield _item("Operator", "page", "/operator", "precision_manufacturing")
    for extension in ctx.backend.extensions:
        for page in extension.pages.values():
            if page.navigation:
                yield _item(page.title, extension.title, f"/extensions/{extension.name}/{page.name}", page.icon)


def _kinds(ctx: PageContext, namespace: str) -> Iterator[dict[str, str]]:
    for kind in sorted(ctx.backend.known_kinds, key=lambda kind: not kind.custom):
        address = ListView(namespace=namespace if kind.namespaced else "").address(kind.path)
        words = " ".join((kind.plural, *kind.short_names, kind.group))
        yield _item(kind.kind, f"kind · {kind.group or 'core'}", address, "list") | {"words": words}


def _objects(found: Found) -> Iterator[dict[str, Any]]:
    for rank, row in found.rows:
        where = f" in {row['namespace']}" if row["namespace"] else ""
        url = object_address(found.kind.path, row["namespace"], row["name"])
        made = _item(row["name"], f"{found.kind.kind}{where} · {row['state']}", url, ICONS[State(row["state"])])
        yield {**made, "state": row["state"], "rank": rank}


def _item(title: str, detail: str, url: str, icon: str) -> dict[str, str]:
    return {"title": title, "detail": detail, "url": url, "icon": icon}
