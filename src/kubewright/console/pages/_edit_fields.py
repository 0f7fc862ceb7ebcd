"""The widgets of a form: one for each place of the schema that somebody looks at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from nicegui import ui

from kubewright.console.forms import NOWHERE, Field, NotYaml, at, read_yaml, text_of, value_of, write_yaml
from kubewright.console.pages._edit_places import Drawing, Place, set_quietly
from kubewright.console.pages._parts import labelled

__all__ = ["draw_field", "draw_members", "is_fixed"]

_ABSENT: Final = ""
_LONGEST_HINT: Final = 160


def draw_members(drawing: Drawing, place: Place, skip: frozenset[str] = frozenset()) -> None:
    """The fields of an object, and what it has beside them."""
    for name in place.field.members:
        if name not in skip:
            draw_field(drawing, place.member(name))
    _others(drawing, place, skip)


def draw_field(drawing: Drawing, place: Place) -> ui.element | None:
    """The widget of one place. Gives what to put the cursor into, where that is one thing."""
    from kubewright.console.pages._edit_groups import draw_group

    value = drawing.document.get(place.path)
    if place.field.shape == "yaml" or not _fits(place.field, value):
        return _island(drawing, place)
    if not place.field.is_scalar:
        return draw_group(drawing, place)
    if place.field.shape in ("choice", "boolean"):
        return _choice(drawing, place)
    return _text(drawing, place)


def _fits(field: Field, value: Any) -> bool:
    """Whether the widget of a field can show a value; what it cannot show is an island."""
    if value is NOWHERE or value is None:
        return True
    match field.shape:
        case "object" | "map":
            return isinstance(value, dict)
        case "list":
            return isinstance(value, list)
        case _:
            return not isinstance(value, dict | list)


def _name(place: Place) -> str:
    name = place.field.name or ("value" if isinstance(place.step, str) else f"{place.step + 1}")
    return f"{name} *" if place.field.required and place.field.name else name


def _hint(field: Field) -> str:
    description = field.description
    if len(description) > _LONGEST_HINT:
        description = description[:_LONGEST_HINT].rsplit(" ", 1)[0] + " …"
    return " · ".join(part for part in (description, field.hint) if part)


def _placeholder(field: Field, value: Any) -> str:
    if value is None:
        return "null"
    if value == "" and not field.required:
        return "(an empty text)"
    if field.default is not NOWHERE:
        return f"default: {_json(field.default)}"
    return ""


def _json(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def is_fixed(drawing: Drawing, place: Place) -> bool:
    """Whether a rule forbids to change what stands there."""
    if drawing.old is None:
        return False
    path = place.path
    if path in (("metadata", "name"), ("metadata", "namespace")):
        return True
    here: Place | None = place
    while here is not None:
        if here.field.is_immutable and at(drawing.old, here.path) is not NOWHERE:
            return True
        here = here.parent
    return False


def _text(drawing: Drawing, place: Place) -> ui.element:
    field, document = place.field, drawing.document
    value = document.get(place.path)
    text = "" if value is NOWHERE or value is None else text_of(field, value)
    make = ui.textarea if field.is_multiline or "\n" in text else ui.input
    with ui.element("div").classes("kw-field-row"):
        widget: ui.input = make(_name(place), value=text)
        widget.props("outlined dense stack-label hide-bottom-space autogrow" if make is ui.textarea else _LOOKS)
        widget.without_auto_validation()
        _describe(drawing, place, widget)
        widget.props["placeholder"] = _placeholder(field, value)
        if field.shape in ("integer", "number"):
            widget.props["inputmode"] = "decimal"

        def change() -> None:
            typed = widget.value or ""
            if typed == "" and isinstance(place.step, str) and not _in_map(place):
                document.remove(place.path)
            else:
                document.put(place.path, value_of(field, typed))
            widget.props["placeholder"] = _placeholder(field, document.get(place.path))
            drawing.edited()

        def put(value: Any) -> None:
            if value is NOWHERE:
                document.remove(place.path)
            else:
                document.put(place.path, value)
            widget.props["placeholder"] = _placeholder(field, document.get(place.path))
            set_quietly(widget, "", change)
            drawing.edited()

        widget.on_value_change(change)
        _menu(drawing, place, put)
    return widget


_LOOKS: Final = "outlined dense stack-label hide-bottom-space autocomplete=off"


def _in_map(place: Place) -> bool:
    return place.parent is not None and place.parent.field.shape in ("map", "list")


def _describe(drawing: Drawing, place: Place, widget: Any) -> None:
    fixed = is_fixed(drawing, place)
    hint = _hint(place.field)
    if fixed:
        widget.disable()
        hint = f"{hint} · cannot be changed" if hint else "cannot be changed"
    if hint:
        widget.props["hint"] = hint
    labelled(widget, place.label)
    widget.props["data-path"] = place.label
    drawing.shows_errors(place, widget)


def _menu(drawing: Drawing, place: Place, put: Callable[[Any], None]) -> None:
    """What a text cannot say: null, an empty text, or nothing at all."""
    field = place.field
    may_be_empty = field.shape == "text" and not field.schema.get("minLength") and place.path[:1] != ("metadata",)
    if field.required and not field.nullable:
        return
    if is_fixed(drawing, place) or _in_map(place) or not (field.nullable or may_be_empty):
        return
    button = ui.button(icon="more_vert").props("flat dense round size=sm color=grey")
    labelled(button, f"More about {place.label}")
    with button, ui.menu():
        if may_be_empty:
            ui.menu_item("Set to an empty text", lambda: put(""))
        if field.nullable:
            ui.menu_item("Set to null", lambda: put(None))
        ui.menu_item("Leave out", lambda: put(NOWHERE))


def _choice(drawing: Drawing, place: Place) -> ui.element:
    field, document = place.field, drawing.document
    value = document.get(place.path)
    choices = [True, False] if field.shape == "boolean" else field.choices
    options: dict[str, str] = {}
    if not _in_map(place):
        default = f" (default: {_json(field.default)})" if field.default is not NOWHERE else ""
        options[_ABSENT] = f"not set{default}"
    if field.nullable:
        options["null"] = "null"
    options |= {_key(choice): _json(choice) for choice in choices}
    key = _ABSENT if value is NOWHERE else _key(value)
    options.setdefault(key, _json(value) if value is not NOWHERE else "not set")
    with ui.element("div").classes("kw-field-row"):
        widget = ui.select(options, label=_name(place), value=key)
        widget.props("outlined dense stack-label hide-bottom-space options-dense").without_auto_validation()
        _describe(drawing, place, widget)

        def change() -> None:
            if widget.value in (None, _ABSENT):
                document.remove(place.path)
            else:
                document.put(place.path, msgspec.json.decode(widget.value))
            drawing.edited()

        widget.on_value_change(change)
    return widget


def _key(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _island(drawing: Drawing, place: Place) -> ui.element:
    """What no form can show, as YAML. It is written only while it can be read."""
    value = drawing.document.get(place.path)
    with ui.element("div").classes("kw-field-row kw-island"):
        widget = ui.textarea(f"{_name(place)} (YAML)", value="" if value is NOWHERE else write_yaml(value))
        widget.props("outlined dense stack-label hide-bottom-space autogrow").without_auto_validation()
        _describe(drawing, place, widget)

        def change() -> None:
            text = widget.value or ""
            try:
                read = read_yaml(text)
            except NotYaml as error:
                widget.error = str(error)
                return
            if read is None and not text.strip() and not _in_map(place):
                drawing.document.remove(place.path)
            else:
                drawing.document.put(place.path, read)
            drawing.edited()

        widget.on_value_change(change)
    return widget


def _others(drawing: Drawing, place: Place, skip: frozenset[str]) -> None:
    """Fields that the form does not know: kept, and shown."""
    value = drawing.document.get(place.path)
    if not isinstance(value, dict):
        return
    known = {*place.field.members, *skip}
    others = {name: member for name, member in value.items() if name not in known}
    if others:
        ui.label("Other fields, to be changed as YAML").classes("kw-reason")
        ui.label(write_yaml(others).rstrip()).classes("kw-others")
