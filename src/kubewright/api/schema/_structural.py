"""The structural OpenAPI v3 schema of a kind, from its classes.

The guide (docs/crds.md) describes the mapping. Two decisions need their reasons:

- A default in a spec is also the schema's default, so that every client sees the value that the operator uses. A
  default in a status is not: a status is an observation, and the server observes nothing. It would also add every
  field that the operator removes.
- An optional field with a default can be absent. An optional field without a default must be present and can be null,
  which is also how it is encoded.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache
from types import NoneType
from typing import Any, Final, TypeAlias

import msgspec
from msgspec.structs import replace

from kubewright.api._model import Model
from kubewright.api._object import Object
from kubewright.api._object_meta import ObjectMeta
from kubewright.api._pydantic import check_readable
from kubewright.api._spec_status import Resource, requires_spec
from kubewright.api.schema._cel import cel_name
from kubewright.api.schema._constraint_schema import add_constraint, add_rule, amend, immutable_rule, plain_json
from kubewright.api.schema._constraints import EmbeddedResource, Immutable, ListType, MapType, constraints_of
from kubewright.api.schema._shapes import NotExpressible, NotReadable, Shape, fields_of, is_builtin, shape_of
from kubewright.api.schema._validation import violations
from kubewright.regex import QUANTITY

__all__ = ["Describe", "check_kind", "schema_of"]

Describe: TypeAlias = Callable[[type[Model], str | None], str | None]
"""Returns the description of a model (attribute None), or of one of its attributes."""

# The metadata that users write in an embedded object; the server sets the rest.
_EMBEDDED_METADATA: Final = ("annotations", "finalizers", "generateName", "labels", "name", "namespace")
_ANYTHING: Final = {"x-kubernetes-preserve-unknown-fields": True}
_SCALARS: Final = frozenset({"string", "integer", "number", "boolean"})


class _Position(msgspec.Struct, frozen=True):
    """The current position of the walk: for error messages, and for what depends on it."""

    path: str
    models: tuple[type[Model], ...] = ()  # from the kind to here
    defaults: bool = True
    old_self: bool = True  # whether the server knows the previous value
    keys: tuple[str, ...] = ()  # of the list of type "map" that contains this element

    def __truediv__(self, step: str) -> _Position:
        return replace(self, path=f"{self.path}{step}", keys=())


def schema_of(kind: type[Model], *, describe: Describe | None = None) -> dict[str, Any]:
    """Returns the schema of a kind, or of any model. Raises TypeError, which names the field, if it has none."""
    return _Walk(describe, lenient=False).root(kind)


def check_kind(kind: type[Model]) -> None:
    """Raises TypeError for a constraint that does not apply to the type of its field.

    Types without a schema pass: a program that only reads a kind needs none. Types that no JSON can be decoded into
    raise `NotReadable`. Annotations of classes that do not exist yet raise NameError.
    """
    _Walk(None, lenient=True).root(kind)


class _Walk:
    """Builds schemas from classes. A lenient walk only checks constraints, and visits each model once."""

    def __init__(self, describe: Describe | None, *, lenient: bool) -> None:
        self._describe = describe or (lambda _model, _attribute: None)
        self._describes = describe is not None
        self._lenient = lenient
        self._seen: set[tuple[type[Model], bool, bool]] = set()

    def root(self, kind: type[Model]) -> dict[str, Any]:
        position = _Position(kind.__name__)
        if not issubclass(kind, Object):
            return self._model(kind, position)
        schema = self._model(kind, position, own=True)
        schema["properties"] = schema.get("properties", {}) | {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
        }
        amend(schema, constraints_of(kind))
        return schema

    def _node(self, hint: Any, position: _Position) -> dict[str, Any]:
        """Returns the schema of an annotation."""
        try:
            shape = shape_of(hint, position.path)
            schema = self._bare(shape, position)
        except NotExpressible as error:
            if not self._lenient or isinstance(error, NotReadable):
                raise
            return dict(_ANYTHING)
        for constraint in shape.constraints:
            add_constraint(schema, shape, constraint, position.path, old_self=position.old_self)
        if schema.get("nullable") and "enum" in schema:
            raise TypeError(_no_null(position))
        return schema

    def _bare(self, shape: Shape, position: _Position) -> dict[str, Any]:
        """Returns the schema without the constraints of this position."""
        if shape.category == "any":
            return {"nullable": True, **_ANYTHING}
        if shape.category in ("int-or-string", "quantity"):
            return {"x-kubernetes-int-or-string": True} | (
                {"pattern": QUANTITY} if shape.category == "quantity" else {}
            )
        if shape.variants:
            return self._tagged_union(shape.variants, position)
        if shape.pydantic_model is not None:
            return self._pydantic(shape, position)
        if shape.model is not None:
            embedded = any(isinstance(constraint, EmbeddedResource) for constraint in shape.constraints)
            return self._model(shape.model, _below_map(shape, position), embedded=embedded)
        if shape.category == "array":
            return self._array(shape, position)
        if shape.category == "object":
            inner = _below_map(shape, position) / "[*]"
            return {"type": "object", "additionalProperties": self._element(shape.element, inner)}
        schema: dict[str, Any] = {"type": shape.type}
        if shape.format:
            schema["format"] = shape.format
        if shape.enum:
            schema["enum"] = list(shape.enum)
            schema.pop("format", None)
        return schema

    def _pydantic(self, shape: Shape, position: _Position) -> dict[str, Any]:
        """Returns the schema of a pydantic model. A lenient walk only checks that the model can be decoded."""
        check_readable(shape.pydantic_model, position.path)
        if self._lenient:
            return {"type": "object", **_ANYTHING}
        from kubewright.api.schema._pydantic import pydantic_schema

        return pydantic_schema(
            shape.pydantic_model,
            position.path,
            defaults=position.defaults,
            descriptions=self._describes,
            old_self=_below_map(shape, position).old_self,
        )

    def _element(self, hint: Any, position: _Position) -> dict[str, Any]:
        """Returns the schema of an element. Unlike a field, an element that is None is null, not absent."""
        schema = self._node(hint, position)
        try:
            shape = shape_of(hint, position.path)
        except NotExpressible:  # in a lenient walk
            return schema
        if shape.optional:
            self._allow_null(schema, position)
        amend(schema, shape.constraints)
        return schema

    def _allow_null(self, schema: dict[str, Any], position: _Position) -> None:
        """Allows null in the schema."""
        if "enum" in schema and not self._lenient:
            raise NotExpressible(_no_null(position))
        schema["nullable"] = True

    def _array(self, shape: Shape, position: _Position) -> dict[str, Any]:
        list_type = next((found for found in shape.constraints if isinstance(found, ListType)), None)
        inner = position / "[*]"
        if list_type is None or list_type.type != "map":
            inner = replace(inner, old_self=False)
        else:
            inner = replace(inner, keys=list_type.keys)
        items = self._element(shape.element, inner)
        if list_type is not None and list_type.type == "map":
            self._check_map(shape, list_type, position.path)
        elif list_type is not None and list_type.type == "set":
            _check_set(items, position.path)
        return {"type": "array", "items": items}

    def _check_map(self, shape: Shape, list_type: ListType, where: str) -> None:
        element = shape_of(shape.element, where)
        if element.model is None or element.optional:
            raise TypeError(f'{where}: the elements of a list of type "map" are models, and never None')
        fields = {field.encode_name: field for field in fields_of(element.model)}
        for key in list_type.keys:
            if key not in fields:
                raise TypeError(
                    f"{where}: the key {key!r} is not a field of {element.model.__name__}; it has {', '.join(fields)}"
                )
            field = fields[key]
            found = shape_of(field.type, f"{where}[*].{key}")
            if found.type not in _SCALARS:
                raise TypeError(f"{where}: the key {key!r} must be a string, a number or a boolean")
            if found.optional:
                raise TypeError(f"{where}: the key {key!r} may be None; a key must be required or have a default")

    def _model(
        self, model: type[Model], position: _Position, *, own: bool = False, embedded: bool = False
    ) -> dict[str, Any]:
        """Returns the schema of a model: of the kind itself (`own`), or of an embedded object."""
        visit = (model, position.defaults, position.old_self)
        if self._lenient and (is_builtin(model) or visit in self._seen):
            return {"type": "object", **_ANYTHING}
        self._seen.add(visit)
        if is_builtin(model) and position.models and not is_builtin(position.models[-1]):
            with contextlib.suppress(NotExpressible):  # the walk below names the position
                made: dict[str, Any] = msgspec.json.decode(_builtin_schema(model, embedded=embedded))
                return made
        if model in position.models:
            cycle = [*position.models[position.models.index(model) :], model]
            names = " → ".join(step.__name__ for step in cycle)
            raise NotExpressible(
                f"{position.path}: {model.__name__} contains itself ({names}), which the schema of a CRD cannot"
                " express; use JSON for one of these fields"
            )
        inner = replace(position, models=(*position.models, model))
        if is_builtin(model):
            inner = replace(inner, defaults=False)
        schema: dict[str, Any] = {"type": "object"}
        properties: dict[str, Any] = {}
        required: list[str] = []
        for field in fields_of(model):
            name = field.encode_name
            if issubclass(model, ObjectMeta) and name not in _EMBEDDED_METADATA:
                continue
            if issubclass(model, Object) and name in ("apiVersion", "kind", "metadata"):
                if own:
                    continue
                if name == "metadata" and embedded:
                    properties[name] = {"type": "object"}
                    continue
                properties[name] = self._field(model, field, replace(inner, defaults=False), schema)
                continue
            if own and field.type in (None, NoneType):  # Resource[Spec, None]
                continue
            under = replace(inner, defaults=inner.defaults and not (own and name == "status"))
            properties[name] = self._field(model, field, under, schema)
            if self._is_required(model, field):
                required.append(name)
        _add_tag(model, properties, required)
        if properties:
            schema["properties"] = properties
        if required:
            schema["required"] = sorted(required)
        if description := self._describe(model, None):
            schema["description"] = description
        shape = Shape(category="object", type="object", model=model)
        for constraint in constraints_of(model):
            add_constraint(schema, shape, constraint, model.__name__, old_self=position.old_self)
        if not own:  # a kind gets more properties first
            amend(schema, constraints_of(model))
        return schema

    def _field(
        self, model: type[Model], field: msgspec.structs.FieldInfo, position: _Position, parent: dict[str, Any]
    ) -> dict[str, Any]:
        name = field.encode_name
        here = position / f".{name}"
        hint = field.type
        schema = self._node(hint, here)
        try:
            shape = shape_of(hint, here.path)
        except NotExpressible:  # in a lenient walk
            return schema
        if shape.optional and self._is_required(model, field):
            self._allow_null(schema, here)
        if is_builtin(model):
            _add_list_type(model, name, schema)
        if position.defaults or name in position.keys:
            self._add_default(model, field, schema, here)
        if not self._is_required(model, field) and "default" not in schema:
            for found in shape.constraints:
                if isinstance(found, Immutable):
                    add_rule(parent, immutable_rule(name, found.message))
        if description := self._describe(model, field.name):
            schema["description"] = description
        amend(schema, shape.constraints)
        return schema

    def _is_required(self, model: type[Model], field: msgspec.structs.FieldInfo) -> bool:
        if issubclass(model, Resource) and field.name in ("spec", "status"):
            return field.name == "spec" and requires_spec(model)
        return field.required

    def _add_default(
        self, model: type[Model], field: msgspec.structs.FieldInfo, schema: dict[str, Any], position: _Position
    ) -> None:
        if field.required or is_builtin(model):
            return
        if issubclass(model, Resource) and field.name == "spec":
            value = None if self._is_required(model, field) else plain_json(model.__empty_spec__()) or None
        elif field.default is not msgspec.NODEFAULT:
            value = None if field.default is msgspec.UNSET else plain_json(field.default)
        else:
            value = plain_json(field.default_factory())
            if value != plain_json(field.default_factory()):
                return  # different for each object (an id, a time): the server cannot compute it
        if value is None:
            return
        if found := violations(schema, value, position.path):
            raise TypeError(f"the default of {position.path} violates its own constraints: {found[0]}")
        schema["default"] = value

    def _tagged_union(self, variants: tuple[type[Model], ...], position: _Position) -> dict[str, Any]:
        """Returns a schema with the fields of all variants, and one branch per tag."""
        tag = str(variants[0].__struct_config__.tag_field)
        names = [set(variant.__struct_encode_fields__) for variant in variants]
        common = set.intersection(*names)
        merged: dict[str, Any] = {}
        branches: list[dict[str, Any]] = []
        rules: list[dict[str, Any]] = []
        for variant, own in zip(variants, names, strict=True):
            # The server would set the default of one variant's field for the others too.
            schema = self._model(variant, position if own == common else replace(position, defaults=False))
            for name, node in schema.get("properties", {}).items():
                if name != tag and merged.setdefault(name, node) != node:
                    raise NotExpressible(
                        f"{position.path}: the field {name} means different things in the variants of this union"
                    )
            rules += _rules_of_variant(variant, schema, tag, position.path)
            branch: dict[str, Any] = {"properties": {tag: {"enum": [variant.__struct_config__.tag]}}}
            branch["required"] = sorted(schema.get("required", []))
            if foreign := sorted(set.union(*names) - own):
                branch["not"] = {"anyOf": [{"required": [name]} for name in foreign]}
            branches.append(branch)
        tags = [variant.__struct_config__.tag for variant in variants]
        merged[tag] = {"type": "string", "enum": tags}
        made = {"type": "object", "properties": merged, "required": [tag], "oneOf": branches}
        return made | ({"x-kubernetes-validations": rules} if rules else {})


@cache
def _builtin_schema(model: type[Model], *, embedded: bool) -> bytes:
    """Returns the schema of a built-in type as JSON. Cached, because many kinds contain a pod template."""
    return msgspec.json.encode(_Walk(None, lenient=False)._model(model, _Position(model.__name__), embedded=embedded))


def _rules_of_variant(variant: type[Model], schema: dict[str, Any], tag: str, where: str) -> list[dict[str, Any]]:
    """Returns the rules of a variant, restricted to objects with its tag."""
    unsaid = schema.keys() - {"type", "properties", "required", "description", "x-kubernetes-validations", *_ANYTHING}
    if unsaid:
        raise NotExpressible(f"{where}: {', '.join(sorted(unsaid))} of {variant.__name__} is not supported in a union")
    value = variant.__struct_config__.tag
    return [
        {"message": rule["rule"]} | rule | {"rule": f"self.{cel_name(tag)} != '{value}' || ({rule['rule']})"}
        for rule in schema.get("x-kubernetes-validations", ())
    ]


def _no_null(position: _Position) -> str:
    return (
        f"{position.path}: the API server rejects null for every enum, even if null is one of its values;"
        " make the field optional instead, with None as its default"
    )


def _below_map(shape: Shape, position: _Position) -> _Position:
    """Returns the position below a map. The server compares an atomic map only as a whole."""
    rules = (*shape.constraints, *(constraints_of(shape.model) if shape.model else ()))
    atomic = any(isinstance(rule, MapType) and rule.type == "atomic" for rule in rules)
    return replace(position, old_self=False) if atomic else position


def _check_set(items: dict[str, Any], where: str) -> None:
    is_atomic = "atomic" in (items.get("x-kubernetes-list-type"), items.get("x-kubernetes-map-type"))
    if items.get("nullable") or not (items.get("type") in _SCALARS or is_atomic):
        raise TypeError(
            f'{where}: the elements of a list of type "set" are strings, numbers or booleans, never None,'
            ' or lists and maps that are themselves "atomic"'
        )


def _add_tag(model: type[Model], properties: dict[str, Any], required: list[str]) -> None:
    """Adds the field that identifies the model in a union."""
    tag, tag_field = model.__struct_config__.tag, model.__struct_config__.tag_field
    if tag is not None and tag_field is not None:
        properties[tag_field] = {"type": "string" if isinstance(tag, str) else "integer", "enum": [tag]}
        required.append(tag_field)


def _add_list_type(model: type[Model], name: str, schema: dict[str, Any]) -> None:
    """Adds the list type of a built-in type's list, if a CRD can express it: keys must be required."""
    keys = getattr(model, "__list_keys__", {}).get(name)
    items = schema.get("items", {})
    if keys and set(keys) <= set(items.get("required", ())):
        schema["x-kubernetes-list-type"] = "map"
        schema["x-kubernetes-list-map-keys"] = list(keys)
    elif keys == () and items.get("type") in _SCALARS:
        schema["x-kubernetes-list-type"] = "set"
