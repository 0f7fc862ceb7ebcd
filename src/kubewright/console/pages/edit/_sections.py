"""The sections of a form: those that the operator declared, the other fields, and the metadata.

The metadata of a new object comes first, because it needs a name. An existing object starts with its spec, and its
metadata is collapsed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from nicegui import ui

from kubewright.console.forms import Path, write_yaml
from kubewright.console.kinds import DeclaredForm
from kubewright.console.pages.edit._form_state import FormNode, FormState
from kubewright.console.pages.edit._groups import draw_field, draw_members
from kubewright.console.pages.edit._widgets import fits
from kubewright.console.pages.widgets import labeled

__all__ = ["draw_sections"]

_HEADER_FIELDS: Final = frozenset(["apiVersion", "kind", "metadata", "status"])


def draw_sections(
    state: FormState, root: FormNode, declared: DeclaredForm, draw_namespace: Callable[[FormNode], None]
) -> None:
    """Draws all fields of a form."""
    state.in_sections = {path for section in declared.sections for path in section.fields}
    if state.old is None:
        _draw_metadata(state, root, draw_namespace)
    for section in declared.sections:
        nodes = list(_nodes_at(state, root, section.fields))
        if nodes:
            with _section(state, section.title, section.description, section.fields, collapsed=section.collapsed):
                for node in nodes:
                    draw_field(state, node)
    _draw_remaining_fields(state, root, "Other fields" if declared.sections else "")
    if state.old is not None:
        _draw_metadata(state, root, draw_namespace)
    _draw_unknown_fields(state, root)


def _draw_metadata(state: FormState, root: FormNode, draw_namespace: Callable[[FormNode], None]) -> None:
    metadata = root.member("metadata")
    with _section(state, "Metadata", "", [("metadata",)], collapsed=state.old is not None):
        draw_field(state, metadata.member("name"))
        if "namespace" in metadata.field.members:
            draw_namespace(metadata.member("namespace"))
        draw_field(state, metadata.member("labels"))
        draw_field(state, metadata.member("annotations"))


def _nodes_at(state: FormState, root: FormNode, paths: Iterable[tuple[str, ...]]) -> Iterable[FormNode]:
    """Yields the nodes of declared paths. If a parent has a value of another type, yields the parent, once."""
    seen: set[Path] = set()
    for path in paths:
        node: FormNode | None = root
        for name in path:
            if node is None or name not in node.field.members:
                node = None
                break
            node = node.member(name)
            if not fits(node.field, state.document.get(node.path)):
                break
        if node is not None and node.path not in seen:
            seen.add(node.path)
            yield node


def _draw_remaining_fields(state: FormState, root: FormNode, title: str) -> None:
    """Draws the fields that no section names: a section for each object, and one for the rest."""
    names = [
        name for name in root.field.members if name not in _HEADER_FIELDS and not state.is_in_section(root.member(name))
    ]
    objects = [name for name in names if root.field.members[name].shape == "object"]
    for name in objects:
        part = root.member(name)
        description = "" if title else part.field.description
        with _section(state, title if title and len(objects) == 1 else name, description, [(name,)], bool(title)):
            error = ui.label("").classes("kw-error").props("role=alert")
            state.register(part, error)
            draw_members(state, part)
    rest = [name for name in names if name not in objects]
    if rest:
        with _section(state, "Other fields" if objects or title else "Fields", "", [(name,) for name in rest]):
            for name in rest:
                draw_field(state, root.member(name))


def _draw_unknown_fields(state: FormState, root: FormNode) -> None:
    value = state.document.value
    unknown = {name: one for name, one in value.items() if name not in {*root.field.members, *_HEADER_FIELDS}}
    if unknown:
        with _section(state, "Unknown fields", "", []):
            ui.label("The form does not know these fields. They are kept; edit them as YAML.").classes("kw-reason")
            ui.label(write_yaml(unknown).rstrip()).classes("kw-others")
    elif "kind" not in root.field.members:
        with _section(state, "All other fields", "", []):
            ui.label("The server has no schema for this kind: edit it as YAML.").classes("kw-reason")


def _section(
    state: FormState, title: str, description: str, paths: Iterable[tuple[str, ...]], collapsed: bool = False
) -> ui.element:
    made = ui.element("section").classes("kw-card kw-form-part")
    labeled(made, title)
    with made:
        if collapsed:
            return _collapsed(state, title, description, paths)
        with ui.element("h2"):
            ui.label(title)
        if description:
            ui.label(description).classes("kw-subtitle")
    return made


def _collapsed(state: FormState, title: str, description: str, paths: Iterable[tuple[str, ...]]) -> ui.element:
    where = [*paths]
    key = ("section", title)
    group = ui.expansion(title, caption=description or None, value=key in state.opened)
    group.classes("kw-fold").props("dense")
    group.props["toggle-aria-label"] = ""
    group.props["header-class"] = "kw-group-header"
    group.on_value_change(lambda: (state.opened.add if group.value else state.opened.discard)(key))
    for path in where:
        state.register_group(path, group)
    with group:
        return ui.element("div").classes("kw-group-body")
