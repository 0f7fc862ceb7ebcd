"""The card with the fields of spec and status."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from kubewright.console.objects import Fact, facts_of, redact_secret
from kubewright.console.pages.object._tab import Tab
from kubewright.console.pages.widgets import section

__all__ = ["FactsCard"]


class FactsCard(Tab):
    """Spec and status, as the operator declares them."""

    def content(self) -> Any:
        """Returns the fields."""
        return facts_of(self.view.kind, redact_secret(self.view.obj or {}))

    def fill(self) -> None:
        """Draws the groups."""
        groups = self.content()
        if not groups:
            return
        with ui.column().classes("kw-card kw-box").props("data-testid=facts"):
            for group in groups:
                section(group.title)
                with ui.element("dl").classes("kw-facts"):
                    for fact in group.facts:
                        _draw(fact)
                if group.omitted:
                    ui.label(f"{group.omitted:,} more in the YAML.").classes("kw-muted kw-small")


def _draw(fact: Fact) -> None:
    with ui.element("dt").classes("kw-fact-name"):
        name = ui.label(fact.name)
    with ui.element("dd").classes("kw-fact-value"):
        ui.label(fact.value)
    if fact.path or fact.description:
        name.props["title"] = ": ".join(filter(None, (fact.path, fact.description)))
