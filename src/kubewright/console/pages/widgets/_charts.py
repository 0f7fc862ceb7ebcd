"""Charts. Tooltips are drawn as text, because names in them are untrusted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import cycle
from typing import Any, Final

from nicegui import ui

from kubewright.console.objects import ReconcileEntry, State

__all__ = ["COLORS", "axis_options", "durations_chart", "durations_options", "line_chart", "line_options"]

# Distinguishable on white and on black, also with color blindness.
COLORS: Final = ("#2a9d9d", "#6b8fd6", "#d08a2e", "#c4504a", "#8d6bc1", "#6f8a3c")
_STATE_COLORS: Final = {
    State.READY: "#2a9d6b",
    State.PROGRESSING: "#6b8fd6",
    State.FAILING: "#d0534c",
}
_GRAY: Final = "#8a96a3"
_LINE: Final = "rgba(138,150,163,0.22)"


def axis_options(unit: str = "") -> dict[str, Any]:
    """Returns the options that all charts share."""
    return {
        "animation": False,
        "textStyle": {"fontFamily": "inherit"},
        "grid": {"left": 8, "right": 12, "top": 28, "bottom": 6, "containLabel": True},
        "tooltip": {"trigger": "axis", "renderMode": "richText", "confine": True},
        "xAxis": {
            "type": "time",
            "axisLine": {"lineStyle": {"color": _GRAY}},
            "axisLabel": {"color": _GRAY, "hideOverlap": True},
            "splitLine": {"show": False},
        },
        "yAxis": {
            "type": "value",
            "min": 0,
            "name": unit,
            "nameTextStyle": {"color": _GRAY, "align": "left"},
            "axisLabel": {"color": _GRAY},
            "splitLine": {"lineStyle": {"color": _LINE}},
        },
    }


def line_options(
    series: dict[str, Sequence[tuple[datetime, float | None]]],
    unit: str,
    *,
    stacked: bool = False,
    colors: Sequence[str] = COLORS,
) -> dict[str, Any]:
    """Returns the options of a chart with lines over time."""
    return {
        **axis_options(unit),
        # The legend is above the name of the axis. It scrolls in a narrow chart.
        "grid": {"left": 8, "right": 12, "top": 50, "bottom": 6, "containLabel": True},
        "legend": {
            "type": "scroll",
            "top": 0,
            "left": 4,
            "right": 4,
            "itemHeight": 8,
            "itemWidth": 14,
            "textStyle": {"color": _GRAY},
        },
        "color": [*colors],
        "series": [
            {
                "name": name,
                "type": "line",
                "showSymbol": False,
                "lineStyle": {"width": 1.8, "color": color},
                "itemStyle": {"color": color},
                **({"stack": "all", "areaStyle": {"opacity": 0.25}} if stacked else {}),
                "data": [[round(at.timestamp() * 1000), None if y is None else round(y, 4)] for at, y in points],
            }
            for (name, points), color in zip(series.items(), cycle(colors), strict=False)
        ],
    }


def line_chart(options: dict[str, Any], label: str) -> ui.echart:
    """Draws a chart with an accessible name."""
    chart = ui.echart(options).classes("kw-chart")
    chart.props["role"] = "img"
    chart.props["aria-label"] = label
    return chart


def durations_chart(entries: Sequence[ReconcileEntry]) -> ui.echart:
    """Draws the durations of the last reconciles."""
    chart = line_chart(durations_options(entries), "Durations of the last reconciles").classes("kw-chart-small")
    chart.props("data-testid=durations")
    return chart


def durations_options(entries: Sequence[ReconcileEntry]) -> dict[str, Any]:
    """Returns the options: one bar per reconcile, colored by its result, newest on the right."""
    options = axis_options("ms")
    options["xAxis"] = {
        "type": "category",
        "data": [entry.record.ended_at.strftime("%H:%M:%S") for entry in reversed(entries)],
        "axisLine": {"lineStyle": {"color": _GRAY}},
        "axisTick": {"show": False},
        "axisLabel": {"color": _GRAY, "hideOverlap": True},
    }
    options["series"] = [
        {
            "name": "duration",
            "type": "bar",
            "barMaxWidth": 26,
            "data": [
                {
                    "value": round(entry.record.seconds * 1000, 2),
                    "itemStyle": {"color": _STATE_COLORS.get(entry.state, _GRAY), "borderRadius": [2, 2, 0, 0]},
                }
                for entry in reversed(entries)
            ],
        }
    ]
    return options
