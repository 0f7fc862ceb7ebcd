"""Deleting an object: what will go with it, what holds it, and its name typed by whoever means it."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import msgspec
from nicegui import ui

from kubewright.cache import CacheSyncError, ObjectKey
from kubewright.client import ApiError, Conflict, NotFound, Propagation
from kubewright.console.caches import Batch, ObjectCache
from kubewright.console.forms import Writer, explain_rejection, form_for
from kubewright.console.kinds import Kind
from kubewright.console.objects import Node, Tree, child_kinds, owned_tree
from kubewright.console.pages._addresses import kind_address, object_address
from kubewright.console.pages._context import PageContext
from kubewright.console.pages._page import page
from kubewright.console.pages.layout import frame
from kubewright.console.pages.widgets import heading, labeled, link, notice

__all__ = ["delete"]

_PROPAGATION: Final[dict[str, str]] = {
    "Background": "Background: it goes at once, and what it owns is deleted after it",
    "Foreground": "Foreground: what it owns is deleted first, and it waits for that",
    "Orphan": "Orphan: only it goes, and what it owns stays",
}
_MOST_SHOWN: Final = 50


@page("/objects/{group}/{plural}/{namespace}/{name}/delete")
async def delete(ctx: PageContext, group: str, plural: str, namespace: str, name: str) -> None:
    """Delete an object."""
    kind = await ctx.find_kind(group, plural)
    place = namespace if kind.namespaced else ""
    with frame(ctx, f"Delete {name}", kind=kind, namespace=place):
        await ctx.wait_for_browser()
        await _Delete(ctx, kind, place, name).draw()


class _Delete:
    """One browser's question whether an object should go."""

    def __init__(self, ctx: PageContext, kind: Kind, namespace: str, name: str) -> None:
        self.ctx = ctx
        self.kind = kind
        self.namespace = namespace
        self.name = name
        record = ctx.backend.primary.audit.of(ctx.viewer.name, kind)
        self.writer = Writer(ctx.viewer.client, kind.resource, record)
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
        self.propagation = ui.radio(_PROPAGATION, value="Background").props("dense")
        labeled(self.propagation, "What happens to owned objects")
        self.typed = ui.input(f"Type the name {self.name} to delete it").props(
            "outlined dense stack-label hide-bottom-space autocomplete=off spellcheck=false"
        )
        self.typed.classes("w-full").without_auto_validation()
        labeled(self.typed, "Name of the object to delete")
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
        viewer, kind = self.ctx.viewer, self.kind
        if viewer.read_only:
            self.reason.set_text("This console is read-only.")
        elif not await viewer.may("delete", kind, self.namespace or None, self.name):
            place = f" in namespace {self.namespace}" if self.namespace else ""
            self.reason.set_text(f"You may not delete {kind.plural}{place}: the verb “delete” is missing.")
        if self.reason.text:
            self.typed.disable()
            self.propagation.disable()

    # What goes with it

    async def _owned(self) -> Tree:
        """What it owns, at any depth, as far as the viewer may see it."""
        backend, viewer = self.ctx.backend, self.ctx.viewer
        owned = backend.operators.owned_by(self.kind.group, self.kind.kind)
        caches: list[ObjectCache] = []
        for kind in child_kinds(self.kind, await backend.kinds(), owned):
            try:
                if await self.ctx.can_see(kind):  # asked first: a cache costs the API server a watch
                    caches.append(await self.ctx.cache(kind))
            except (ApiError, CacheSyncError, OSError):
                continue  # the console may not read it: then it cannot be counted
        visibilities = {}
        for cache in caches:
            visibilities[cache.kind] = await viewer.visibility(cache.kind, cache.used_namespaces())

        def allowed(kind: Kind, key: ObjectKey) -> bool:
            return visibilities[kind].allows(key.namespace, key.name)

        return owned_tree(ObjectKey(self.namespace, self.name), self.uid, caches, allowed)

    def _goes_with_it(self, tree: Tree, place: ui.element) -> None:
        nodes = [*tree.walk()]
        with place:
            if not nodes:
                ui.label("It owns nothing that you can see. Only it goes.").props("data-testid=owned")
                return
            counts = Counter(node.kind.kind for node in nodes)
            told = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
            more = " and more" if tree.truncated else ""
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
        propagation: Propagation = self.propagation.value
        self.button.props("loading")
        try:
            written = await self.writer.delete(self.name, self.namespace or None, self.uid, propagation)
        except NotFound:
            self._gone()
        except Conflict:
            self._tell("This is another object now", ["It was deleted and made again meanwhile. Load the page anew."])
        except (ApiError, OSError) as error:
            form = form_for(self.kind.kind, None, namespaced=self.kind.namespaced)
            rejection = explain_rejection(error, form, {})
            self._tell(rejection.title, [problem.message for problem in rejection.problems])
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
            notice(title, texts, "kw-bad").props("data-testid=notice")

    def _gone(self) -> None:
        self.notices.clear()
        self.body.clear()
        with self.body:
            ui.label(f"{self.name} is deleted.").classes("kw-notice-title").props("role=status data-testid=gone")
            link(f"All {self.kind.plural}", kind_address(self.kind.path))

    def _terminating(self, metadata: dict[str, Any]) -> None:
        """It is on its propagation, and something holds it."""
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
            cache = await self.ctx.cache(self.kind)
        except (ApiError, CacheSyncError, OSError):
            return
        key = (self.namespace, self.name)

        def hear(batch: Batch) -> None:
            if key in batch.gone:
                self._gone()
            elif key in batch.changed and (raw := cache.get(*key)) is not None:
                metadata = msgspec.json.decode(raw).get("metadata") or {}
                if metadata.get("deletionTimestamp") and metadata.get("uid") == self.uid:
                    self._terminating(metadata)

        self.ctx.on_close(cache.subscribe(hear).close)
