"""The structural OpenAPI v3 schema of a kind, from its classes.

What becomes what is told in the guide (docs/crds.md). Two decisions are worth their reasons here.

Defaults. A default in a spec is also the schema's default, so that everybody sees the value that the operator acts on.
A default in a status is not: a status says what was observed, and a server that fills in "0 replicas" observed nothing;
it would also bring back every field that the operator removes.

None. A field with a default that may be None may be absent. A field without a default that may be None must be there
and may be null, which is also how it is encoded.
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
from kubewright.api.schema._constraints import EmbeddedResource, Immutable, ListType, MapType, constraints_of
from kubewright.api.schema._placement import add_constraint, add_rule, amend, immutable_rule, plain_json
from kubewright.api.schema._shapes import NotExpressible, NotReadable, Shape, fields_of, is_builtin, shape_of
from kubewright.api.schema._validation import violations
from kubewright.regex import QUANTITY

__all__ = ["Describe", "check_kind", "schema_of"]

Describe: TypeAlias = Callable[[type[Model], str | None], str | None]
"""The description of a model (None), or of one of its attributes."""

# Of the metadata of an object inside another one, what its author writes; the rest is the server's.
_EMBEDDED_METADATA: Final = ("annotations", "finalizers", "generateName", "labels", "name", "namespace")
_ANYTHING: Final = {"x-kubernetes-preserve-unknown-fields": True}
_SCALARS: Final = frozenset({"string", "integer", "number", "boolean"})


class _Place(msgspec.Struct, frozen=True):
    """Where the walk is: for errors, and for what depends on it."""

    path: str
    models: tuple[type[Model], ...] = ()  # from the kind down to here
    defaults: bool = True
    old_self: bool = True  # whether the server can tell what stood here before
    keys: tuple[str, ...] = ()  # of the list map that this is an element of

    def __truediv__(self, step: str) -> _Place:
        return replace(self, path=f"{self.path}{step}", keys=())


def schema_of(kind: type[Model], *, describe: Describe | None = None) -> dict[str, Any]:
    """The schema of a kind, or of any model. Raises TypeError, which names the field, for what has none."""
    return _Walk(describe, lenient=False).root(kind)


def check_kind(kind: type[Model]) -> None:
    """Raise TypeError for a rule that stands where it means nothing.

    Types that have no schema pass: a program that reads kinds of another one needs none. Types that no JSON can be
    decoded into raise `NotReadable`. Raises NameError when annotations name classes that do not exist yet.
    """
    _Walk(None, lenient=True).root(kind)


class _Walk:
    """From classes to schemas. A lenient walk looks only at rules, and at each model once."""

    def __init__(self, describe: Describe | None, *, lenient: bool) -> None:
        self._describe = describe or (lambda _model, _attribute: None)
        self._describes = describe is not None
        self._lenient = lenient
        self._seen: set[tuple[type[Model], bool, bool]] = set()

    def root(self, kind: type[Model]) -> dict[str, Any]:
        place = _Place(kind.__name__)
        if not issubclass(kind, Object):
            return self._model(kind, place)
        schema = self._model(kind, place, own=True)
        schema["properties"] = schema.get("properties", {}) | {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
        }
        amend(schema, constraints_of(kind))
        return schema

    def _node(self, hint: Any, place: _Place) -> dict[str, Any]:
        """The schema of an annotation."""
        try:
            shape = shape_of(hint, place.path)
            schema = self._bare(shape, place)
        except NotExpressible as error:
            if not self._lenient or isinstance(error, NotReadable):
                raise
            return dict(_ANYTHING)
        for constraint in shape.constraints:
            add_constraint(schema, shape, constraint, place.path, old_self=place.old_self)
        if schema.get("nullable") and "enum" in schema:
            raise TypeError(_no_null(place))
        return schema

    def _bare(self, shape: Shape, place: _Place) -> dict[str, Any]:
        """The schema without the rules of this very place."""
        if shape.place == "any":
            return {"nullable": True, **_ANYTHING}
        if shape.place in ("int-or-string", "quantity"):
            return {"x-kubernetes-int-or-string": True} | ({"pattern": QUANTITY} if shape.place == "quantity" else {})
        if shape.variants:
            return self._tagged_union(shape.variants, place)
        if shape.foreign is not None:
            return self._pydantic(shape, place)
        if shape.model is not None:
            embedded = any(isinstance(constraint, EmbeddedResource) for constraint in shape.constraints)
            return self._model(shape.model, _below_map(shape, place), embedded=embedded)
        if shape.place == "array":
            return self._array(shape, place)
        if shape.place == "object":
            inner = _below_map(shape, place) / "[*]"
            return {"type": "object", "additionalProperties": self._element(shape.element, inner)}
        schema: dict[str, Any] = {"type": shape.type}
        if shape.format:
            schema["format"] = shape.format
        if shape.enum:
            schema["enum"] = list(shape.enum)
            schema.pop("format", None)
        return schema

    def _pydantic(self, shape: Shape, place: _Place) -> dict[str, Any]:
        """The schema of a pydantic model; a lenient walk only asks whether the model can read what a server sends."""
        check_readable(shape.foreign, place.path)
        if self._lenient:
            return {"type": "object", **_ANYTHING}
        from kubewright.api.schema._pydantic import pydantic_schema

        return pydantic_schema(
            shape.foreign,
            place.path,
            defaults=place.defaults,
            descriptions=self._describes,
            old_self=_below_map(shape, place).old_self,
        )

    def _element(self, hint: Any, place: _Place) -> dict[str, Any]:
        """The schema of an element: there, unlike in a field, None can only be null."""
        schema = self._node(hint, place)
        try:
            shape = shape_of(hint, place.path)
        except NotExpressible:  # only a lenient walk comes here
            return schema
        if shape.optional:
            self._allow_null(schema, place)
        amend(schema, shape.constraints)
        return schema

    def _allow_null(self, schema: dict[str, Any], place: _Place) -> None:
        """Make null a value of the schema."""
        if "enum" in schema and not self._lenient:
            raise NotExpressible(_no_null(place))
        schema["nullable"] = True

    def _array(self, shape: Shape, place: _Place) -> dict[str, Any]:
        list_type = next((found for found in shape.constraints if isinstance(found, ListType)), None)
        inner = place / "[*]"
        if list_type is None or list_type.type != "map":
            inner = replace(inner, old_self=False)
        else:
            inner = replace(inner, keys=list_type.keys)
        items = self._element(shape.element, inner)
        if list_type is not None and list_type.type == "map":
            self._check_map(shape, list_type, place.path)
        elif list_type is not None and list_type.type == "set":
            _check_set(items, place.path)
        return {"type": "array", "items": items}

    def _check_map(self, shape: Shape, list_type: ListType, where: str) -> None:
        element = shape_of(shape.element, where)
        if element.model is None or element.optional:
            raise TypeError(f'{where}: the elements of a list of type "map" are models, and never None')
        fields = {field.encode_name: field for field in fields_of(element.model)}
        for key in list_type.keys:
            if key not in fields:
                raise TypeError(
                    f"{where}: the key {key!r} is no field of {element.model.__name__}; it has {', '.join(fields)}"
                )
            field = fields[key]
            found = shape_of(field.type, f"{where}[*].{key}")
            if found.type not in _SCALARS:
                raise TypeError(f"{where}: the key {key!r} must be a text, a number or a boolean")
            if found.optional:
                raise TypeError(f"{where}: the key {key!r} may be None; a key must be required or have a default")

    def _model(self, model: type[Model], place: _Place, *, own: bool = False, embedded: bool = False) -> dict[str, Any]:
        """The schema of a model: the kind itself (`own`), or perhaps an object whose metadata the server knows."""
        visit = (model, place.defaults, place.old_self)
        if self._lenient and (is_builtin(model) or visit in self._seen):
            return {"type": "object", **_ANYTHING}
        self._seen.add(visit)
        if is_builtin(model) and place.models and not is_builtin(place.models[-1]):
            with contextlib.suppress(NotExpressible):  # the walk from here names the place
                made: dict[str, Any] = msgspec.json.decode(_builtin_schema(model, embedded=embedded))
                return made
        if model in place.models:
            cycle = [*place.models[place.models.index(model) :], model]
            names = " → ".join(step.__name__ for step in cycle)
            raise NotExpressible(
                f"{place.path}: {model.__name__} contains itself ({names}), which the schema of a CRD cannot say;"
                " use JSON for one of these fields"
            )
        inner = replace(place, models=(*place.models, model))
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
        shape = Shape(place="object", type="object", model=model)
        for constraint in constraints_of(model):
            add_constraint(schema, shape, constraint, model.__name__, old_self=place.old_self)
        if not own:  # a kind gets the rest of its properties first
            amend(schema, constraints_of(model))
        return schema

    def _field(
        self, model: type[Model], field: msgspec.structs.FieldInfo, place: _Place, parent: dict[str, Any]
    ) -> dict[str, Any]:
        name = field.encode_name
        here = place / f".{name}"
        hint = field.type
        schema = self._node(hint, here)
        try:
            shape = shape_of(hint, here.path)
        except NotExpressible:  # only a lenient walk comes here
            return schema
        if shape.optional and self._is_required(model, field):
            self._allow_null(schema, here)
        if is_builtin(model):
            _add_list_type(model, name, schema)
        if place.defaults or name in place.keys:
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
        self, model: type[Model], field: msgspec.structs.FieldInfo, schema: dict[str, Any], place: _Place
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
                return  # made anew for each object (an id, a time): the server could not
        if value is None:
            return
        if found := violations(schema, value, place.path):
            raise TypeError(f"the default of {place.path} breaks its own rules: {found[0]}")
        schema["default"] = value

    def _tagged_union(self, variants: tuple[type[Model], ...], place: _Place) -> dict[str, Any]:
        """All fields of all variants, and for each tag which of them are meant."""
        tag = str(variants[0].__struct_config__.tag_field)
        names = [set(variant.__struct_encode_fields__) for variant in variants]
        common = set.intersection(*names)
        merged: dict[str, Any] = {}
        branches: list[dict[str, Any]] = []
        rules: list[dict[str, Any]] = []
        for variant, own in zip(variants, names, strict=True):
            # A default of one variant's field would be filled in for the others too.
            schema = self._model(variant, place if own == common else replace(place, defaults=False))
            for name, node in schema.get("properties", {}).items():
                if name != tag and merged.setdefault(name, node) != node:
                    raise NotExpressible(
                        f"{place.path}: the field {name} means different things in the variants of this union"
                    )
            rules += _rules_of_variant(variant, schema, tag, place.path)
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
    """The schema of a built-in type, as JSON: that of a pod is large, and many kinds contain one."""
    return msgspec.json.encode(_Walk(None, lenient=False)._model(model, _Place(model.__name__), embedded=embedded))


def _rules_of_variant(variant: type[Model], schema: dict[str, Any], tag: str, where: str) -> list[dict[str, Any]]:
    """The rules of a variant as a whole, made to hold only where its tag stands."""
    unsaid = schema.keys() - {"type", "properties", "required", "description", "x-kubernetes-validations", *_ANYTHING}
    if unsaid:
        raise NotExpressible(f"{where}: {', '.join(sorted(unsaid))} of {variant.__name__} has no meaning in a union")
    value = variant.__struct_config__.tag
    return [
        {"message": rule["rule"]} | rule | {"rule": f"self.{cel_name(tag)} != '{value}' || ({rule['rule']})"}
        for rule in schema.get("x-kubernetes-validations", ())
    ]


def _no_null(place: _Place) -> str:
    return (
        f"{place.path}: the API server refuses null for every enum, also if null is among its values;"
        " let the field be absent instead, with None as its default"
    )


def _below_map(shape: Shape, place: _Place) -> _Place:
    """The server merges, and so compares, the members of an atomic map only as a whole."""
    rules = (*shape.constraints, *(constraints_of(shape.model) if shape.model else ()))
    atomic = any(isinstance(rule, MapType) and rule.type == "atomic" for rule in rules)
    return replace(place, old_self=False) if atomic else place


def _check_set(items: dict[str, Any], where: str) -> None:
    is_atomic = "atomic" in (items.get("x-kubernetes-list-type"), items.get("x-kubernetes-map-type"))
    if items.get("nullable") or not (items.get("type") in _SCALARS or is_atomic):
        raise TypeError(
            f'{where}: the elements of a list of type "set" are texts, numbers or booleans, never None,'
            ' or lists and maps that are themselves "atomic"'
        )


def _add_tag(model: type[Model], properties: dict[str, Any], required: list[str]) -> None:
    """The field that tells apart the models of a union."""
    tag, tag_field = model.__struct_config__.tag, model.__struct_config__.tag_field
    if tag is not None and tag_field is not None:
        properties[tag_field] = {"type": "string" if isinstance(tag, str) else "integer", "enum": [tag]}
        required.append(tag_field)


def _add_list_type(model: type[Model], name: str, schema: dict[str, Any]) -> None:
    """How Kubernetes merges the lists of its own types, where a CRD can say so: keys must be required."""
    keys = getattr(model, "__list_keys__", {}).get(name)
    items = schema.get("items", {})
    if keys and set(keys) <= set(items.get("required", ())):
        schema["x-kubernetes-list-type"] = "map"
        schema["x-kubernetes-list-map-keys"] = list(keys)
    elif keys == () and items.get("type") in _SCALARS:
        schema["x-kubernetes-list-type"] = "set"
