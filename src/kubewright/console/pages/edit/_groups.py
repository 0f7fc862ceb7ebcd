"""Fields, objects, lists and maps of a form. Groups are drawn when they are expanded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from nicegui import ui

from kubewright.console.forms import MISSING, Field
from kubewright.console.pages.edit._form_state import FormNode, FormState
from kubewright.console.pages.edit._widgets import (
    draw_choice,
    draw_text,
    draw_unknown_fields,
    draw_yaml,
    fits,
    is_read_only,
)
from kubewright.console.pages.widgets import labeled
from kubewright.counts import counted

__all__ = ["draw_field", "draw_members"]

_MAX_EXPANDED_DEPTH: Final = 4
"""Deeper groups start collapsed, so that a pod template does not fill the page."""
_PAGE_SIZE: Final = 100
"""Elements of a list or map per page. Thousands of widgets would block the browser and the event loop."""


def draw_members(state: FormState, node: FormNode) -> None:
    """Draws the fields of an object that no declared section shows, and its unknown fields."""
    for name in node.field.members:
        if not state.is_in_section(node.member(name)):
            draw_field(state, node.member(name))
    draw_unknown_fields(state, node)


def draw_field(state: FormState, node: FormNode) -> ui.element | None:
    """Draws the widget of one node. Returns the element to focus, if there is a single one."""
    value = state.document.get(node.path)
    if node.field.shape == "yaml" or not fits(node.field, value):
        return draw_yaml(state, node)
    if not node.field.is_scalar:
        return _draw_group(state, node)
    if node.field.shape in ("choice", "boolean"):
        return draw_choice(state, node)
    return draw_text(state, node)


def _draw_group(state: FormState, node: FormNode) -> ui.element | None:
    """Draws an object, a list or a map as a group."""
    field, path = node.field, node.path
    value = state.document.get(path)
    is_element = node.parent is not None and node.parent.field.shape in ("list", "map")
    if is_element and field.shape == "object":
        with ui.element("div").classes("kw-element"):
            _draw_error_label(state, node)
            draw_members(state, node)
        return None
    has_more = value not in (MISSING, None, {}, []) and len(path) <= _MAX_EXPANDED_DEPTH
    is_open = path in state.opened or has_more or field.required or is_element
    name = state.labels.get(path) or field.name or f"{node.step}"
    title = f"{name} *" if field.required and field.name else name
    with ui.element("div").classes("w-full"):
        group = ui.expansion(title, caption=_caption(field, value) or None, value=is_open).classes("kw-group")
        group.props("dense")
        # With an empty label, the button is named by its visible text. Quasar's label would omit the caption.
        group.props["toggle-aria-label"] = ""
        group.props["header-class"] = "kw-group-header"
        labeled(group, node.label)
        group.props["data-path"] = node.label
        with group:
            body = ui.element("div").classes("kw-group-body")
        _draw_error_label(state, node)
    drawn = _Group(state, node, body, group)
    if is_open:
        drawn.draw()
    group.on_value_change(drawn.opened)
    state.register_group(path, group)
    return None


def _draw_error_label(state: FormState, node: FormNode) -> None:
    state.register(node, ui.label("").classes("kw-error").props("role=alert"))


def _caption(field: Field, value: Any) -> str:
    parts = []
    if isinstance(value, list):
        parts.append(counted(len(value), "element"))
    elif isinstance(value, dict) and field.shape == "map":
        parts.append(counted(len(value), "entry", "entries"))
    elif value is MISSING:
        parts.append("not set")
    elif value is None:
        parts.append("null")
    elif value == {}:
        parts.append("empty")
    parts += [part for part in (field.description[:160], field.hint) if part]
    return " · ".join(parts)


class _Group:
    """The content of a group, redrawn when its structure changes."""

    def __init__(self, state: FormState, node: FormNode, body: ui.element, group: ui.expansion) -> None:
        self.state = state
        self.node = node
        self.body = body
        self.group = group
        self.read_only = is_read_only(state, node)
        self.drawn = False
        self.first = 0
        """The first element on the current page."""

    def opened(self) -> None:
        """Handles expanding and collapsing."""
        if self.group.value:
            self.state.opened.add(self.node.path)
            if not self.drawn:
                self.draw()
                self.state.show_problems_again()
        else:
            self.state.opened.discard(self.node.path)

    def draw(self, focus: int | None = None) -> None:
        """Draws the content. `focus` is the index of the element to focus."""
        self.drawn = True
        self.body.clear()
        value = self.state.document.get(self.node.path)
        caption = _caption(self.node.field, value)
        if caption:
            self.group.props["caption"] = caption
        with self.body:
            match self.node.field.shape:
                case "list":
                    self._draw_list(value if isinstance(value, list) else [], focus)
                case "map":
                    self._draw_map(value if isinstance(value, dict) else {}, focus)
                case _:
                    draw_members(self.state, self.node)
            self._draw_footer(value)

    def _visible_range(self, count: int, focus: int | None) -> range:
        """Returns the elements to draw: the current page, or the one with the focus."""
        if focus is not None:
            self.first = focus - focus % _PAGE_SIZE
        last = max(count - 1, 0)
        self.first = min(self.first, last - last % _PAGE_SIZE)
        return range(self.first, min(self.first + _PAGE_SIZE, count))

    def _draw_pagination(self, shown: range, count: int) -> None:
        """Draws the pagination, if there is more than one page."""
        if len(shown) == count:
            return

        def show_page(first: int) -> Callable[[], None]:
            def act() -> None:
                self.first = first
                self.draw()
                self.state.show_problems_again()

            return act

        with ui.row().classes("gap-2 items-center").props("data-testid=parts"):
            for picture, first, name in (
                ("chevron_left", shown.start - _PAGE_SIZE, "Earlier"),
                ("chevron_right", shown.stop, "Later"),
            ):
                button = ui.button(icon=picture, on_click=show_page(first)).props("flat dense round size=sm")
                labeled(button, f"{name} elements of {self.node.label}")
                button.set_enabled(0 <= first < count)
            ui.label(f"{shown.start + 1:,} to {shown.stop:,} of {count:,}").classes("kw-reason")

    def _redraw(self, focus: int | None = None) -> None:
        self.draw(focus)
        self.state.edited()

    def _draw_footer(self, value: Any) -> None:
        field, path, document = self.node.field, self.node.path, self.state.document
        if self.read_only:
            return
        is_element = self.node.parent is not None and self.node.parent.field.shape in ("list", "map")

        def put(new_value: Any) -> Callable[[], None]:
            def act() -> None:
                document.put(path, new_value)
                self._redraw()

            return act

        def remove_field() -> None:
            document.remove(path)
            self._redraw()

        def add() -> None:
            self._add_element()

        with ui.row().classes("gap-2 items-center"):
            if field.shape in ("list", "map"):
                count = len(value) if isinstance(value, list | dict) else 0
                add_button = ui.button(f"Add {_element_name(field)}", icon="add", on_click=add).props(
                    "outline dense no-caps size=sm"
                )
                add_button.classes("q-px-sm")
                labeled(add_button, f"Add to {self.node.label}")
                if field.is_full(count):
                    add_button.disable()
                    ui.label("The list is full.").classes("kw-reason")
            if value is MISSING or value is None:
                empty: Any = [] if field.shape == "list" else {}
                empty_button = ui.button("Set to empty", on_click=put(empty)).props("flat dense no-caps size=sm")
                labeled(empty_button, f"Set {self.node.label} to empty")
                if field.nullable and value is not None:
                    null_button = ui.button("Set to null", on_click=put(None)).props("flat dense no-caps size=sm")
                    labeled(null_button, f"Set {self.node.label} to null")
            if value is not MISSING and not field.required and not is_element:
                remove_button = ui.button("Remove", on_click=remove_field).props("flat dense no-caps size=sm")
                labeled(remove_button, f"Remove {self.node.label}")

    def _add_element(self) -> None:
        field, document = self.node.field, self.state.document
        value = document.get(self.node.path)
        if field.shape == "list":
            if value is None:
                document.put(self.node.path, [])
            *_, node = document.add(self.node.path, _initial_value(field.element))
            self._redraw(int(node))
        else:
            if not document.has((*self.node.path, "")):
                document.put((*self.node.path, ""), _initial_value(field.element))
            self._redraw(list(document.get(self.node.path)).index(""))

    def _draw_list(self, elements: list[Any], focus: int | None) -> None:
        shown = self._visible_range(len(elements), focus)
        self._draw_pagination(shown, len(elements))
        for index in shown:
            node = self.node.element(index)
            if node.field.is_scalar:
                with ui.element("div").classes("kw-field-row"):
                    with ui.element("div").classes("kw-grow"):
                        widget = draw_field(self.state, node)
                    self._draw_element_buttons(index, len(elements))
                if focus == index and widget is not None:
                    widget.props("autofocus")
            else:
                with ui.element("div").classes("kw-element-title"):
                    ui.label(f"{self.node.field.name or 'element'} {index + 1}")
                    ui.space()
                    self._draw_element_buttons(index, len(elements))
                draw_field(self.state, node)

    def _draw_element_buttons(self, index: int, count: int) -> None:
        if self.read_only:
            return
        path, document = self.node.path, self.state.document

        def move(to: int) -> Callable[[], None]:
            def act() -> None:
                document.move((*path, index), to)
                self._redraw(to)

            return act

        def remove() -> None:
            document.remove((*path, index))
            self._redraw(min(index, count - 2) if count > 1 else None)

        label = f"{self.node.label}[{index}]"
        if count > 1:
            up_button = ui.button(icon="arrow_upward", on_click=move(index - 1)).props(
                "flat dense round size=sm color=grey"
            )
            labeled(up_button, f"Move {label} up")
            up_button.set_enabled(index > 0)
        remove_button = ui.button(icon="close", on_click=remove).props("flat dense round size=sm color=grey")
        labeled(remove_button, f"Remove {label}")

    def _draw_map(self, members: dict[str, Any], focus: int | None) -> None:
        shown = self._visible_range(len(members), focus)
        self._draw_pagination(shown, len(members))
        for number, name in zip(shown, [*members][shown.start : shown.stop], strict=True):
            node = self.node.element(name)
            with ui.element("div").classes("kw-field-row"):
                key = self._draw_key(node, name)
                with ui.element("div").classes("kw-grow"):
                    if node.field.is_scalar:
                        draw_field(self.state, node)
                self._draw_remove_button(node)
            if not node.field.is_scalar:
                draw_field(self.state, node)
            if focus == number:
                key.props("autofocus")

    def _draw_key(self, node: FormNode, name: str) -> ui.input:
        key = ui.input("key", value=name).props("outlined dense stack-label hide-bottom-space autocomplete=off")
        key.classes("kw-key").without_auto_validation()
        labeled(key, f"Key of {node.label}")
        if self.read_only:
            key.disable()

        def rename() -> None:
            wanted = key.value or ""
            if self.state.document.rename(node.path, wanted):
                node.step = wanted
                key.error = None
                labeled(key, f"Key of {node.label}")
                self.state.update_labels()
                self.state.edited()
            else:
                key.error = "this key already exists"

        key.on_value_change(rename)
        return key

    def _draw_remove_button(self, node: FormNode) -> None:
        if self.read_only:
            return

        def remove() -> None:
            self.state.document.remove(node.path)
            self._redraw()

        button = ui.button(icon="close", on_click=remove).props("flat dense round size=sm color=grey")
        labeled(button, f"Remove {node.label}")


def _element_name(field: Field) -> str:
    """Returns the name of an element for the button that adds one."""
    if field.shape == "map":
        return "entry"
    name = field.name.lower()
    return name.removesuffix("s") if len(name) > 3 and name.endswith("s") and not name.endswith("ss") else "element"


def _initial_value(field: Field) -> Any:
    """Returns the initial value of a new element: the default, or the minimum of its shape."""
    if field.default is not MISSING:
        return field.default
    match field.shape:
        case "object":
            return {name: _initial_value(member) for name, member in field.members.items() if member.required}
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
