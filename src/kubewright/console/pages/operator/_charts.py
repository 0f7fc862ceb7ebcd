"""The charts of one controller: rate, duration and queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from nicegui import ui

from kubewright.console.operators import Sample, latencies, rates
from kubewright.console.pages.widgets import line_chart, line_options, section

__all__ = ["ControllerCharts"]

_RESULTS: Final = {
    "success": ("succeeded", "#2a9d6b"),
    "requeue_after": ("requeued with a delay", "#6b8fd6"),
    "requeue": ("requeued", "#8d6bc1"),
    "error": ("failed", "#d0534c"),
    "terminal_error": ("failed, not retried", "#8f2f2a"),
}


class ControllerCharts:
    """Three charts that are updated with each sample."""

    def __init__(self, name: str, samples: Sequence[Sample]) -> None:
        section(f"Controller {name}")
        with ui.element("div").classes("kw-charts"):
            self._rates = self._chart("Reconciles per second", _rates(samples), "reconciles")
            self._latencies = self._chart("Duration over the last 30 s", _latencies(samples), "durations")
            self._queue = self._chart("Queue", _queue(samples), "queue")

    @staticmethod
    def _chart(title: str, options: dict[str, Any], name: str) -> ui.echart:
        with ui.column().classes("kw-card kw-box"):
            section(title)
            chart = line_chart(options, title)
            chart.props["data-testid"] = f"chart-{name}"
            return chart

    def update(self, samples: Sequence[Sample]) -> None:
        """Updates the charts."""
        for chart, options in (
            (self._rates, _rates(samples)),
            (self._latencies, _latencies(samples)),
            (self._queue, _queue(samples)),
        ):
            chart.options["series"] = options["series"]
            chart.update()


def _rates(samples: Sequence[Sample]) -> dict[str, Any]:
    found = {result: rates(samples, result) for result in _RESULTS}
    shown = [result for result, points in found.items() if result == "success" or any(y for _, y in points)]
    series = {_RESULTS[result][0]: found[result] for result in shown}
    return line_options(dict(series), "1/s", stacked=True, colors=[_RESULTS[result][1] for result in shown])


def _latencies(samples: Sequence[Sample]) -> dict[str, Any]:
    series = {
        name: [(at, None if y is None else y * 1000) for at, y in latencies(samples, quantile)]
        for name, quantile in (("p50", 0.5), ("p99", 0.99))
    }
    return line_options(dict(series), "ms")


def _queue(samples: Sequence[Sample]) -> dict[str, Any]:
    return line_options(
        {
            "ready": [(one.at, one.ready) for one in samples],
            "running": [(one.at, one.active) for one in samples],
            "delayed": [(one.at, one.delayed) for one in samples],
        },
        "keys",
    )
