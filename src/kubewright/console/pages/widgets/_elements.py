"""Small elements of pages. Content of the cluster is always shown as text, never as markup.

`.props()` and `.classes()` parse their argument, so pass only constants to them. Set values as items:
`element.props["aria-label"] = name`.
"""

from __future__ import annotations

from nicegui import ui

from kubewright.console.objects import State
from kubewright.console.theme import ICONS

__all__ = ["command", "heading", "icon", "labeled", "link", "state_mark"]


def labeled(element: ui.element, label: str) -> ui.element:
    """Sets the accessible name of an element. The name may contain any characters."""
    element.props["aria-label"] = label
    return element


def heading(text: str, subtitle: str = "") -> None:
    """Draws the title of a page, its only `h1`."""
    with ui.element("div"):
        with ui.element("h1").classes("kw-title"):
            ui.label(text).style("display: inline")
        if subtitle:
            ui.label(subtitle).classes("kw-subtitle")


def link(text: str, address: str, classes: str = "kw-link") -> ui.link:
    """Draws a link inside the console. The parts of `address` must be quoted."""
    return ui.link(text, address).classes(classes)


def icon(name: str) -> ui.icon:
    """Draws a decorative icon, hidden from screen readers."""
    return ui.icon(name).props("aria-hidden=true")


def state_mark(state: State | str, text: str = "", tooltip: str = "") -> ui.element:
    """Draws a state as color, icon and word."""
    state = State(state)
    with ui.element("span").classes("kw-state").classes(f"kw-{state}") as mark:
        icon(ICONS[state])
        ui.label(text or str(state)).style("display: inline")
        if tooltip:
            ui.tooltip(tooltip)
    return mark


def command(text: str) -> ui.label:
    """Draws a shell command."""
    return ui.label(text).classes("kw-command")
