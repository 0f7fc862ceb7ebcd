"""The route of all pages of extensions. The existing pages are known only when a request arrives."""

from __future__ import annotations

from nicegui import ui

from kubewright.client import ApiError
from kubewright.console.extensions import ExtensionPage, Page, missing_need
from kubewright.console.pages._context import PageContext
from kubewright.console.pages._page import page
from kubewright.console.pages._problems import AccessDenied, Problem, draw, problem_of
from kubewright.console.pages.extensions._errors import explain
from kubewright.console.pages.layout import frame
from kubewright.console.pages.widgets import add_object_style, notice

__all__ = ["extension_page", "extension_subpage"]

RECONNECT_SECONDS = 300.0
"""How long a page survives a lost connection. It may contain user input."""


@page("/extensions/{extension}/{name}", reconnect_seconds=RECONNECT_SECONDS)
async def extension_page(ctx: PageContext, extension: str, name: str) -> None:
    """Shows a page of an extension."""
    await _show(ctx, extension, name, "")


@page("/extensions/{extension}/{name}/{rest:path}", reconnect_seconds=RECONNECT_SECONDS)
async def extension_subpage(ctx: PageContext, extension: str, name: str, rest: str) -> None:
    """Shows a path below a page of an extension."""
    await _show(ctx, extension, name, rest.strip("/"))


async def _show(ctx: PageContext, extension: str, name: str, rest: str) -> None:
    known = next((one for one in ctx.backend.extensions if one.name == extension), None)
    shown = known.pages.get(name) if known is not None else None
    await ctx.backend.kinds()  # for the navigation
    if shown is None:
        ctx.set_status(404)
        with frame(ctx, "Not found"):
            text = f"This console has no page {name} of an extension {extension}."
            draw(Problem("explore_off", "Page not found", text))
        return
    with frame(ctx, shown.title, here=f"/extensions/{extension}/{name}"):
        add_object_style()
        missing = await missing_need(shown.needs, ctx.backend, ctx.viewer, None, ctx.chosen_namespace)
        if missing is not None:
            verb, kind, text = missing
            draw(
                AccessDenied(verb, kind, ctx.viewer.name, ctx.chosen_namespace)
                if kind is not None
                else Problem("search_off", f"{shown.title} is not available", f"The page needs {text}.")
            )
            return
        with ctx.spinner_if_slow():
            await _draw(ctx, extension, shown, rest)


async def _draw(ctx: PageContext, extension: str, shown: Page, rest: str) -> None:
    errors = ui.column().classes("w-full")
    content = ui.column().classes("w-full")

    def report(error: Exception) -> None:
        """Shows an exception of an event handler above the page, which stays."""
        title, text = explain(error, f"page {shown.name} of extension {extension}")
        if ctx.browser.is_deleted:
            return
        errors.clear()
        with errors:
            notice(title, [text], "kw-bad").props("role=alert data-testid=extension-error")

    ctx.browser.on_exception(report)
    made = ExtensionPage(
        ctx.backend,
        ctx.viewer,
        extension,
        path=rest,
        query=dict(ctx.browser.request.query_params),
        namespace=ctx.chosen_namespace,
        on_close=ctx.on_close,
        on_error=report,
    )
    with content:
        try:
            await shown.draw(made)
        except Exception as error:
            content.clear()
            title, text = explain(error, f"page {shown.name} of extension {extension}")
            with content:
                draw(problem_of(error) if isinstance(error, ApiError) else Problem("error", title, text))
