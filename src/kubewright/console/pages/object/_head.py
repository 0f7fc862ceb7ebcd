"""The head of an object's page: name, state, owners, actions and banners."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from nicegui import ui

from kubewright.console._object_view import ObjectView
from kubewright.console.objects import parse_time
from kubewright.console.pages._addresses import ListView, kind_address, object_address
from kubewright.console.pages.object._actions import ActionsMenu
from kubewright.console.pages.widgets import RelativeTimes, banner, labeled, link, state_mark

__all__ = ["Head"]

_UNDECODABLE: Final = "DecodeError: "


class Head:
    """Draws the name, state, owners and actions, and banners for problems.

    The actions are a separate element, because the rest is redrawn more often. The state of a failing object changes
    with each attempt, and a redraw would close an open menu and move the focus.
    """

    def __init__(self, view: ObjectView, times: RelativeTimes) -> None:
        self._view = view
        self._times = times
        self._shown: Any = None
        self._actions_shown: Any = None
        self._outage = ""

    def draw(self) -> None:
        """Draws the head."""
        with ui.column().classes("kw-object-head"):
            self._crumbs = ui.row().classes("kw-crumbs").props("role=navigation aria-label='Breadcrumb'")
            with ui.row().classes("kw-object-title"):
                self._title = ui.element("div").style("display: contents")
                ui.space()
                self._buttons = ui.row().classes("kw-acts")
            self._rest = ui.element("div").style("display: contents")
        self._menu = ActionsMenu(self._view, ui.element("div"))
        self.update()

    def show_outage(self, problem: str) -> None:
        """Shows that the API server does not respond and the data may be outdated."""
        self._outage = problem
        self._shown = None
        self._redraw()

    def update(self) -> None:
        """Redraws the head if its content changed."""
        self._outage = ""
        view = self._view
        metadata = _metadata(view)
        content = (
            view.health,
            view.gone,
            view.hidden,
            view.uid,
            metadata.get("deletionTimestamp"),
            str(metadata.get("finalizers")),
            str(metadata.get("ownerReferences")),
            metadata.get("generation"),
            self._problem(),
        )
        if content != self._shown:
            self._shown = content
            self._redraw()
        self._update_actions()

    def _redraw(self) -> None:
        for place in (self._crumbs, self._title, self._rest):
            place.clear()
        self._draw_title()
        with self._rest:
            self._draw_banners()

    def _draw_title(self) -> None:
        view = self._view
        with self._crumbs:
            link(view.kind.kind, kind_address(view.kind.path))
            if view.key.namespace:
                ui.label("in").classes("kw-muted")
                link(view.key.namespace, ListView(namespace=view.key.namespace).address(view.kind.path))
            for owner in _owners(view):
                ui.label("· owned by").classes("kw-muted")
                _draw_owner(view, owner)
        with self._title:
            with ui.element("h1").classes("kw-title"):
                ui.label(view.key.name).style("display: inline").props("data-testid=object-name")
            if view.obj is not None and not view.gone:
                state_mark(view.health.state).props("data-testid=object-state")
                if view.health.why:
                    ui.label(view.health.why).classes("kw-muted kw-why")
        created = _created(view)
        if created is not None:
            with self._rest, ui.row().classes("kw-subtitle kw-line"):
                generation = _metadata(view).get("generation")
                generation_text = f" · generation {generation}" if generation is not None else ""
                ui.label(f"{view.kind.api_version}{generation_text} · created")
                self._times.label(created)

    def _update_actions(self) -> None:
        """Redraws the actions if they changed."""
        view = self._view
        drawn = view.obj is not None and not view.gone
        content = (view.may_change, view.may_delete, view.uid, *self._menu.names()) if drawn else None
        if content == self._actions_shown:
            return
        self._actions_shown = content
        self._buttons.clear()
        if not drawn:
            return
        address = object_address(view.kind.path, view.key.namespace, view.key.name)
        with self._buttons:
            self._menu.draw()
            if not view.viewer.read_only:
                _draw_button("Edit", "edit", f"{address}/edit", "" if view.may_change else "patch")
                _draw_button("Delete", "delete", f"{address}/delete", "" if view.may_delete else "delete")

    def _draw_banners(self) -> None:
        view = self._view
        if self._outage:
            banner(f"The data may be outdated: {self._outage}", "failing", "cloud_off")
        if view.hidden:
            banner("You may no longer see this object.", "failing", "lock")
        elif view.obj is None:
            where = f" in namespace {view.key.namespace}" if view.key.namespace else ""
            text = f"{view.kind.kind} {view.key.name} does not exist{where}. It appears here when it is created."
            banner(text, "unknown", "search_off").props("data-testid=absent")
        elif view.gone:
            text = "This object was deleted. The page shows its last state."
            banner(text, "terminating", "delete").props("data-testid=gone")
        elif _metadata(view).get("deletionTimestamp"):
            finalizers = [str(one) for one in _metadata(view).get("finalizers") or ()]
            blockers = f"Waiting for finalizers: {', '.join(finalizers)}." if finalizers else "No finalizers are left."
            banner(f"This object is being deleted. {blockers}", "terminating", "auto_delete").props(
                "data-testid=terminating"
            )
        if problem := self._problem():
            banner(f"The operator cannot decode this object: {problem}", "failing", "broken_image").props(
                "data-testid=undecodable"
            )

    def _problem(self) -> str:
        """Returns why the object does not fit the operator's model: the path of the field, and the problem."""
        for status in self._view.controllers:
            inspected = status.inspected.inspection if status.inspected is not None else None
            if inspected is not None and inspected.cached is not None:
                newest = inspected.results[0].error if inspected.results else ""
                if inspected.cached.problem or newest.startswith(_UNDECODABLE):
                    return inspected.cached.problem or newest.removeprefix(_UNDECODABLE)
        return ""


def _metadata(view: ObjectView) -> dict[str, Any]:
    metadata = (view.obj or {}).get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _created(view: ObjectView) -> datetime | None:
    return parse_time(_metadata(view).get("creationTimestamp"))


def _draw_button(text: str, name: str, address: str, missing: str) -> None:
    """Draws a button, disabled with the missing verb if the viewer lacks the permission."""
    with ui.element("span") as place:
        picture = "lock" if missing else name
        made = ui.button(text, icon=picture, on_click=lambda: ui.navigate.to(address)).props("flat dense")
        made.props["data-testid"] = name
    if missing:
        reason = f"You may not {name} it: you need the verb “{missing}”."
        place.props["title"] = reason
        labeled(made, f"{text}. {reason}")
        made.disable()


def _owners(view: ObjectView) -> list[dict[str, Any]]:
    listed = _metadata(view).get("ownerReferences")
    return [one for one in listed if isinstance(one, dict)][:5] if isinstance(listed, list) else []


def _draw_owner(view: ObjectView, owner: dict[str, Any]) -> None:
    """Draws an owner, as a link if its kind is known."""
    group, name = str(owner.get("apiVersion", "")).rpartition("/")[0], str(owner.get("name", ""))
    text = f"{owner.get('kind', '')} {name}"
    kinds = (kind for kind in view.backend.known_kinds if (kind.group, kind.kind) == (group, owner.get("kind")))
    if kind := next(kinds, None):
        link(text, object_address(kind.path, view.key.namespace if kind.namespaced else "", name))
    else:
        ui.label(text).classes("kw-muted")
