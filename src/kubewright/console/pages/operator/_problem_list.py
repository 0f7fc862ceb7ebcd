"""The problems of all operators, on top of their page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from nicegui import ui

from kubewright.console.operators import OperatorProblem
from kubewright.console.pages._addresses import ListView
from kubewright.console.pages.widgets import icon, link, section

__all__ = ["ProblemList"]

_SHOWN: Final = 20


class ProblemList:
    """A list that is redrawn when the problems change. Hidden while there are none."""

    def __init__(self) -> None:
        self._shown: object = None
        self._place = ui.column().classes("kw-card kw-box").props("data-testid=operator-problems")
        self._place.set_visibility(False)

    def update(self, problems: Sequence[tuple[str, OperatorProblem]]) -> None:
        """Shows problems, each with the name of its operator, which is empty if there is only one."""
        if problems == self._shown:
            return
        self._shown = problems
        self._place.set_visibility(bool(problems))
        self._place.clear()
        with self._place:
            section("Problems")
            with ui.element("ul").classes("kw-owned"):
                for name, problem in problems[:_SHOWN]:
                    with ui.element("li"):
                        icon("error").classes("kw-failing")
                        text = f"{name}: {problem.text}" if name else problem.text
                        if problem.kind:
                            link(text, ListView(text="failing").address(problem.kind))
                        else:
                            ui.label(text).style("display: inline")
                if len(problems) > _SHOWN:
                    with ui.element("li"):
                        ui.label(f"and {len(problems) - _SHOWN:,} more")
