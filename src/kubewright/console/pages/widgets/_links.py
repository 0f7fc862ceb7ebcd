"""`Links`: many links as one element."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from nicegui import ui
from nicegui.element import Element

from kubewright.console.pages._static_files import STATIC

__all__ = ["Entry", "Links", "path_prefix"]


def path_prefix() -> str:
    """Returns the path of the page's context, which precedes all addresses; "" for the default cluster."""
    prefix: str = ui.context.client.request.scope.get("root_path", "")
    return prefix


class Entry(NamedTuple):
    """A link inside the console, or a title if there is no address. The parts of `address` must be quoted."""

    text: str
    address: str = ""
    classes: str = ""
    icon: str = ""
    current: bool = False
    """Whether the link leads to this page."""


class Links(Element, component=STATIC / "links.js"):
    """Links and titles as one element. One NiceGUI element per link would cost collections and a browser timer."""

    def __init__(self, entries: Iterable[Entry], *, tag: str = "div") -> None:
        super().__init__()
        self.props["tag"] = tag
        self.props["prefix"] = path_prefix()
        # Tuples, because NiceGUI would observe a list and all its items.
        self.props["entries"] = tuple(tuple(entry) for entry in entries)
