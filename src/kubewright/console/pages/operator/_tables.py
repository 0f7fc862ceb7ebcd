"""The tables about an operator: controllers, leader election, caches and watches, requests, webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

from kubewright.console.objects import RESULT_STATES, State, ago, parse_time
from kubewright.console.operators import percentile
from kubewright.console.pages._addresses import kind_address
from kubewright.console.pages.widgets import RelativeTimes, fact, link, section, state_mark
from kubewright.counts import counted
from kubewright.durations import format_duration
from kubewright.observe import CacheReport, ControllerReport, OperatorReport

__all__ = ["Caches", "Card", "Controllers", "Leader", "Requests", "Webhooks"]

_NONE: Final = "\N{EN DASH}"


class Card:
    """A card that is redrawn when its content changes."""

    title = ""
    name = ""

    def __init__(self, times: RelativeTimes) -> None:
        self._times = times
        self._shown: Any = None
        with ui.column().classes("kw-card kw-box") as card:
            card.props["data-testid"] = self.name
            section(self.title)
            self._place = ui.element("div").classes("kw-scroll")

    def update(self, report: OperatorReport) -> None:
        """Redraws the card if its content changed."""
        content = self.content(report)
        if content != self._shown:
            self._shown = content
            self._place.clear()
            with self._place:
                self.fill(report)

    def content(self, report: OperatorReport) -> Any:
        """Returns everything that is shown, for comparison."""
        raise NotImplementedError

    def fill(self, report: OperatorReport) -> None:
        """Draws the content."""
        raise NotImplementedError


class Controllers(Card):
    """Queues and workers."""

    title = "Controllers"
    name = "controllers"

    def content(self, report: OperatorReport) -> Any:
        """Returns all values."""
        return report.controllers

    def fill(self, report: OperatorReport) -> None:
        """Draws one row per controller."""
        titles = ("Controller", "Reconciles", "Workers", "Ready", "Delayed", "Longest run", "p50", "p99", "Results")
        with _table(titles, numbers=range(2, 8)):
            for one in report.controllers:
                self._row(one)

    @staticmethod
    def _row(one: ControllerReport) -> None:
        with ui.element("tr").props("data-testid=controller"):
            with ui.element("td"):
                link(one.name, f"/operator?controller={quote(one.name, safe='')}")
            with ui.element("td"):
                path = f"{one.group or 'core'}/{one.plural}"
                link(one.kind, kind_address(path)) if one.plural else ui.label(one.kind)
            _number(f"{one.active} of {one.concurrency}")
            _number(str(one.ready))
            _number(str(one.delayed))
            _number(format_duration(one.longest_running_seconds) if one.longest_running_seconds else _NONE)
            for quantile in (0.5, 0.99):
                counts, bounds = (one.durations.counts, one.durations.bounds) if one.durations else ((), ())
                found = percentile(counts, bounds, quantile)
                _number(_NONE if found is None else format_duration(found))
            with ui.element("td"), ui.row().classes("kw-line"):
                if one.write_loops:
                    state_mark(State.FAILING, f"{one.write_loops} write loops")
                for result, count in sorted(one.reconciles.items()):
                    state_mark(RESULT_STATES.get(result, State.UNKNOWN), f"{count} {result.replace('_', ' ')}")


class Leader(Card):
    """The state of the leader election."""

    title = "Leader"
    name = "leader"

    def content(self, report: OperatorReport) -> Any:
        """Returns the state of the election."""
        return (report.leader, report.leader is not None and report.at.minute)

    def fill(self, report: OperatorReport) -> None:
        """Draws the facts."""
        leader = report.leader
        if leader is None:
            ui.label("This operator runs without leader election, as a single replica.").classes("kw-muted")
            return
        state = {"leading": State.READY, "standby": State.PROGRESSING}.get(leader.state, State.UNKNOWN)
        warm = all(cache.synced for cache in report.caches)
        standby = "warm standby: caches in sync" if warm else "standby: caches not in sync yet"
        words = {"leading": "this replica leads", "standby": standby, "over": "this replica no longer leads"}
        with ui.element("div").classes("kw-facts"):
            ui.label("This replica").classes("kw-fact-name")
            state_mark(state, words.get(leader.state, leader.state))
            fact("Identity", leader.identity)
            fact("Lease", leader.lease)
            fact("Held by", leader.leader or "no replica")
            since = parse_time(leader.since)
            fact("Since", f"{leader.since} ({ago(since, datetime.now(UTC))})" if since else _NONE)
            fact("Renewals", f"{leader.renewals}, {leader.failures} failed; {leader.transitions} leader transitions")
            if leader.last_error:
                fact("Last error", leader.last_error)


class Caches(Card):
    """Caches and watches."""

    title = "Caches and watches"
    name = "caches"

    def content(self, report: OperatorReport) -> Any:
        """Returns all values."""
        return report.caches

    def fill(self, report: OperatorReport) -> None:
        """Draws one row per cache."""
        titles = ("Kind", "Watch", "Objects", "Size", "Last event", "Relists", "Restarts", "Stalls", "Undecodable")
        with _table(titles, numbers=range(2, 9)):
            for one in report.caches:
                self._row(one, report.at)
        size = sum(one.bytes for one in report.caches)
        objects = sum(one.objects for one in report.caches)
        ui.label(f"{counted(objects, 'object')}, {_size(size)} of JSON in total").classes("kw-muted kw-small")

    def _row(self, one: CacheReport, at: datetime) -> None:
        with ui.element("tr").props("data-testid=cache"):
            with ui.element("td"):
                where = f" in {', '.join(one.namespaces)}" if one.namespaces else ""
                chosen = f" with {one.selection}" if one.selection else ""
                ui.label(f"{one.kind}{where}{chosen}")
                if one.last_error:
                    ui.label(one.last_error).classes("kw-failing kw-small")
            with ui.element("td"):
                good = one.state in ("watching", "absent") and one.synced
                state_mark(State.READY if good else State.FAILING if one.last_error else State.PROGRESSING, one.state)
            _number(str(one.objects))
            _number(_size(one.bytes))
            _number(ago(one.last_event_at, at) if one.last_event_at else _NONE)
            for count in (one.relists, one.restarts, one.stalls, one.undecodable):
                _number(str(count))


class Requests(Card):
    """The API server's responses."""

    title = "Requests to the API server"
    name = "requests"

    def content(self, report: OperatorReport) -> Any:
        """Returns the counts by status."""
        return report.requests

    def fill(self, report: OperatorReport) -> None:
        """Draws one mark per status."""
        if not report.requests:
            ui.label("None yet.").classes("kw-muted")
            return
        with ui.row().classes("kw-line"):
            for code, count in sorted(report.requests.items()):
                good = code.startswith(("2", "3"))
                expected = code in ("404", "409", "410")
                state = State.READY if good else State.UNKNOWN if expected else State.FAILING
                state_mark(state, f"{count} × {code}")  # noqa: RUF001  # the multiplication sign is intended


class Webhooks(Card):
    """The requests that webhooks received."""

    title = "Webhooks"
    name = "webhooks"

    def content(self, report: OperatorReport) -> Any:
        """Returns all values."""
        return (report.webhooks, report.certificate_expires_at)

    def fill(self, report: OperatorReport) -> None:
        """Draws one row per path."""
        with _table(("Path", "Requests", "Allowed", "Refused", "Failed", "In flight"), numbers=range(1, 6)):
            for one in report.webhooks:
                with ui.element("tr"):
                    with ui.element("td"):
                        ui.label(one.path).classes("kw-mono")
                    for count in (one.requests, one.allowed, one.refused, one.failed, one.in_flight):
                        _number(str(count))
        if report.certificate_expires_at is not None:
            ends = report.certificate_expires_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
            ui.label(f"The certificate expires at {ends}").classes("kw-muted kw-small")


def _table(titles: Sequence[str], numbers: range) -> ui.element:
    """Draws the head of a table and returns its body."""
    with ui.element("table").classes("kw-table"):
        with ui.element("thead"), ui.element("tr"):
            for place, title in enumerate(titles):
                with ui.element("th").classes("kw-number" if place in numbers else ""):
                    ui.label(title)
        return ui.element("tbody")


def _number(text: str) -> None:
    with ui.element("td").classes("kw-number kw-nowrap"):
        ui.label(text)


def _size(count: int) -> str:
    if count < 1024:
        return f"{count} B"
    if count < 1024 * 1024:
        return f"{count / 1024:.1f} KiB"
    return f"{count / 1024 / 1024:.1f} MiB"
