"""Small parts that pages are made of. Text from the cluster goes through here as text, never as markup.

`.props()` and `.classes()` parse what they are given, so only constants go there; values go in as items
(`element.props["aria-label"] = name`).
"""

from __future__ import annotations

from nicegui import ui

from kubewright.console._theme import ICONS
from kubewright.console.objects import State

__all__ = ["command", "heading", "icon", "labeled", "link", "state_mark"]


def labeled(element: ui.element, label: str) -> ui.element:
    """Give an element a name for those who cannot see it; whatever characters the name has."""
    element.props["aria-label"] = label
    return element


def heading(text: str, subtitle: str = "") -> None:
    """The title of a page: its only `h1`."""
    with ui.element("div"):
        with ui.element("h1").classes("kw-title"):
            ui.label(text).style("display: inline")
        if subtitle:
            ui.label(subtitle).classes("kw-subtitle")


def link(text: str, address: str, classes: str = "kw-link") -> ui.link:
    """A link inside the console; `address` is made of quoted parts."""
    return ui.link(text, address).classes(classes)


def icon(name: str) -> ui.icon:
    """A picture that says nothing which the words beside it do not say."""
    return ui.icon(name).props("aria-hidden=true")


def state_mark(state: State | str, text: str = "", tooltip: str = "") -> ui.element:
    """A state as color, icon and word."""
    state = State(state)
    with ui.element("span").classes("kw-state").classes(f"kw-{state}") as mark:
        icon(ICONS[state])
        ui.label(text or str(state)).style("display: inline")
        if tooltip:
            ui.tooltip(tooltip)
    return mark


def command(text: str) -> ui.label:
    """A line to type in a terminal."""
    return ui.label(text).classes("kw-command")
