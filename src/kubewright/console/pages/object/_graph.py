"""The owner graph: the owners above the object, and the objects that it owns below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from nicegui import ui

from kubewright.console.kinds import Kind
from kubewright.console.objects import Node
from kubewright.console.pages._addresses import object_address
from kubewright.console.pages.object._tab import Tab
from kubewright.console.pages.widgets import link, section, state_mark

__all__ = ["GraphCard"]

_MAX_SIBLINGS: Final = 25
_MAX_NAMED: Final = 8


class GraphCard(Tab):
    """One tree, from the topmost owner to the last dependent."""

    def content(self) -> Any:
        """Returns the nodes, the state of the object, and what is hidden."""
        view = self.view
        return view.tree, view.ancestry, view.health, view.ready, view.unlisted

    def fill(self) -> None:
        """Draws the tree."""
        view = self.view
        with ui.column().classes("kw-card kw-box").props("data-testid=owned"):
            section("Owner graph")
            if not view.ready:
                ui.label("Loading…").classes("kw-muted")
                return
            with ui.element("ul").classes("kw-tree").props("aria-label='Owner graph'"):
                self._draw_levels([*reversed(view.ancestry.levels)])
            if not view.tree.children:
                names = ", ".join(kind.plural for kind in view.searched[:_MAX_NAMED])
                _draw_note("It owns no objects." + (f" Searched: {names}." if names else ""))
            if view.tree.truncated or view.ancestry.truncated:
                _draw_note("Not all objects are shown.")
            if view.ancestry.missing:
                _draw_note(f"Owners that do not exist: {', '.join(view.ancestry.missing[:_MAX_NAMED])}.")
            hidden = [*dict.fromkeys([*view.ancestry.hidden, *view.unlisted])]
            if hidden:
                _draw_hidden_kinds(hidden)

    def _draw_levels(self, levels: Sequence[tuple[Node, ...]]) -> None:
        """Draws the owners of one level. The next level is nested in the last owner."""
        if not levels:
            self._draw_own_node()
            return
        *first, last = levels[0]
        for node in first:
            with ui.element("li"):
                _draw_node(node)
        with ui.element("li"):
            _draw_node(last)
            with ui.element("ul"):
                self._draw_levels(levels[1:])

    def _draw_own_node(self) -> None:
        view = self.view
        with ui.element("li").props("aria-current=true data-testid=own-node"):
            with ui.row().classes("kw-node kw-own-node"):
                state_mark(view.health.state)
                ui.label(view.kind.kind).classes("kw-muted")
                ui.label(view.key.name).classes("kw-strong")
            self._draw_children(view.tree.children, of="")

    def _draw_children(self, nodes: Sequence[Node], of: str) -> None:
        if not nodes:
            return
        with ui.element("ul"):
            for node in nodes[:_MAX_SIBLINGS]:
                self._draw_child(node)
        if len(nodes) > _MAX_SIBLINGS:
            with self.details(of):
                with ui.element("summary"):
                    ui.label(f"{len(nodes) - _MAX_SIBLINGS:,} more")
                with ui.element("ul"):
                    for node in nodes[_MAX_SIBLINGS:]:
                        self._draw_child(node)

    def _draw_child(self, node: Node) -> None:
        with ui.element("li"):
            _draw_node(node)
            self._draw_children(node.children, of=f"{node.kind.path} {node.key}")


def _draw_node(node: Node) -> None:
    with ui.row().classes("kw-node"):
        state_mark(node.health.state)
        ui.label(node.kind.kind).classes("kw-muted")
        link(node.key.name, object_address(node.kind.path, node.key.namespace, node.key.name))
        if node.health.why:
            ui.label(node.health.why).classes("kw-muted kw-small")


def _draw_note(text: str) -> ui.label:
    return ui.label(text).classes("kw-muted kw-small")


def _draw_hidden_kinds(kinds: Sequence[Kind]) -> None:
    names = ", ".join(kind.plural for kind in kinds[:_MAX_NAMED])
    more = f" and {len(kinds) - _MAX_NAMED} more" if len(kinds) > _MAX_NAMED else ""
    _draw_note(f"Not shown, because you or the console may not list them: {names}{more}.").props("data-testid=unlisted")
