"""Turns the schemas of kinds into classes, shares identical ones, and annotates their fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from kubewright.api import JSON, Nullable
from kubewright.api.schema import Shape, violations
from kubewright.codegen._classes import ABSENT, Annotation, Field, Kind, Model
from kubewright.codegen._definition import KindSource, VersionSource
from kubewright.codegen._names import attribute_names, singular
from kubewright.codegen._types import (
    FIELD_MEMBERS,
    add_rules,
    difference,
    list_type_holds,
    scalar,
    unsaid,
)

__all__ = ["Walk"]

_ANYTHING: Final = "x-kubernetes-preserve-unknown-fields"
_BARE: Final = {"type", "description", "nullable"}
_HEAD: Final = ("apiVersion", "kind", "metadata")
_key = msgspec.json.Encoder(order="sorted").encode


@dataclass(frozen=True, slots=True)
class _Position:
    """The current position of the walk: names for classes, and what `schema_of` does at this position."""

    names: tuple[str, ...]
    defaults: bool = True
    old_self: bool = True
    embedded: bool = False  # in an embedded object, whose metadata schema the server knows

    def __truediv__(self, name: str) -> _Position:
        return replace(self, names=(*self.names, name), embedded=self.embedded and name == "metadata")

    @property
    def element(self) -> _Position:
        return replace(self, names=(*self.names[:-1], singular(self.names[-1])))


class Walk:
    """Collects the classes of one module. Nested schemas that are identical become one class."""

    def __init__(self) -> None:
        self.kinds: list[Kind] = []
        self.models: list[Model] = []  # dependencies first
        self._shared: dict[Any, Model] = {}

    def add(self, source: KindSource, version: VersionSource, class_name: str) -> Kind:
        """Adds the class of one version of a kind."""
        kind = Kind(source=source, version=version, name=class_name, doc=version.schema.get("description"))
        schema = version.schema
        properties: dict[str, Any] = dict(schema["properties"])
        removed: dict[str, Any] = {}
        if schema.get(_ANYTHING) and not properties.keys() - set(_HEAD):
            # The server keeps unknown fields, so a spec and a status are useful.
            removed = {"spec": None, "status": None}
            properties |= {"spec": {_ANYTHING: True, "nullable": True}, "status": {_ANYTHING: True, "nullable": True}}
        position = _Position((class_name,))
        said: dict[str, Any] = {"type": "object", "required": []}
        changes: dict[str, Any] = dict(removed)
        if "spec" in properties:
            kind.spec = self._annotation(properties.pop("spec"), position / "spec", shared=False)
            kind.status = Annotation(text="None", shape=Shape(category="any"), said={})
            if "status" in properties:
                below = replace(position / "status", defaults=False)
                kind.status = self._annotation(properties.pop("status"), below, shared=False)
            _bind(kind.spec, kind.status, schema["properties"], said, changes)
        taken = ("api_version", "kind", "metadata", "spec", "status")
        names = attribute_names((name for name in properties if name not in _HEAD), taken)
        for wire, attribute in names.items():
            below = replace(position / wire, defaults=wire != "status")
            required = wire in schema.get("required", ())
            kind.fields.append(self._field(attribute, wire, properties[wire], below, required=required))
        said["required"] = sorted([*said["required"], *kind.required])
        for name, type_ in (("apiVersion", "string"), ("kind", "string"), ("metadata", "object")):
            if more := difference({"type": type_}, schema["properties"][name]):
                changes[name] = more
        _whole_rules(kind, schema, said, old_self=True)
        if changes:
            kind.members["properties"] = changes
        self.kinds.append(kind)
        return kind

    def _annotation(self, node: dict[str, Any], position: _Position, *, shared: bool = True) -> Annotation:
        """Returns the annotation for a schema, without `FIELD_MEMBERS`."""
        if position.embedded:
            # The schema has no properties, but the server keeps the metadata; a class without fields would drop it.
            shape, said = Shape(category="object", type="object"), {"type": "object"}
            made = Annotation(text="ObjectMeta", shape=shape, said=said, members={"properties": None})
        elif node.get("type") == "object":
            made = self._object(node, position, shared=shared)
        elif node.get("type") == "array":
            keyed = node.get("x-kubernetes-list-type") == "map" and list_type_holds(node)
            below = replace(position.element, old_self=position.old_self and keyed)
            element = self._element(node.get("items") or {}, below)
            shape = Shape(category="array", type="array")
            made = Annotation(text="list", element=element, shape=shape, said={"type": "array"})
        else:
            made = scalar(node)
        if made.model is None:
            add_rules(made, node, old_self=position.old_self)
            made.members |= unsaid(made, node)
        made.description = node.get("description")
        return made

    def _object(self, node: dict[str, Any], position: _Position, *, shared: bool) -> Annotation:
        if node.get("x-kubernetes-map-type") == "atomic":
            position = replace(position, old_self=False)
        inner = node.get("additionalProperties")
        said: dict[str, Any] = {"type": "object"}
        if "properties" not in node:
            if isinstance(inner, dict):
                element = self._element(inner, position.element)
                plain = element.text == "JSON" and not element.rules and not element.members
                shape = Shape(category="object", type="object", element=JSON if plain else element)
                return Annotation(text="dict", element=element, shape=shape, said=said)
            if node.get(_ANYTHING) or inner is True:
                anything = Annotation(text="JSON", shape=Shape(category="any"), said={})
                shape = Shape(category="object", type="object", element=JSON)
                # PreserveUnknown removes the schema of the elements again.
                made = Annotation(text="dict", element=anything, shape=shape, said=said | {"additionalProperties": {}})
                if inner is True:
                    made.members["additionalProperties"] = True
                return made
        return Annotation(model=self._model(node, position, shared=shared), shape=Shape(category="object"), said=said)

    def _element(self, node: dict[str, Any], position: _Position) -> Annotation:
        """Returns the annotation of an element of a list or map, where None is null."""
        made = self._annotation(node, position)
        if made.text == "JSON":
            said = _null_of_json(made, node)
        else:
            made.optional = bool(node.get("nullable"))
            said = {"nullable": True} if made.optional else {}
        made.members |= _unsaid_of_field(said, node)
        if made.model is not None:
            made.model.annotations.append(made)
        elif made.description:
            made.members["description"] = made.description
        return made

    def _model(self, node: dict[str, Any], position: _Position, *, shared: bool) -> Model:
        text = _key({name: value for name, value in node.items() if name not in FIELD_MEMBERS})
        key = (
            text,
            position.defaults or b'"default":' not in text,
            position.old_self or b"oldSelf" not in text,
            None if shared else position.names,
        )
        model = self._shared.get(key)
        if model is None:
            model = self._shared[key] = Model()
            required = node.get("required", ())
            properties = node.get("properties", {})
            if node.get("x-kubernetes-embedded-resource") and properties.get("metadata", {}).keys() <= _BARE:
                position = replace(position, embedded=True)
            for wire, attribute in attribute_names(properties).items():
                made = self._field(attribute, wire, properties[wire], position / wire, required=wire in required)
                model.fields.append(made)
            said = {"type": "object", "required": model.required}
            _whole_rules(model, node, said, old_self=position.old_self)
            self.models.append(model)
        model.uses.append(position.names)
        return model

    def _field(self, attribute: str, wire: str, node: dict[str, Any], position: _Position, *, required: bool) -> Field:
        annotation = self._annotation(node, position)
        made = Field(attribute=attribute, wire=wire, annotation=annotation)
        annotation.is_field = True
        said: dict[str, Any] = {}
        nullable = bool(node.get("nullable"))
        if annotation.text == "JSON":
            said = _null_of_json(annotation, node)
        elif nullable and required and "default" not in node:
            annotation.optional = said["nullable"] = True  # the annotation implies it
        elif nullable:
            annotation.optional = True
            annotation.rules.append(Nullable())
            said["nullable"] = True
        if not required or "default" in node:
            self._default(made, node, position, said)
        annotation.members |= _unsaid_of_field(said, node)
        if annotation.model is not None:
            annotation.model.annotations.append(annotation)
        return made

    def _default(self, made: Field, node: dict[str, Any], position: _Position, said: dict[str, Any]) -> None:
        """Sets the default, if it can be written as a plain Python value. Otherwise only the server sets it."""
        value = node.get("default")
        if value is None or not _is_plain(made.annotation, value) or violations(node, value):
            made.default = None
            made.annotation.optional = made.annotation.text != "JSON"
            return
        made.default = value
        if position.defaults:
            said["default"] = value


def _bind(
    spec: Annotation, status: Annotation, properties: Mapping[str, Any], said: dict[str, Any], changes: dict[str, Any]
) -> None:
    """Applies what `Resource[Spec, Status]` implies, and collects where the definition differs."""
    spec.optional = spec.text == "JSON"
    if not spec.optional and (spec.model is None or spec.model.required):
        said["required"] = ["spec"]
    if status.text != "None":
        status.optional = status.model is None or bool(status.model.required)
    for name, annotation in (("spec", spec), ("status", status)):
        wanted = properties.get(name)
        if wanted is None:
            continue
        made: dict[str, Any] = {}
        if annotation.model is not None:
            annotation.model.doc = annotation.description
            made = {"description": annotation.description} if annotation.description else {}
            if name == "spec" and not annotation.model.required and (filled := _filled(annotation.model)):
                made["default"] = filled
        elif annotation.text == "JSON":
            made = {"nullable": True}
        asked = {member: value for member, value in wanted.items() if member in FIELD_MEMBERS}
        if more := difference(made, asked):
            changes[name] = more


def _is_plain(annotation: Annotation, value: Any) -> bool:
    """Whether the value can be written as a literal of this type."""
    match annotation.text:
        case "list":
            element = annotation.element
            return isinstance(value, list) and element is not None and all(_is_plain(element, one) for one in value)
        case "dict":
            element = annotation.element
            return (
                isinstance(value, dict)
                and element is not None
                and all(isinstance(name, str) and _is_plain(element, one) for name, one in value.items())
            )
        case "str":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool)
        case "int":
            return type(value) is int
        case "float":
            return type(value) in (int, float)
        case "IntOrString":
            return type(value) in (int, str)
        case "Literal":
            return value in annotation.said["enum"]
        case _:
            return False


def _whole_rules(model: Model, node: dict[str, Any], said: dict[str, Any], *, old_self: bool) -> None:
    """Sets the constraints of a class as a whole."""
    whole = Annotation(shape=Shape(category="object", type="object"), said={k: v for k, v in said.items() if v})
    add_rules(whole, node, old_self=old_self)
    model.rules, model.members = whole.rules, unsaid(whole, node)


def _null_of_json(annotation: Annotation, node: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what `JSON`, which accepts null by default, says about null."""
    if node.get("nullable"):
        return {"nullable": True}
    annotation.rules.append(Nullable(allowed=False))
    return {}


def _unsaid_of_field(said: Mapping[str, Any], node: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the members of a field for its `Schema`. Descriptions follow when all classes are known."""
    return difference(said, {member: node[member] for member in ("nullable", "default") if member in node})


def _filled(model: Model) -> dict[str, Any]:
    """Returns the defaults of a class, as an empty object is sent."""
    return {field.wire: field.default for field in model.fields if field.default not in (ABSENT, None)}
