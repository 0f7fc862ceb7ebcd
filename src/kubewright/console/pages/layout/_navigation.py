"""The navigation: kinds by group, custom resources first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from kubewright.console.extensions import Extension
from kubewright.console.kinds import Kind
from kubewright.console.pages._addresses import ListView, home_address
from kubewright.console.pages.widgets import Entry, Links, labeled

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
    labeled(Links(_entries(kinds, here, namespace, extensions), tag="nav"), "Pages")


def _entries(kinds: Sequence[Kind], here: str, namespace: str, extensions: Sequence[Extension]) -> Iterator[Entry]:
    def page(text: str, address: str, current: bool, icon: str = "") -> Entry:
        return Entry(text, address, "kw-nav-link", icon, current)

    def kind_page(kind: Kind) -> Entry:
        view = ListView(namespace=namespace if kind.namespaced else "")
        return page(kind.kind, view.address(kind.path), here == kind.path)

    yield page("Kinds", home_address(namespace), here == "/", "category")
    yield page("Problems", "/problems", here == "/problems", "report_problem")
    yield page("Operator", "/operator", here == "/operator", "precision_manufacturing")
    for extension in extensions:
        shown = [one for one in extension.pages.values() if one.navigation]
        if shown:
            yield Entry(extension.title, classes="kw-nav-title")
        for one in shown:
            address = f"/extensions/{extension.name}/{one.name}"
            yield page(one.title, address, here == address, one.icon)
    custom = [kind for kind in kinds if kind.custom]
    if custom:
        yield Entry("Custom resources", classes="kw-nav-title")
    for group, members in groupby(custom, lambda kind: kind.group):
        yield Entry(group, classes="kw-nav-group")
        yield from map(kind_page, members)
    paths = {kind.path: kind for kind in kinds if not kind.custom}
    built_in = [paths[path] for path in BUILT_IN if path in paths]
    if built_in:
        yield Entry("Built in", classes="kw-nav-title")
    yield from map(kind_page, built_in)
