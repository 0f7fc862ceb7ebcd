"""The page of the operators: controllers, rates, leader election, caches and watches."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import quote

import msgspec
from nicegui import ui

from kubewright.cache import CacheSyncError
from kubewright.client import ApiError
from kubewright.console.objects import elapsed
from kubewright.console.operators import WatchedOperator, operator_problems
from kubewright.console.pages import _problems as problems
from kubewright.console.pages._context import PageContext
from kubewright.console.pages._page import page
from kubewright.console.pages.layout import Shell, frame
from kubewright.console.pages.operator._charts import ControllerCharts
from kubewright.console.pages.operator._problem_list import ProblemList
from kubewright.console.pages.operator._tables import Caches, Card, Controllers, Leader, Requests, Webhooks
from kubewright.console.pages.widgets import RelativeTimes, add_object_style, banner, heading
from kubewright.observe import OperatorReport

__all__ = ["show_operators"]

_NO_OPERATOR = problems.Problem(
    "support_agent",
    "No operator is connected",
    "Start the operator with --health-bind, and pass that address to the console. For an operator in a "
    "cluster, use port forwarding; it serves its debug endpoints with --debug-pages.",
    [
        "kubewright run foo.py --health-bind 127.0.0.1:8081",
        "kubewright ui --operator 127.0.0.1:8081",
        "kubectl port-forward deploy/my-operator 8081",
    ],
)


@page("/operator")
async def show_operators(ctx: PageContext, controller: str = "", operator: str = "") -> None:
    """Shows the problems of all operators that the console queries, and the operator with this address."""
    with frame(ctx, "Operator", here="/operator") as around:
        add_object_style()
        await OperatorsPage(ctx, around.shell, controller, operator).draw()


_NOT_VISIBLE = problems.Problem(
    "lock",
    "You may not see this operator",
    "An operator is shown to users who may list objects of a kind that it reconciles. Ask a cluster administrator to "
    "grant the verb “list” on such a kind.",
    ["kubectl auth can-i --list"],
)
_PERMISSION_SECONDS = 15.0


class OperatorsPage:
    """All operators that the viewer may see: their problems on top, then a tab for each. `kubewright dev` replaces the
    operator after each save.

    A viewer sees the controllers and caches of the kinds that they may list, and nothing of other operators. The local
    user sees everything, because the credentials are theirs.
    """

    def __init__(self, ctx: PageContext, shell: Shell, controller: str, address: str) -> None:
        self._backend = ctx.backend
        self._ctx = ctx
        self._shell = shell
        self._controller = controller
        self._address = address
        self._drawn: list[WatchedOperator] | None = None
        self._by_key: dict[str, WatchedOperator] = {}
        self._part: OperatorPart | None = None
        self._allowed: frozenset[tuple[str, str]] | None = frozenset()
        """The groups and kinds that the viewer may see; None for all."""

    async def draw(self) -> None:
        """Draws the operators and subscribes to changes."""
        self._problems = ProblemList()
        self._place = ui.column().classes("kw-tab")
        await self._check_permissions()
        self._ctx.on_close(self._backend.operators.subscribe(self._update))
        ui.timer(_PERMISSION_SECONDS, self._check_permissions, immediate=False)

    async def _check_permissions(self) -> None:
        try:
            self._allowed = None if self._ctx.session.local else await self._visible_kinds()
        except (ApiError, CacheSyncError):
            return  # the frame reports the lost connection
        self._update()

    async def _visible_kinds(self) -> frozenset[tuple[str, str]]:
        reports = [one.report for one in self._backend.operators if one.report is not None]
        named = {(one.group, one.kind) for report in reports for one in report.controllers}
        named |= {(one.group, one.kind) for report in reports for one in report.caches}
        kinds = [kind for kind in await self._backend.kinds() if (kind.group, kind.kind) in named]
        return frozenset([(kind.group, kind.kind) for kind in kinds if await self._ctx.can_see(kind)])

    def _may_see(self, operator: WatchedOperator) -> bool:
        if self._allowed is None:
            return True
        report = operator.report
        return report is not None and any((one.group, one.kind) in self._allowed for one in report.controllers)

    def _update(self) -> None:
        connected = [*self._backend.operators]
        operators = [one for one in connected if self._may_see(one)]
        if self._drawn != operators or not operators:
            self._drawn = operators
            self._draw(operators, bool(connected))
        self._problems.update(
            [
                (one.name if len(operators) > 1 else "", problem)
                for one in operators
                for problem in operator_problems(one, _visible_part(one.report, self._allowed))
            ]
        )
        if self._part is not None:
            self._part.update(_visible_part(self._part.operator.report, self._allowed))

    def _draw(self, operators: list[WatchedOperator], any_connected: bool) -> None:
        self._place.clear()
        self._part = None
        with self._place:
            if not operators:
                problems.draw(_NOT_VISIBLE if any_connected else _NO_OPERATOR)
                return
            self._by_key = _by_unique_address(operators)
            if self._address not in self._by_key:
                self._address = next(iter(self._by_key))
            if len(operators) > 1:
                with ui.tabs(on_change=lambda event: self._choose(str(event.value))).classes("kw-tabs") as tabs:
                    tabs.props("dense no-caps inline-label align=left aria-label=Operators")
                    for key, one in self._by_key.items():
                        ui.tab(key, f"{one.name} · {key}")
                tabs.set_value(self._address)
            self._panel = ui.column().classes("kw-tab").props("role=tabpanel" if len(operators) > 1 else "")
            self._show()

    def _choose(self, key: str) -> None:
        if key != self._address and key in self._by_key:
            self._address = key
            self._shell.show_address(f"/operator?operator={quote(key, safe='')}")
            self._show()
            self._update()

    def _show(self) -> None:
        self._panel.clear()
        with self._panel:
            self._part = OperatorPart(self._by_key[self._address], self._controller)


class OperatorPart:
    """The section of one operator."""

    def __init__(self, operator: WatchedOperator, controller: str) -> None:
        self.operator = operator
        self._times = RelativeTimes()
        self._controller = controller
        self._charts: dict[str, ControllerCharts] = {}
        self._parts: list[Card] = []
        self._shown: object = None
        with ui.column().classes("kw-tab").props("data-testid=operator"):
            self._head = ui.column().classes("kw-object-head")
            self._body = ui.column().classes("kw-tab")

    def update(self, report: OperatorReport | None) -> None:
        """Redraws what changed in the visible part of the report."""
        self._draw_head()
        if report is None:
            return
        names = [one.name for one in report.controllers]
        if self._controller in names:
            names = [self._controller]
        shape = (names, len(report.webhooks), report.leader is None)
        if shape != self._shown:
            self._shown = shape
            self._draw_body(names, report)
        for part in self._parts:
            part.update(report)
        for name, charts in self._charts.items():
            charts.update(self.operator.samples(name))
        self._times.tick()

    def _draw_head(self) -> None:
        operator, report = self.operator, self.operator.report
        self._head.clear()
        with self._head:
            place = operator.address
            subtitle = [place if place.startswith("in ") else f"at {place}"]
            if report is not None:
                subtitle.append(f"Kubewright {report.version}")
                if report.started_at is not None:
                    running = elapsed((datetime.now(UTC) - report.started_at).total_seconds())
                    subtitle.append(f"running for {running}")
            heading(operator.name, " · ".join(subtitle))
            if operator.unavailable_since is not None:
                since = operator.unavailable_since.astimezone(UTC).strftime("%H:%M:%S UTC")
                banner(f"Unavailable since {since}. {operator.problem}", "failing", "cloud_off").props(
                    "data-testid=operator-away"
                )
            elif report is None:
                ui.label("Waiting for the first report.").classes("kw-muted")

    def _draw_body(self, names: list[str], report: OperatorReport) -> None:
        self._body.clear()
        self._charts = {}
        with self._body:
            self._parts = [Controllers(self._times)]
            for name in names:
                self._charts[name] = ControllerCharts(name, self.operator.samples(name))
            self._parts.append(Caches(self._times))
            with ui.element("div").classes("kw-columns"):
                self._parts.append(Leader(self._times))
                with ui.column().classes("kw-column"):
                    self._parts.append(Requests(self._times))
                    if report.webhooks:
                        self._parts.append(Webhooks(self._times))


def _by_unique_address(operators: list[WatchedOperator]) -> dict[str, WatchedOperator]:
    """Returns the operators by address. Operators in this process share an address, so a number is added to it."""
    found: dict[str, WatchedOperator] = {}
    for one in operators:
        same = sum(other.address == one.address for other in found.values())
        found[f"{one.address} ({same + 1})" if same else one.address] = one
    return found


def _visible_part(report: OperatorReport | None, allowed: frozenset[tuple[str, str]] | None) -> OperatorReport | None:
    """Returns the part of a report about kinds that the viewer may see."""
    if report is None or allowed is None:
        return report
    return msgspec.structs.replace(
        report,
        controllers=tuple(one for one in report.controllers if (one.group, one.kind) in allowed),
        caches=tuple(one for one in report.caches if (one.group, one.kind) in allowed),
    )
