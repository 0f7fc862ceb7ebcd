"""The parts of the header: cluster, search, namespace, theme, account."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from nicegui import ui

from kubewright.console._contexts import context_prefix
from kubewright.console.kinds import Kind
from kubewright.console.pages._addresses import ListView, home_address, search_address
from kubewright.console.pages._context import PageContext
from kubewright.console.pages.layout._shortcuts import Shell
from kubewright.console.pages.widgets import icon, labeled

__all__ = ["account_menu", "cluster_name", "namespace_field", "search_field", "theme_button", "visible_namespaces"]

_THEMES: Final = {"auto": ("brightness_auto", None), "light": ("light_mode", False), "dark": ("dark_mode", True)}
_ALL_NAMESPACES: Final = "All namespaces"


def cluster_name(ctx: PageContext, where: str) -> None:
    """Draws the name of the cluster; a menu if the viewer may switch contexts."""
    name = ctx.backend.name
    production = ctx.backend.is_production(name)
    color = "kw-production" if production else "kw-ordinary"
    if not ctx.contexts:
        shown = ui.label(name).classes("kw-context").classes(where).classes(color)
        shown.props["title"] = name
        if production:
            _production_badge().classes(where)
        return

    button = ui.button(name).props("flat dense no-caps icon-right=expand_more").classes("kw-context").classes(where)
    button.classes(color).props["title"] = name
    labeled(button, f"Cluster: {name}{' production' if production else ''}")
    # Links to other pages, so it is a navigation and not a menu of commands.
    with button, ui.menu().props("role=navigation") as menu:
        labeled(menu, "Contexts")
        for context in ctx.contexts:
            _context_item(context, current=context == name, production=ctx.backend.is_production(context))
    if production:
        _production_badge().classes(where)


def _context_item(context: str, *, current: bool, production: bool) -> None:
    # A plain link, because NiceGUI would prepend the prefix of this page's context.
    with ui.item().props("clickable tag=a role=link").classes("kw-context-item") as item:
        icon("check" if current else "").classes("kw-context-mark")
        ui.label(context)
        if current:
            ui.label("current").classes("kw-badge")
        if production:
            _production_badge()
    item.props["href"] = context_prefix(context) + "/"
    item.classes("kw-production" if production else "kw-ordinary")
    if current:
        item.props["aria-current"] = "true"


def _production_badge() -> ui.label:
    return ui.label("production").classes("kw-badge kw-production-badge")


def account_menu(ctx: PageContext) -> None:
    """Draws the user name and the sign-out menu."""
    button = ui.button(icon="account_circle").props("flat dense no-caps")
    labeled(button, f"Signed in as {ctx.viewer.name}")
    with button:
        ui.label(ctx.viewer.name).classes("kw-viewer")
        with ui.menu():
            ui.item(f"Signed in as {ctx.viewer.name}").classes("kw-muted").props("role=none")
            if ctx.viewer.read_only:
                ui.item("This console is read-only").classes("kw-muted").props("role=none")
            ui.menu_item("Sign out", ctx.sign_out)


def theme_button(shell: Shell) -> None:
    """Draws the button that switches between the light, dark and automatic theme. A cookie stores the choice."""
    request = ui.context.client.request
    chosen = request.cookies.get("kubewright-theme", "auto")
    state = {"choice": chosen if chosen in _THEMES else "auto"}
    dark = ui.dark_mode(_THEMES[state["choice"]][1])

    def switch_theme() -> None:
        names = [*_THEMES]
        state["choice"] = names[(names.index(state["choice"]) + 1) % len(names)]
        picture, dark.value = _THEMES[state["choice"]]
        button.set_icon(picture)
        labeled(button, f"Theme: {state['choice']}")
        shell.remember_theme(state["choice"])

    button = ui.button(icon=_THEMES[state["choice"]][0], on_click=switch_theme).props("flat dense round")
    labeled(button, f"Theme: {state['choice']}")


def search_field(ctx: PageContext, open_palette: Callable[[], None]) -> None:
    """Draws the search field, which opens a kind or the search results, and the button of the palette."""
    names = sorted({name for kind in ctx.backend.known_kinds for name in (kind.plural, *kind.short_names)})

    def go() -> None:
        text = (field.value or "").strip()
        if text:
            ui.navigate.to(search_address(ctx.backend.known_kinds, text))

    field = ui.input(placeholder="Search", autocomplete=names).classes("kw-search").props("outlined dense")
    field.props["aria-label"] = "Search kinds and objects"
    field.props["data-search"] = "all"
    with field.add_slot("prepend"):
        icon("search")
    with field.add_slot("append"):
        button = ui.button("Ctrl K", on_click=open_palette).props("flat dense no-caps").classes("kw-key kw-wide-only")
        labeled(button, "Search as you type with Ctrl K")
    field.on("keydown.enter", go)


def namespace_field(
    ctx: PageContext, kind: Kind | None, namespace: str, in_namespace: Callable[[str], str] | None, where: str
) -> Callable[[Sequence[str]], None]:
    """Draws the namespace selector, except for a cluster-scoped kind. Returns the function that sets its options."""
    if kind is not None and not kind.namespaced:
        return lambda names: None

    def choose() -> None:
        chosen = field.value or ""
        if chosen == namespace:
            return
        if in_namespace is not None:
            address = in_namespace(chosen)
        else:
            address = ListView(namespace=chosen).address(kind.path) if kind else home_address(chosen)
        ui.navigate.to(address)

    def offer(names: Sequence[str]) -> None:
        field.set_options({"": _ALL_NAMESPACES} | {name: name for name in sorted({*names, namespace} - {""})})

    options = {"": _ALL_NAMESPACES} | ({namespace: namespace} if namespace else {})
    field = (
        ui.select(options, value=namespace, with_input=True, on_change=choose).classes("kw-namespace").classes(where)
    )
    field.props("outlined dense options-dense")
    labeled(field, "Namespace")
    return offer


async def visible_namespaces(ctx: PageContext, kind: Kind | None) -> list[str]:
    """Returns the namespaces that the viewer may list, or in which the viewer may list the kind."""
    everywhere = await ctx.backend.all_namespaces()
    namespaces = await ctx.backend.kind("core/namespaces")
    if namespaces is not None and await ctx.viewer.may("list", namespaces):
        return sorted(everywhere)
    allowed = await ctx.viewer.namespaces_of(kind) if kind is not None else frozenset[str]()
    return sorted(name for name in everywhere if name in allowed)
