"""The navigation: kinds by group, custom resources first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from nicegui import ui

from kubewright.console.extensions import Extension
from kubewright.console.kinds import Kind
from kubewright.console.pages._addresses import ListView, home_address
from kubewright.console.pages.widgets import icon, labeled

__all__ = ["BUILT_IN", "navigation"]

BUILT_IN: Final = (
    "core/pods",
    "apps/deployments",
    "apps/statefulsets",
    "apps/daemonsets",
    "batch/jobs",
    "batch/cronjobs",
    "core/services",
    "networking.k8s.io/ingresses",
    "core/configmaps",
    "core/secrets",
    "core/persistentvolumeclaims",
    "core/serviceaccounts",
    "core/namespaces",
    "core/nodes",
    "core/events",
    "coordination.k8s.io/leases",
)
"""The most used built-in kinds. The page of kinds lists the others."""


def navigation(kinds: Sequence[Kind], here: str, namespace: str, extensions: Sequence[Extension] = ()) -> None:
    """Draws the links. `here` is the path of the current kind or page."""
    with labeled(ui.element("nav"), "Pages"):
        _entry("Kinds", home_address(namespace), here == "/", "category")
        _entry("Problems", "/problems", here == "/problems", "report_problem")
        _entry("Operator", "/operator", here == "/operator", "precision_manufacturing")
        for extension in extensions:
            shown = [page for page in extension.pages.values() if page.navigation]
            if shown:
                ui.label(extension.title).classes("kw-nav-title")
            for page in shown:
                address = f"/extensions/{extension.name}/{page.name}"
                _entry(page.title, address, here == address, page.icon)
        custom = [kind for kind in kinds if kind.custom]
        if custom:
            ui.label("Custom resources").classes("kw-nav-title")
        for group, members in groupby(custom, lambda kind: kind.group):
            ui.label(group).classes("kw-nav-group")
            for kind in members:
                _kind(kind, here, namespace)
        paths = {kind.path: kind for kind in kinds if not kind.custom}
        built_in = [paths[path] for path in BUILT_IN if path in paths]
        if built_in:
            ui.label("Built in").classes("kw-nav-title")
        for kind in built_in:
            _kind(kind, here, namespace)


def _kind(kind: Kind, here: str, namespace: str) -> None:
    _entry(kind.kind, ListView(namespace=namespace if kind.namespaced else "").address(kind.path), here == kind.path)


def _entry(text: str, address: str, current: bool, picture: str = "") -> None:
    with ui.link(target=address).classes("kw-nav-link") as entry:
        if picture:
            icon(picture)
        ui.label(text)
    if current:
        entry.props["aria-current"] = "page"
