"""Objects, lists and maps of a form: groups that open, and grow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from nicegui import ui

from kubewright.console.forms import NOWHERE, Field
from kubewright.console.pages._edit_fields import draw_field, draw_members, is_fixed
from kubewright.console.pages._edit_places import Drawing, Place
from kubewright.console.pages._parts import labelled

__all__ = ["blank", "draw_group"]

_DEEPEST_OPEN: Final = 4
"""Groups further down are closed at first, so that a pod template does not fill the page."""
_AT_ONCE: Final = 100
"""So many elements of a list or map are drawn; thousands of widgets would stop the browser, and us."""


def draw_group(drawing: Drawing, place: Place) -> ui.element | None:
    """An object, a list or a map, in a group that is drawn when it is opened."""
    field, path = place.field, place.path
    value = drawing.document.get(path)
    is_element = place.parent is not None and place.parent.field.shape in ("list", "map")
    if is_element and field.shape == "object":
        with ui.element("div").classes("kw-element"):
            _errors(drawing, place)
            draw_members(drawing, place)
        return None
    has_more = value not in (NOWHERE, None, {}, []) and len(path) <= _DEEPEST_OPEN
    is_open = path in drawing.opened or has_more or field.required or is_element
    name = field.name or f"{place.step}"
    title = f"{name} *" if field.required and field.name else name
    with ui.element("div").classes("w-full"):
        group = ui.expansion(title, caption=_caption(field, value) or None, value=is_open).classes("kw-group")
        group.props("dense")
        group.props["header-class"] = "kw-group-header"
        labelled(group, place.label)
        group.props["data-path"] = place.label
        with group:
            body = ui.element("div").classes("kw-group-body")
        _errors(drawing, place)
    drawn = _Group(drawing, place, body, group)
    if is_open:
        drawn.draw()
    group.on_value_change(drawn.opened)
    return None


def _errors(drawing: Drawing, place: Place) -> None:
    drawing.shows_errors(place, ui.label("").classes("kw-error").props("role=alert"))


def _caption(field: Field, value: Any) -> str:
    parts = []
    if isinstance(value, list):
        parts.append(f"{len(value)} element{'s' if len(value) != 1 else ''}")
    elif isinstance(value, dict) and field.shape == "map":
        parts.append(f"{len(value)} entr{'ies' if len(value) != 1 else 'y'}")
    elif value is NOWHERE:
        parts.append("not set")
    elif value is None:
        parts.append("null")
    elif value == {}:
        parts.append("empty")
    parts += [part for part in (field.description[:160], field.hint) if part]
    return " · ".join(parts)


class _Group:
    """The inside of a group, drawn again when its shape changes."""

    def __init__(self, drawing: Drawing, place: Place, body: ui.element, group: ui.expansion) -> None:
        self.drawing = drawing
        self.place = place
        self.body = body
        self.group = group
        self.fixed = is_fixed(drawing, place)
        self.drawn = False
        self.first = 0
        """The element that the part which is drawn begins with."""

    def opened(self) -> None:
        """Somebody opened it, or closed it."""
        if self.group.value:
            self.drawing.opened.add(self.place.path)
            if not self.drawn:
                self.draw()
                self.drawing.show_again()
        else:
            self.drawing.opened.discard(self.place.path)

    def draw(self, focus: int | None = None) -> None:
        """Draw the inside. `focus` is the element to put the cursor into."""
        self.drawn = True
        self.body.clear()
        value = self.drawing.document.get(self.place.path)
        caption = _caption(self.place.field, value)
        if caption:
            self.group.props["caption"] = caption
        with self.body:
            match self.place.field.shape:
                case "list":
                    self._list(value if isinstance(value, list) else [], focus)
                case "map":
                    self._map(value if isinstance(value, dict) else {}, focus)
                case _:
                    draw_members(self.drawing, self.place)
            self._foot(value)

    def _part(self, count: int, focus: int | None) -> range:
        """Which elements are drawn: the part that was, or the one with the cursor."""
        if focus is not None:
            self.first = focus - focus % _AT_ONCE
        last = max(count - 1, 0)
        self.first = min(self.first, last - last % _AT_ONCE)
        return range(self.first, min(self.first + _AT_ONCE, count))

    def _parts(self, shown: range, count: int) -> None:
        """The way to the other elements, where there are so many."""
        if len(shown) == count:
            return

        def turn(first: int) -> Callable[[], None]:
            def act() -> None:
                self.first = first
                self.draw()
                self.drawing.show_again()

            return act

        with ui.row().classes("gap-2 items-center").props("data-testid=parts"):
            for picture, first, name in (
                ("chevron_left", shown.start - _AT_ONCE, "Earlier"),
                ("chevron_right", shown.stop, "Later"),
            ):
                button = ui.button(icon=picture, on_click=turn(first)).props("flat dense round size=sm")
                labelled(button, f"{name} elements of {self.place.label}")
                button.set_enabled(0 <= first < count)
            ui.label(f"{shown.start + 1:,} to {shown.stop:,} of {count:,}").classes("kw-reason")

    def _redraw(self, focus: int | None = None) -> None:
        self.draw(focus)
        self.drawing.edited()

    def _foot(self, value: Any) -> None:
        field, path, document = self.place.field, self.place.path, self.drawing.document
        if self.fixed:
            return
        is_element = self.place.parent is not None and self.place.parent.field.shape in ("list", "map")

        def put(made: Any) -> Callable[[], None]:
            def act() -> None:
                document.put(path, made)
                self._redraw()

            return act

        def leave_out() -> None:
            document.remove(path)
            self._redraw()

        def add() -> None:
            self._add()

        with ui.row().classes("gap-2 items-center"):
            if field.shape in ("list", "map"):
                count = len(value) if isinstance(value, list | dict) else 0
                more = ui.button(f"Add {_one(field)}", icon="add", on_click=add).props("outline dense no-caps size=sm")
                more.classes("q-px-sm")
                labelled(more, f"Add to {self.place.label}")
                if field.refuses_more(count):
                    more.disable()
                    ui.label("There is no room for more.").classes("kw-reason")
            if value is NOWHERE or value is None:
                empty: Any = [] if field.shape == "list" else {}
                made = ui.button("Set empty", on_click=put(empty)).props("flat dense no-caps size=sm")
                labelled(made, f"Set {self.place.label} empty")
                if field.nullable and value is not None:
                    null = ui.button("Set null", on_click=put(None)).props("flat dense no-caps size=sm")
                    labelled(null, f"Set {self.place.label} to null")
            if value is not NOWHERE and not field.required and not is_element:
                gone = ui.button("Leave out", on_click=leave_out).props("flat dense no-caps size=sm")
                labelled(gone, f"Leave out {self.place.label}")

    def _add(self) -> None:
        field, document = self.place.field, self.drawing.document
        value = document.get(self.place.path)
        if field.shape == "list":
            if value is None:
                document.put(self.place.path, [])
            *_, place = document.add(self.place.path, blank(field.element))
            self._redraw(int(place))
        else:
            if not document.has((*self.place.path, "")):
                document.put((*self.place.path, ""), blank(field.element))
            self._redraw(list(document.get(self.place.path)).index(""))

    def _list(self, elements: list[Any], focus: int | None) -> None:
        shown = self._part(len(elements), focus)
        self._parts(shown, len(elements))
        for index in shown:
            place = self.place.element(index)
            if place.field.is_scalar:
                with ui.element("div").classes("kw-field-row"):
                    with ui.element("div").classes("kw-grow"):
                        widget = draw_field(self.drawing, place)
                    self._moves(index, len(elements))
                if focus == index and widget is not None:
                    widget.props("autofocus")
            else:
                with ui.element("div").classes("kw-element-title"):
                    ui.label(f"{self.place.field.name or 'element'} {index + 1}")
                    ui.space()
                    self._moves(index, len(elements))
                draw_field(self.drawing, place)

    def _moves(self, index: int, count: int) -> None:
        if self.fixed:
            return
        path, document = self.place.path, self.drawing.document

        def move(to: int) -> Callable[[], None]:
            def act() -> None:
                document.move((*path, index), to)
                self._redraw(to)

            return act

        def remove() -> None:
            document.remove((*path, index))
            self._redraw(min(index, count - 2) if count > 1 else None)

        label = f"{self.place.label}[{index}]"
        if count > 1:
            up = ui.button(icon="arrow_upward", on_click=move(index - 1)).props("flat dense round size=sm color=grey")
            labelled(up, f"Move {label} up")
            up.set_enabled(index > 0)
        gone = ui.button(icon="close", on_click=remove).props("flat dense round size=sm color=grey")
        labelled(gone, f"Remove {label}")

    def _map(self, members: dict[str, Any], focus: int | None) -> None:
        shown = self._part(len(members), focus)
        self._parts(shown, len(members))
        for number, name in zip(shown, [*members][shown.start : shown.stop], strict=True):
            place = self.place.element(name)
            with ui.element("div").classes("kw-field-row"):
                key = self._key(place, name)
                with ui.element("div").classes("kw-grow"):
                    if place.field.is_scalar:
                        draw_field(self.drawing, place)
                self._gone(place)
            if not place.field.is_scalar:
                draw_field(self.drawing, place)
            if focus == number:
                key.props("autofocus")

    def _key(self, place: Place, name: str) -> ui.input:
        key = ui.input("key", value=name).props("outlined dense stack-label hide-bottom-space autocomplete=off")
        key.classes("kw-key").without_auto_validation()
        labelled(key, f"Key of {place.label}")
        if self.fixed:
            key.disable()

        def rename() -> None:
            wanted = key.value or ""
            if self.drawing.document.rename(place.path, wanted):
                place.step = wanted
                key.error = None
                labelled(key, f"Key of {place.label}")
                self.drawing.renamed()
                self.drawing.edited()
            else:
                key.error = "there is one of this name already"

        key.on_value_change(rename)
        return key

    def _gone(self, place: Place) -> None:
        if self.fixed:
            return

        def remove() -> None:
            self.drawing.document.remove(place.path)
            self._redraw()

        button = ui.button(icon="close", on_click=remove).props("flat dense round size=sm color=grey")
        labelled(button, f"Remove {place.label}")


def _one(field: Field) -> str:
    """What an element is called on the button that adds one."""
    if field.shape == "map":
        return "entry"
    name = field.name.lower()
    return name.removesuffix("s") if len(name) > 3 and name.endswith("s") and not name.endswith("ss") else "element"


def blank(field: Field) -> Any:
    """What a new element begins with: the default, or the least that has the right shape."""
    if field.default is not NOWHERE:
        return field.default
    match field.shape:
        case "object":
            return {name: blank(member) for name, member in field.members.items() if member.required}
        case "map" | "yaml":
            return {}
        case "list":
            return []
        case "choice":
            return field.choices[0]
        case "boolean":
            return False
        case "integer" | "number":
            low = field.schema.get("minimum")
            return low if isinstance(low, int) and low > 0 else 0
        case _:
            return ""
