"""`LiveGrid`: the rows of a list in the browser, which receives only changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec
import nicegui.elements.aggrid  # noqa: F401  # the front end of LiveGrid imports its front end
from nicegui.element import Element
from nicegui.events import GenericEventArguments

from kubewright.console.caches import Row
from kubewright.console.kinds import Kind
from kubewright.console.objects import State
from kubewright.console.pages._addresses import ListView
from kubewright.console.pages._static_files import STATIC
from kubewright.console.pages.widgets import path_prefix
from kubewright.console.theme import ICONS

__all__ = ["LiveGrid", "columns_of"]

# Sorting by state uses this order, so that problems come first.
_STATES_BY_URGENCY: Final = (
    State.FAILING,
    State.PROGRESSING,
    State.UNKNOWN,
    State.TERMINATING,
    State.SUSPENDED,
    State.READY,
)
_REQUIRED_FIELDS: Final = ("id", "namespace", "name", "state", "why", "created")


def columns_of(kind: Kind) -> list[dict[str, Any]]:
    """Returns the columns of a kind's list: name, namespace, state, printer columns, age."""
    columns: list[dict[str, Any]] = [_column("name", "Name", "name", flex=2, width=180, narrow=120)]
    if kind.namespaced:
        columns.append(_column("namespace", "Namespace", flex=1, width=120))
    if kind.custom or kind.has_status:
        columns.append(_column("state", "State", "state", width=136, narrow=132))
    for one in kind.columns:
        if one.type == "date" and one.name.lower() in ("age", "created at"):
            continue  # the age column is always last
        type_ = "date" if one.type == "date" else "number" if one.type in ("integer", "number") else "text"
        columns.append(
            _column(one.field, one.name, type_, flex=0 if type_ != "text" else 1, width=100)
            | {"description": one.description, "wide": one.wide}
        )
    if kind.custom or kind.has_status:
        columns.append(_column("message", "Message", flex=2, width=160))
    columns.append(_column("age", "Age", "date", width=90, narrow=68) | {"field": "created"})
    return columns


def _column(
    name: str, title: str, type_: str = "text", *, flex: int = 0, width: int = 100, narrow: int = 100
) -> dict[str, Any]:
    """Returns a column. `width` is the minimum of a growing column (`flex`); `narrow` is the width on phones."""
    sizes = {"flex": flex or None, "width": width, "narrow": narrow}
    return {"id": name, "field": name, "name": title, "type": type_, **sizes}


class LiveGrid(Element, component=STATIC / "live_grid.js"):
    """An AG Grid with the rows of one kind.

    The element sends all rows once, in batches, and then only changes. It stores no rows. The browser sorts, filters,
    and updates ages. Calls `on_ready` when the browser can receive rows.
    """

    def __init__(
        self,
        kind: Kind,
        view: ListView,
        *,
        on_ready: Callable[[], Any],
        on_sort: Callable[[str], Any],
        on_select: Callable[[list[str]], Any],
    ) -> None:
        super().__init__()
        columns = columns_of(kind)
        self.fields = [*_REQUIRED_FIELDS, *(one["field"] for one in columns if one["field"] not in _REQUIRED_FIELDS)]
        self.props["columns"] = columns
        self.props["fields"] = self.fields
        self.props["states"] = {
            str(state): {"icon": ICONS[state], "rank": _STATES_BY_URGENCY.index(state)} for state in State
        }
        self.props["path"] = kind.path
        self.props["prefix"] = path_prefix()
        self.props["label"] = f"List of {kind.plural}"
        self.props["sort"] = view.sort
        self.props["filter"] = view.text
        self.props["wide"] = view.wide
        self.on("mounted", on_ready)
        self.on("sorted", lambda event: on_sort(_sort_order(event)))
        self.on("selected", lambda event: on_select(_ids_of(event)))

    def set_initial_rows(self, rows: Iterable[Row], *, last: bool) -> None:
        """Sets the rows that the page contains when it is delivered. `last` means that the list is complete."""
        self.props["initial"] = self._pack(rows, (), last=last)

    def drop_initial_rows(self) -> None:
        """Drops the initial rows. Otherwise each update of the element would send them again."""
        dict.pop(self.props, "initial", None)  # without sending an update

    def change(self, put: Iterable[Row], gone: Sequence[str] = (), *, last: bool = True) -> None:
        """Adds, replaces and removes rows. `last` means that the list is complete."""
        self.run_method("change", self._pack(put, gone, last=last))

    def _pack(self, put: Iterable[Row], gone: Sequence[str], *, last: bool) -> str:
        packed = [[row.get(field) for field in self.fields] for row in put]
        # One string, because browsers parse JSON much faster than they evaluate JavaScript.
        return msgspec.json.encode({"put": packed, "gone": list(gone), "last": last}).decode()

    def search(self, text: str) -> None:
        """Shows only rows that contain all these words."""
        self.run_method("search", text)

    def widen(self, wide: bool) -> None:
        """Shows or hides columns of lower priority."""
        self.run_method("widen", wide)


def _ids_of(event: GenericEventArguments) -> list[str]:
    """Returns the IDs of the selected rows, which come from the browser."""
    ids = event.args.get("ids") if isinstance(event.args, dict) else None
    return [one for one in ids if isinstance(one, str)] if isinstance(ids, list) else []


def _sort_order(event: GenericEventArguments) -> str:
    sort = event.args.get("sort") if isinstance(event.args, dict) else None
    return sort if isinstance(sort, str) else ""
