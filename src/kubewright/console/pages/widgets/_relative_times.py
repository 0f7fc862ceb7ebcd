"""`RelativeTimes`: labels such as "3 min ago", kept up to date."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from nicegui import ui

from kubewright.console.objects import ago

__all__ = ["RelativeTimes"]


class RelativeTimes:
    """Labels with relative times that are updated."""

    def __init__(self) -> None:
        self._labels: list[tuple[ui.label, Callable[[datetime], str]]] = []

    def label(self, at: datetime | None, text: Callable[[datetime], str] | None = None) -> ui.label:
        """Draws a label with the relative time, and the exact time as a tooltip."""
        tell = text or (lambda now: ago(at, now))
        made = ui.label(tell(datetime.now(UTC))).classes("kw-moment")
        if at is not None:
            made.tooltip(at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"))
        self._labels.append((made, tell))
        return made

    def tick(self) -> None:
        """Updates all labels."""
        now = datetime.now(UTC)
        self._labels = [(label, text) for label, text in self._labels if not label.is_deleted]
        for label, text in self._labels:
            label.set_text(text(now))
