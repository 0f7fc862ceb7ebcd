"""Charts, of numbers alone. A tooltip is drawn as text: names in it may come from strangers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import cycle
from typing import Any, Final

from nicegui import ui

from kubewright.console._states import State
from kubewright.console._timeline import Turn

__all__ = ["COLOURS", "axis_options", "durations_chart", "durations_options", "line_chart", "line_options"]

# Colours that are to be told apart on white and on black, also by those who do not see red and green alike.
COLOURS: Final = ("#2a9d9d", "#6b8fd6", "#d08a2e", "#c4504a", "#8d6bc1", "#6f8a3c")
_STATE_COLOURS: Final = {
    State.READY: "#2a9d6b",
    State.PROGRESSING: "#6b8fd6",
    State.FAILING: "#d0534c",
}
_GREY: Final = "#8a96a3"
_LINE: Final = "rgba(138,150,163,0.22)"


def axis_options(unit: str = "") -> dict[str, Any]:
    """What all charts have in common."""
    return {
        "animation": False,
        "textStyle": {"fontFamily": "inherit"},
        "grid": {"left": 8, "right": 12, "top": 28, "bottom": 6, "containLabel": True},
        "tooltip": {"trigger": "axis", "renderMode": "richText", "confine": True},
        "xAxis": {
            "type": "time",
            "axisLine": {"lineStyle": {"color": _GREY}},
            "axisLabel": {"color": _GREY, "hideOverlap": True},
            "splitLine": {"show": False},
        },
        "yAxis": {
            "type": "value",
            "min": 0,
            "name": unit,
            "nameTextStyle": {"color": _GREY, "align": "left"},
            "axisLabel": {"color": _GREY},
            "splitLine": {"lineStyle": {"color": _LINE}},
        },
    }


def line_options(
    series: dict[str, Sequence[tuple[datetime, float | None]]],
    unit: str,
    *,
    stacked: bool = False,
    colours: Sequence[str] = COLOURS,
) -> dict[str, Any]:
    """Lines over time, each in its colour."""
    return {
        **axis_options(unit),
        "legend": {"top": 0, "right": 8, "itemHeight": 8, "itemWidth": 14, "textStyle": {"color": _GREY}},
        "color": [*colours],
        "series": [
            {
                "name": name,
                "type": "line",
                "showSymbol": False,
                "lineStyle": {"width": 1.8, "color": colour},
                "itemStyle": {"color": colour},
                **({"stack": "all", "areaStyle": {"opacity": 0.25}} if stacked else {}),
                "data": [[round(at.timestamp() * 1000), None if y is None else round(y, 4)] for at, y in points],
            }
            for (name, points), colour in zip(series.items(), cycle(colours), strict=False)
        ],
    }


def line_chart(options: dict[str, Any], label: str) -> ui.echart:
    """A chart with a name for those who cannot see it."""
    chart = ui.echart(options).classes("kw-chart")
    chart.props["role"] = "img"
    chart.props["aria-label"] = label
    return chart


def durations_chart(turns: Sequence[Turn]) -> ui.echart:
    """How long the last reconciles took."""
    chart = line_chart(durations_options(turns), "How long the last reconciles took").classes("kw-chart-small")
    chart.props("data-testid=durations")
    return chart


def durations_options(turns: Sequence[Turn]) -> dict[str, Any]:
    """A bar for each reconcile, in the colour of how it ended, the newest to the right."""
    options = axis_options("ms")
    options["xAxis"] = {
        "type": "category",
        "data": [turn.record.ended_at.strftime("%H:%M:%S") for turn in reversed(turns)],
        "axisLine": {"lineStyle": {"color": _GREY}},
        "axisTick": {"show": False},
        "axisLabel": {"color": _GREY, "hideOverlap": True},
    }
    options["series"] = [
        {
            "name": "duration",
            "type": "bar",
            "barMaxWidth": 26,
            "data": [
                {
                    "value": round(turn.record.seconds * 1000, 2),
                    "itemStyle": {"color": _STATE_COLOURS.get(turn.state, _GREY), "borderRadius": [2, 2, 0, 0]},
                }
                for turn in reversed(turns)
            ],
        }
    ]
    return options
