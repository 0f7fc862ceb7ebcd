"""The page that deletes an object: it shows dependents and finalizers, and asks for a confirmation."""

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
    "Background": "Background: delete the object first, then the objects that it owns",
    "Foreground": "Foreground: delete the objects that it owns first",
    "Orphan": "Orphan: keep the objects that it owns",
}
_MAX_SHOWN: Final = 50


@page("/objects/{group}/{plural}/{namespace}/{name}/delete")
async def delete(ctx: PageContext, group: str, plural: str, namespace: str, name: str) -> None:
    """Deletes an object."""
    kind = await ctx.find_kind(group, plural)
    place = namespace if kind.namespaced else ""
    with frame(ctx, f"Delete {name}", kind=kind), ctx.spinner_if_slow():
        await _Delete(ctx, kind, place, name).draw()


class _Delete:
    """The confirmation of one deletion."""

    def __init__(self, ctx: PageContext, kind: Kind, namespace: str, name: str) -> None:
        self.ctx = ctx
        self.kind = kind
        self.namespace = namespace
        self.name = name
        with_namespace = bool(namespace) and kind.form.confirm_deletion == "namespace/name"
        self.expected = f"{namespace}/{name}" if with_namespace else name
        """The string that the viewer must type."""
        self.expected_parts = "namespace and name" if with_namespace else "name"
        record = ctx.backend.primary.audit.of(ctx.viewer.name, kind)
        self.writer = Writer(ctx.viewer.client, kind.resource, record)

    async def draw(self) -> None:
        """Draws the page."""
        obj = await self.writer.read(self.name, self.namespace or None)
        metadata = obj["metadata"]
        self.uid = str(metadata.get("uid") or "")
        where = f" in {self.namespace}" if self.namespace else ""
        heading(f"Delete {self.name}", f"{self.kind.kind} · {self.kind.api_version}{where}")
        self.notices = ui.element("div").classes("kw-form")
        self.body = ui.element("div").classes("kw-card kw-form-part kw-narrow")
        if metadata.get("deletionTimestamp"):
            self._show_terminating(metadata)
            await self._follow()
            return
        with self.body:
            await self._draw_confirmation(metadata)
        await self._check_permission()
        await self._follow()

    async def _draw_confirmation(self, metadata: dict[str, Any]) -> None:
        self._show_dependents(await self._find_dependents(), ui.element("div").classes("kw-form"))
        finalizers = [str(one) for one in metadata.get("finalizers") or ()]
        if finalizers:
            text = "The object stays, in state terminating, until they are removed."
            notice("Finalizers will block the deletion", [*finalizers, text], "kw-warn").props("data-testid=finalizers")
        self.propagation = ui.radio(_PROPAGATION, value="Background").props("dense")
        labeled(self.propagation, "Propagation policy")
        self.typed = ui.input(f"Type the {self.expected_parts} {self.expected} to delete it").props(
            "outlined dense stack-label hide-bottom-space autocomplete=off spellcheck=false"
        )
        self.typed.classes("w-full").without_auto_validation()
        labeled(self.typed, f"{self.expected_parts.capitalize()} of the object to delete")
        with ui.row().classes("w-full items-center gap-2"):
            self.button = ui.button("Delete", icon="delete", color=None, on_click=self._delete)
            self.button.classes("kw-danger").props("unelevated no-caps")
            self.button.disable()
            back = object_address(self.kind.path, self.namespace, self.name)
            ui.button("Cancel", on_click=lambda: ui.navigate.to(back)).props("flat no-caps")
            self.reason = ui.label("").classes("kw-reason").props("data-testid=reason")
        self.typed.on_value_change(self._update_button)
        self.typed.on("keydown.enter", self._delete)

    def _update_button(self) -> None:
        self.button.set_enabled(not self.reason.text and self.typed.value == self.expected)

    async def _check_permission(self) -> None:
        viewer, kind = self.ctx.viewer, self.kind
        if viewer.read_only:
            self.reason.set_text("This console is read-only.")
        elif not await viewer.may("delete", kind, self.namespace or None, self.name):
            place = f" in namespace {self.namespace}" if self.namespace else ""
            self.reason.set_text(f"You may not delete {kind.plural}{place}: you need the verb “delete”.")
        if self.reason.text:
            self.typed.disable()
            self.propagation.disable()

    # Dependents

    async def _find_dependents(self) -> Tree:
        """Returns the objects that the object owns, at any depth, if the viewer may see them."""
        backend, viewer = self.ctx.backend, self.ctx.viewer
        owned = backend.operators.owned_by(self.kind.group, self.kind.kind)
        caches: list[ObjectCache] = []
        for kind in child_kinds(self.kind, await backend.kinds(), owned):
            try:
                if await self.ctx.can_see(kind):  # checked first: a cache costs the API server a watch
                    caches.append(await self.ctx.cache(kind))
            except (ApiError, CacheSyncError, OSError):
                continue  # the console may not read this kind, so the page does not list its objects
        visibilities = {}
        for cache in caches:
            visibilities[cache.kind] = await viewer.visibility(cache.kind, cache.used_namespaces())

        def allowed(kind: Kind, key: ObjectKey) -> bool:
            return visibilities[kind].allows(key.namespace, key.name)

        return owned_tree(ObjectKey(self.namespace, self.name), self.uid, caches, allowed)

    def _show_dependents(self, tree: Tree, place: ui.element) -> None:
        nodes = [*tree.walk()]
        with place:
            if not nodes:
                ui.label("It owns no objects that you may see. Only this object is deleted.").props("data-testid=owned")
                return
            counts = Counter(node.kind.kind for node in nodes)
            counted = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
            more = " and more" if tree.truncated else ""
            ui.label(f"Objects that it owns, as far as you may see: {counted}{more}.").classes("kw-notice-title").props(
                "data-testid=owned"
            )
            with ui.element("ul").classes("kw-owned"):
                for node in nodes[:_MAX_SHOWN]:
                    self._draw_dependent(node)
            if len(nodes) > _MAX_SHOWN:
                ui.label(f"and {len(nodes) - _MAX_SHOWN} more").classes("kw-reason")

    def _draw_dependent(self, node: Node) -> None:
        with ui.element("li"):
            link(f"{node.kind.kind} {node.key.name}", object_address(node.kind.path, node.key.namespace, node.key.name))

    # Deletion

    async def _delete(self) -> None:
        if self.reason.text or self.typed.value != self.expected:
            return
        propagation: Propagation = self.propagation.value
        self.button.props("loading")
        try:
            written = await self.writer.delete(self.name, self.namespace or None, self.uid, propagation)
        except NotFound:
            self._show_deleted()
        except Conflict:
            self._show_notice("This is a different object now", ["It was deleted and created again. Reload the page."])
        except (ApiError, OSError) as error:
            form = form_for(self.kind.kind, None, namespaced=self.kind.namespaced)
            rejection = explain_rejection(error, form, {})
            self._show_notice(rejection.title, [problem.message for problem in rejection.problems])
        else:
            if written.value is None:
                self._show_deleted()
            else:
                self._show_terminating(written.value["metadata"])
        finally:
            self.button.props(remove="loading")

    def _show_notice(self, title: str, texts: list[str]) -> None:
        self.notices.clear()
        with self.notices:
            notice(title, texts, "kw-bad").props("data-testid=notice")

    def _show_deleted(self) -> None:
        self.notices.clear()
        self.body.clear()
        with self.body:
            ui.label(f"{self.name} was deleted.").classes("kw-notice-title").props("role=status data-testid=gone")
            link(f"All {self.kind.plural}", kind_address(self.kind.path))

    def _show_terminating(self, metadata: dict[str, Any]) -> None:
        """Shows that the object is terminating, and which finalizers block it."""
        self.notices.clear()
        self.body.clear()
        finalizers = [str(one) for one in metadata.get("finalizers") or ()]
        with self.body:
            waits = f" Waiting for {', '.join(finalizers)}." if finalizers else ""
            label = ui.label(f"{self.name} is terminating.{waits}").classes("kw-notice-title")
            label.props("role=status data-testid=terminating")
            ui.label("This page shows when it is deleted.").classes("kw-reason")
            link("Show the object", object_address(self.kind.path, self.namespace, self.name))

    async def _follow(self) -> None:
        """Updates the page until the object is deleted."""
        try:
            cache = await self.ctx.backend.open_cache(self.kind)
        except (ApiError, OSError):
            return
        self.ctx.on_close(cache.release)
        key = (self.namespace, self.name)

        def on_batch(batch: Batch) -> None:
            if key in batch.gone:
                self._show_deleted()
            elif key in batch.changed and (raw := cache.get(*key)) is not None:
                metadata = msgspec.json.decode(raw).get("metadata") or {}
                if metadata.get("deletionTimestamp") and metadata.get("uid") == self.uid:
                    self._show_terminating(metadata)

        self.ctx.on_close(cache.subscribe(on_batch).close)
