"""The head of an object's page: who it is, how it is, and what is the matter with it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from nicegui import ui

from kubewright.console._events import time_of
from kubewright.console._look import Look
from kubewright.console.pages._object_parts import Moments, banner
from kubewright.console.pages._parts import link, state_mark
from kubewright.console.pages._view import View, kind_address, object_address

__all__ = ["Head"]

_UNDECODABLE: Final = "DecodeError: "


class Head:
    """Name, state, owners, what may be done; and banners for what must not be missed."""

    def __init__(self, look: Look, moments: Moments) -> None:
        self._look = look
        self._moments = moments
        self._shown: Any = None
        self._away = ""

    def draw(self) -> None:
        """Draw it."""
        self._place = ui.column().classes("kw-object-head")
        self.update()

    def behind(self, problem: str) -> None:
        """The API server does not answer: what is shown is what was known."""
        self._away = problem
        self._shown = None
        self._redraw()

    def update(self) -> None:
        """Draw it anew where something is different."""
        self._away = ""
        look = self._look
        metadata = _metadata(look)
        content = (
            look.health,
            look.gone,
            look.hidden,
            look.uid,
            metadata.get("deletionTimestamp"),
            str(metadata.get("finalizers")),
            str(metadata.get("ownerReferences")),
            metadata.get("generation"),
            look.may_change,
            look.may_delete,
            self._problem(),
        )
        if content != self._shown:
            self._shown = content
            self._redraw()

    def _redraw(self) -> None:
        self._place.clear()
        with self._place:
            self._names()
            self._banners()

    def _names(self) -> None:
        look = self._look
        with ui.row().classes("kw-crumbs").props("role=navigation aria-label='Where this is'"):
            link(look.kind.kind, kind_address(look.kind.path))
            if look.key.namespace:
                ui.label("in").classes("kw-muted")
                link(look.key.namespace, View(namespace=look.key.namespace).address(look.kind.path))
            for owner in _owners(look):
                ui.label("· owned by").classes("kw-muted")
                _owner(look, owner)
        with ui.row().classes("kw-object-title"):
            with ui.element("h1").classes("kw-title"):
                ui.label(look.key.name).style("display: inline").props("data-testid=object-name")
            if look.obj is not None and not look.gone:
                state_mark(look.health.state).props("data-testid=object-state")
                if look.health.why:
                    ui.label(look.health.why).classes("kw-muted kw-why")
            ui.space()
            if look.obj is not None and not look.gone and not look.viewer.read_only:
                address = object_address(look.kind.path, look.key.namespace, look.key.name)
                with ui.row().classes("kw-acts"):
                    _act("Edit", "edit", f"{address}/edit", "" if look.may_change else "patch")
                    _act("Delete", "delete", f"{address}/delete", "" if look.may_delete else "delete")
        created = _created(look)
        if created is not None:
            with ui.row().classes("kw-subtitle kw-line"):
                generation = _metadata(look).get("generation")
                counted = f" · generation {generation}" if generation is not None else ""
                ui.label(f"{look.kind.api_version}{counted} · created")
                self._moments.label(created)

    def _banners(self) -> None:
        look = self._look
        if self._away:
            banner(f"This is what was known last, and may be old: {self._away}", "failing", "cloud_off")
        if look.hidden:
            banner("You may not see this object any more.", "failing", "lock")
        elif look.obj is None:
            where = f" in namespace {look.key.namespace}" if look.key.namespace else ""
            text = f"There is no {look.kind.kind} {look.key.name}{where}. When somebody makes it, it shows here."
            banner(text, "unknown", "search_off").props("data-testid=absent")
        elif look.gone:
            text = "This object was deleted while you looked at it. What you see is how it was last."
            banner(text, "terminating", "delete").props("data-testid=gone")
        elif _metadata(look).get("deletionTimestamp"):
            finalizers = [str(one) for one in _metadata(look).get("finalizers") or ()]
            held = f"It is held by {', '.join(finalizers)}." if finalizers else "Nothing holds it any more."
            banner(f"This object is being deleted. {held}", "terminating", "auto_delete").props(
                "data-testid=terminating"
            )
        if problem := self._problem():
            banner(f"The operator cannot use this object: {problem}", "failing", "broken_image").props(
                "data-testid=undecodable"
            )

    def _problem(self) -> str:
        """Why the object does not fit the operator's model: the field's path, and what is wrong with it."""
        for told in self._look.told:
            known = told.known.inspection if told.known is not None else None
            if known is not None and known.cached is not None:
                newest = known.results[0].error if known.results else ""
                if known.cached.problem or newest.startswith(_UNDECODABLE):
                    return known.cached.problem or newest.removeprefix(_UNDECODABLE)
        return ""


def _metadata(look: Look) -> dict[str, Any]:
    metadata = (look.obj or {}).get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _created(look: Look) -> datetime | None:
    return time_of(_metadata(look).get("creationTimestamp"))


def _act(text: str, name: str, address: str, missing: str) -> None:
    """A button; grey, with the verb that is missing, for those who may not."""
    with ui.element("span") as place:
        made = ui.button(text, icon=name, on_click=lambda: ui.navigate.to(address)).props("flat dense")
        made.props["data-testid"] = name
    if missing:
        place.props["title"] = f"You may not {name} it: the verb “{missing}” is missing."
        made.disable()


def _owners(look: Look) -> list[dict[str, Any]]:
    listed = _metadata(look).get("ownerReferences")
    return [one for one in listed if isinstance(one, dict)][:5] if isinstance(listed, list) else []


def _owner(look: Look, owner: dict[str, Any]) -> None:
    """The way up, where the kind is known."""
    group, name = str(owner.get("apiVersion", "")).rpartition("/")[0], str(owner.get("name", ""))
    text = f"{owner.get('kind', '')} {name}"
    known = (kind for kind in look.console.known_kinds if (kind.group, kind.kind) == (group, owner.get("kind")))
    if kind := next(known, None):
        link(text, object_address(kind.path, look.key.namespace if kind.namespaced else "", name))
    else:
        ui.label(text).classes("kw-muted")
