"""Deleting an object: what will go with it, what holds it, and its name typed by whoever means it."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import msgspec
from nicegui import ui

from kubewright.cache import CacheSyncError, ObjectKey
from kubewright.client import ApiError, Conflict, NotFound, Propagation
from kubewright.console._kinds import Kind
from kubewright.console._owned import Node, Tree, kinds_below, tree_of
from kubewright.console._shelves import Batch, Shelf
from kubewright.console._visits import Visit, page
from kubewright.console.forms import Writer, form_of, problems_in
from kubewright.console.pages._edit import kind_at, listening
from kubewright.console.pages._edit_review import notice
from kubewright.console.pages._frame import frame
from kubewright.console.pages._parts import heading, labelled, link
from kubewright.console.pages._view import kind_address, object_address

__all__ = ["delete"]

_WAYS: Final[dict[str, str]] = {
    "Background": "Background: it goes at once, and what it owns is deleted after it",
    "Foreground": "Foreground: what it owns is deleted first, and it waits for that",
    "Orphan": "Orphan: only it goes, and what it owns stays",
}
_MOST_SHOWN: Final = 50


@page("/objects/{group}/{plural}/{namespace}/{name}/delete")
async def delete(visit: Visit, group: str, plural: str, namespace: str, name: str) -> None:
    """Delete an object."""
    kind = await kind_at(visit, group, plural)
    place = namespace if kind.namespaced else ""
    with frame(visit, f"Delete {name}", kind=kind, namespace=place):
        await listening(visit)
        await _Delete(visit, kind, place, name).draw()


class _Delete:
    """One browser's question whether an object should go."""

    def __init__(self, visit: Visit, kind: Kind, namespace: str, name: str) -> None:
        self.visit = visit
        self.kind = kind
        self.namespace = namespace
        self.name = name
        record = visit.console.first.audit.of(visit.viewer.name, kind)
        self.writer = Writer(visit.viewer.client, kind.resource, record)
        self.asked = False

    async def draw(self) -> None:
        """All of the page."""
        obj = await self.writer.read(self.name, self.namespace or None)
        metadata = obj["metadata"]
        self.uid = str(metadata.get("uid") or "")
        where = f" in {self.namespace}" if self.namespace else ""
        heading(f"Delete {self.name}", f"{self.kind.kind} · {self.kind.api_version}{where}")
        self.notices = ui.element("div").classes("kw-form")
        self.body = ui.element("div").classes("kw-card kw-form-part kw-narrow")
        if metadata.get("deletionTimestamp"):
            self._terminating(metadata)
            await self._follow()
            return
        with self.body:
            await self._ask(metadata)
        await self._forbid()
        await self._follow()

    async def _ask(self, metadata: dict[str, Any]) -> None:
        self._goes_with_it(await self._owned(), ui.element("div").classes("kw-form"))
        finalizers = [str(one) for one in metadata.get("finalizers") or ()]
        if finalizers:
            text = "It stays, as terminating, until whoever set them has taken them away."
            notice("Finalizers will hold it", [*finalizers, text], "kw-warn").props("data-testid=finalizers")
        self.way = ui.radio(_WAYS, value="Background").props("dense")
        labelled(self.way, "What happens to owned objects")
        self.typed = ui.input(f"Type the name {self.name} to delete it").props(
            "outlined dense stack-label hide-bottom-space autocomplete=off spellcheck=false"
        )
        self.typed.classes("w-full").without_auto_validation()
        labelled(self.typed, "Name of the object to delete")
        with ui.row().classes("w-full items-center gap-2"):
            self.button = ui.button("Delete", icon="delete", color=None, on_click=self._delete)
            self.button.classes("kw-danger").props("unelevated no-caps")
            self.button.disable()
            back = object_address(self.kind.path, self.namespace, self.name)
            ui.button("Cancel", on_click=lambda: ui.navigate.to(back)).props("flat no-caps")
            self.reason = ui.label("").classes("kw-reason").props("data-testid=reason")
        self.typed.on_value_change(self._look)
        self.typed.on("keydown.enter", self._delete)

    def _look(self) -> None:
        self.button.set_enabled(not self.reason.text and self.typed.value == self.name)

    async def _forbid(self) -> None:
        viewer, kind = self.visit.viewer, self.kind
        if viewer.read_only:
            self.reason.set_text("This console is read-only.")
        elif not await viewer.may("delete", kind, self.namespace or None, self.name):
            place = f" in namespace {self.namespace}" if self.namespace else ""
            self.reason.set_text(f"You may not delete {kind.plural}{place}: the verb “delete” is missing.")
        if self.reason.text:
            self.typed.disable()
            self.way.disable()

    # What goes with it

    async def _owned(self) -> Tree:
        """What it owns, at any depth, as far as the viewer may see it."""
        console, viewer = self.visit.console, self.visit.viewer
        owned = console.operators.owned_by(self.kind.group, self.kind.kind)
        shelves: list[Shelf] = []
        for kind in kinds_below(self.kind, await console.kinds(), owned):
            try:
                if await self.visit.sees(kind):  # asked first: a shelf costs the API server a watch
                    shelves.append(await self.visit.shelf(kind))
            except (ApiError, CacheSyncError, OSError):
                continue  # the console may not read it: then it cannot be counted
        sights = {}
        for shelf in shelves:
            sights[shelf.kind] = await viewer.sight(shelf.kind, shelf.used_namespaces())

        def allowed(kind: Kind, key: ObjectKey) -> bool:
            return sights[kind].allows(key.namespace, key.name)

        return tree_of(ObjectKey(self.namespace, self.name), self.uid, shelves, allowed)

    def _goes_with_it(self, tree: Tree, place: ui.element) -> None:
        nodes = [*tree.walk()]
        with place:
            if not nodes:
                ui.label("It owns nothing that you can see. Only it goes.").props("data-testid=owned")
                return
            counts = Counter(node.kind.kind for node in nodes)
            told = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
            more = " and more" if tree.cut else ""
            ui.label(f"What it owns goes with it, as far as you may see: {told}{more}.").classes(
                "kw-notice-title"
            ).props("data-testid=owned")
            with ui.element("ul").classes("kw-owned"):
                for node in nodes[:_MOST_SHOWN]:
                    self._node(node)
            if len(nodes) > _MOST_SHOWN:
                ui.label(f"and {len(nodes) - _MOST_SHOWN} more").classes("kw-reason")

    def _node(self, node: Node) -> None:
        with ui.element("li"):
            link(f"{node.kind.kind} {node.key.name}", object_address(node.kind.path, node.key.namespace, node.key.name))

    # Doing it

    async def _delete(self) -> None:
        if self.reason.text or self.typed.value != self.name:
            return
        way: Propagation = self.way.value
        self.button.props("loading")
        try:
            written = await self.writer.delete(self.name, self.namespace or None, self.uid, way)
        except NotFound:
            self._gone()
        except Conflict:
            self._tell("This is another object now", ["It was deleted and made again meanwhile. Load the page anew."])
        except (ApiError, OSError) as error:
            form = form_of(self.kind.kind, None, namespaced=self.kind.namespaced)
            refusal = problems_in(error, form, {})
            self._tell(refusal.title, [problem.message for problem in refusal.problems])
        else:
            self.asked = True
            if written.value is None:
                self._gone()
            else:
                self._terminating(written.value["metadata"])
        finally:
            self.button.props(remove="loading")

    def _tell(self, title: str, texts: list[str]) -> None:
        self.notices.clear()
        with self.notices:
            notice(title, texts, "kw-bad").props("data-testid=told")

    def _gone(self) -> None:
        self.notices.clear()
        self.body.clear()
        with self.body:
            ui.label(f"{self.name} is deleted.").classes("kw-notice-title").props("role=status data-testid=gone")
            link(f"All {self.kind.plural}", kind_address(self.kind.path))

    def _terminating(self, metadata: dict[str, Any]) -> None:
        """It is on its way, and something holds it."""
        self.notices.clear()
        self.body.clear()
        finalizers = [str(one) for one in metadata.get("finalizers") or ()]
        with self.body:
            waits = f" It waits for {', '.join(finalizers)}." if finalizers else ""
            told = ui.label(f"{self.name} is terminating.{waits}").classes("kw-notice-title")
            told.props("role=status data-testid=terminating")
            ui.label("This page tells when it is gone.").classes("kw-reason")
            link("Look at it", object_address(self.kind.path, self.namespace, self.name))

    async def _follow(self) -> None:
        """Tell when it is gone, and what it waits for meanwhile."""
        try:
            shelf = await self.visit.shelf(self.kind)
        except (ApiError, CacheSyncError, OSError):
            return
        key = (self.namespace, self.name)

        def hear(batch: Batch) -> None:
            if key in batch.gone:
                self._gone()
            elif key in batch.changed and (raw := shelf.get(*key)) is not None:
                metadata = msgspec.json.decode(raw).get("metadata") or {}
                if metadata.get("deletionTimestamp") and metadata.get("uid") == self.uid:
                    self._terminating(metadata)

        self.visit.on_leave(shelf.subscribe(hear).close)
