"""The widgets of scalar fields, and of fields that are edited as YAML."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from nicegui import ui

from kubewright.console.forms import (
    MISSING,
    Field,
    YamlSyntaxError,
    format_value,
    parse_value,
    read_yaml,
    value_at,
    write_yaml,
)
from kubewright.console.pages.edit._form_state import FormNode, FormState, set_silently
from kubewright.console.pages.widgets import labeled

__all__ = ["draw_choice", "draw_text", "draw_unknown_fields", "draw_yaml", "fits", "is_read_only"]

_NOT_SET: Final = ""
_LONGEST_HINT: Final = 160


def fits(field: Field, value: Any) -> bool:
    """Whether the field's widget can show a value. Other values are edited as YAML."""
    if value is MISSING or value is None:
        return True
    match field.shape:
        case "object" | "map":
            return isinstance(value, dict)
        case "list":
            return isinstance(value, list)
        case _:
            return not isinstance(value, dict | list)


def _label_of(state: FormState, node: FormNode) -> str:
    name = (
        state.labels.get(node.path)
        or node.field.name
        or ("value" if isinstance(node.step, str) else f"{node.step + 1}")
    )
    return f"{name} *" if node.field.required and node.field.name else name


def _hint(field: Field) -> str:
    description = field.description
    if len(description) > _LONGEST_HINT:
        description = description[:_LONGEST_HINT].rsplit(" ", 1)[0] + " …"
    return " · ".join(part for part in (description, field.hint) if part)


def _placeholder(field: Field, value: Any) -> str:
    if value is None:
        return "null"
    if value == "" and not field.required:
        return "(empty string)"
    if field.default is not MISSING:
        return f"default: {_format_json(field.default)}"
    return ""


def _format_json(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def is_read_only(state: FormState, node: FormNode) -> bool:
    """Whether the field must not be changed."""
    if state.old is None:
        return False
    path = node.path
    if path in (("metadata", "name"), ("metadata", "namespace")):
        return True
    here: FormNode | None = node
    while here is not None:
        if here.field.is_immutable and value_at(state.old, here.path) is not MISSING:
            return True
        here = here.parent
    return False


def draw_text(state: FormState, node: FormNode) -> ui.element:
    field, document = node.field, state.document
    value = document.get(node.path)
    text = "" if value is MISSING or value is None else format_value(field, value)
    make = ui.textarea if field.is_multiline or "\n" in text else ui.input
    with ui.element("div").classes("kw-field-row"):
        widget: ui.input = make(_label_of(state, node), value=text)
        widget.props("outlined dense stack-label hide-bottom-space autogrow" if make is ui.textarea else _INPUT_PROPS)
        widget.without_auto_validation()
        _add_hints(state, node, widget)
        widget.props["placeholder"] = _placeholder(field, value)
        if field.shape in ("integer", "number"):
            widget.props["inputmode"] = "decimal"

        def change() -> None:
            typed = widget.value or ""
            if typed == "" and isinstance(node.step, str) and not _is_element(node):
                document.remove(node.path)
            else:
                document.put(node.path, parse_value(field, typed))
            widget.props["placeholder"] = _placeholder(field, document.get(node.path))
            state.edited()

        def put(value: Any) -> None:
            if value is MISSING:
                document.remove(node.path)
            else:
                document.put(node.path, value)
            widget.props["placeholder"] = _placeholder(field, document.get(node.path))
            set_silently(widget, "", change)
            state.edited()

        widget.on_value_change(change)
        _draw_menu(state, node, put)
    return widget


_INPUT_PROPS: Final = "outlined dense stack-label hide-bottom-space autocomplete=off"


def _is_element(node: FormNode) -> bool:
    return node.parent is not None and node.parent.field.shape in ("map", "list")


def _add_hints(state: FormState, node: FormNode, widget: Any) -> None:
    read_only = is_read_only(state, node)
    hint = _hint(node.field)
    if read_only:
        widget.disable()
        hint = f"{hint} · cannot be changed" if hint else "cannot be changed"
    if hint:
        widget.props["hint"] = hint
    shown = state.labels.get(node.path)
    labeled(widget, f"{shown} ({node.label})" if shown else node.label)
    widget.props["data-path"] = node.label
    state.register(node, widget)


def _draw_menu(state: FormState, node: FormNode, put: Callable[[Any], None]) -> None:
    """Draws the menu for values that an input cannot express: null, an empty string, or absent."""
    field = node.field
    may_be_empty = field.shape == "text" and not field.schema.get("minLength") and node.path[:1] != ("metadata",)
    if field.required and not field.nullable:
        return
    if is_read_only(state, node) or _is_element(node) or not (field.nullable or may_be_empty):
        return
    button = ui.button(icon="more_vert").props("flat dense round size=sm color=grey")
    labeled(button, f"More options for {node.label}")
    with button, ui.menu():
        if may_be_empty:
            ui.menu_item("Set to an empty string", lambda: put(""))
        if field.nullable:
            ui.menu_item("Set to null", lambda: put(None))
        ui.menu_item("Remove field", lambda: put(MISSING))


def draw_choice(state: FormState, node: FormNode) -> ui.element:
    field, document = node.field, state.document
    value = document.get(node.path)
    choices = [True, False] if field.shape == "boolean" else field.choices
    options: dict[str, str] = {}
    if not _is_element(node):
        default = f" (default: {_format_json(field.default)})" if field.default is not MISSING else ""
        options[_NOT_SET] = f"not set{default}"
    if field.nullable:
        options["null"] = "null"
    options |= {_option_key(choice): _format_json(choice) for choice in choices}
    key = _NOT_SET if value is MISSING else _option_key(value)
    options.setdefault(key, _format_json(value) if value is not MISSING else "not set")
    with ui.element("div").classes("kw-field-row"):
        widget = ui.select(options, label=_label_of(state, node), value=key)
        widget.props("outlined dense stack-label hide-bottom-space options-dense").without_auto_validation()
        _add_hints(state, node, widget)

        def change() -> None:
            if widget.value in (None, _NOT_SET):
                document.remove(node.path)
            else:
                document.put(node.path, msgspec.json.decode(widget.value))
            state.edited()

        widget.on_value_change(change)
    return widget


def _option_key(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def draw_yaml(state: FormState, node: FormNode) -> ui.element:
    """Draws a field as YAML. Valid YAML is written to the document; invalid YAML is reported."""
    value = state.document.get(node.path)
    with ui.element("div").classes("kw-field-row kw-island"):
        widget = ui.textarea(f"{_label_of(state, node)} (YAML)", value="" if value is MISSING else write_yaml(value))
        widget.props("outlined dense stack-label hide-bottom-space autogrow").without_auto_validation()
        _add_hints(state, node, widget)

        def change() -> None:
            text = widget.value or ""
            try:
                read = read_yaml(text)
            except YamlSyntaxError as error:
                widget.error = str(error)
                return
            if read is None and not text.strip() and not _is_element(node):
                state.document.remove(node.path)
            else:
                state.document.put(node.path, read)
            state.edited()

        widget.on_value_change(change)
    return widget


def draw_unknown_fields(state: FormState, node: FormNode) -> None:
    """Draws the fields that the form does not know. They are kept."""
    value = state.document.get(node.path)
    if not isinstance(value, dict):
        return
    others = {name: member for name, member in value.items() if name not in node.field.members}
    if others:
        ui.label("Other fields (edit as YAML)").classes("kw-reason")
        ui.label(write_yaml(others).rstrip()).classes("kw-others")
