"""`Schema`: a schema node, and its construction from OpenAPI.

The rules are those by which the server converts an OpenAPI schema for merging: a schema without a type allows anything;
an object without properties is a map of anything; a list is atomic by default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias

__all__ = ["ANYTHING", "ListType", "Resolve", "Schema", "read"]

ListType: TypeAlias = Literal["atomic", "set", "map"]
Resolve: TypeAlias = Callable[[str], "Schema"]
"""Returns the schema of a definition by the last part of its `$ref`."""

_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_RAW_EXTENSION: Final = "io.k8s.apimachinery.pkg.runtime.RawExtension"
_SCALARS: Final = {"integer": "numeric", "number": "numeric", "boolean": "boolean"}


class Schema:
    """The schema of one value. Immutable; fields are built on first use.

    A schema may allow a map (or struct: `is_map`), a list (`is_list`) and a scalar (`scalar`), or several of them.

    - `fields[name]` is the schema of a known field, None for an unknown name; `known` contains all known names.
    - `element` is the schema of other names of a map; None if other names are not allowed.
    - `atomic` maps and structs belong to one manager as a whole.
    - `items` is the schema of list elements; `list_type` is atomic, set or map; `keys` are a map's keys, sorted, and
      `key_defaults` the values of keys that an element omits.
    - `scalar` is string, numeric, boolean or untyped.
    - `type`, `format`, `nullable`, `default`, `preserve_unknown`, `embedded`, `int_or_string`: as in OpenAPI.
    - `patch_strategies` and `patch_merge_key`: for strategic merge patches.
    - `go`: how Go writes the fields of a built-in struct, by name (see `tools.generate_schemas._gotypes`).
    - `name`: the name of its definition, if any. `source`: the OpenAPI that it was built from.
    """

    __slots__ = (
        "atomic",
        "default",
        "element",
        "embedded",
        "fields",
        "format",
        "go",
        "int_or_string",
        "is_list",
        "is_map",
        "items",
        "key_defaults",
        "keys",
        "known",
        "list_type",
        "name",
        "nullable",
        "patch_merge_key",
        "patch_strategies",
        "preserve_unknown",
        "scalar",
        "source",
        "type",
    )

    atomic: bool
    default: Any
    element: Schema | None
    embedded: bool
    fields: Mapping[str, Schema | None]
    format: str
    go: Mapping[str, str]
    int_or_string: bool
    is_list: bool
    is_map: bool
    items: Schema | None
    key_defaults: Mapping[str, Any]
    keys: tuple[str, ...]
    known: Mapping[str, Any]
    list_type: ListType
    name: str
    nullable: bool
    patch_merge_key: str
    patch_strategies: tuple[str, ...]
    preserve_unknown: bool
    scalar: str | None
    source: Mapping[str, Any]
    type: str

    def __init__(self, **values: Any) -> None:
        for name, default in _EMPTY.items():
            object.__setattr__(self, name, values.get(name, default))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a schema is shared and cannot be changed: {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a schema is shared and cannot be changed: {name}")

    def with_changes(self, **values: Any) -> Schema:
        """Returns a copy with changed attributes that shares its fields."""
        return Schema(**{name: getattr(self, name) for name in _EMPTY} | values)

    def __repr__(self) -> str:
        return f"<Schema {self.name or self.type or 'any'}>"


_EMPTY: Final[dict[str, Any]] = {
    "atomic": False,
    "default": None,
    "element": None,
    "embedded": False,
    "fields": {},
    "format": "",
    "go": {},
    "int_or_string": False,
    "is_list": False,
    "is_map": False,
    "items": None,
    "key_defaults": {},
    "keys": (),
    "known": {},
    "list_type": "atomic",
    "name": "",
    "nullable": False,
    "patch_merge_key": "",
    "patch_strategies": (),
    "preserve_unknown": False,
    "scalar": None,
    "source": {},
    "type": "",
}


class _Fields(dict[str, "Schema | None"]):
    """The known fields of a struct. Builds each on first use; unknown names are not cached."""

    __slots__ = ("_preserve", "_properties", "_resolve")

    def __init__(self, properties: Mapping[str, Any], resolve: Resolve, preserve: bool) -> None:
        super().__init__()
        self._properties = properties
        self._resolve = resolve
        self._preserve = preserve

    def __missing__(self, name: str) -> Schema | None:
        source = self._properties.get(name)
        if source is None:
            return None
        built = self[name] = read(source, self._resolve, preserve=self._preserve)
        return built


def _anything(*, atomic: bool, element: Schema) -> dict[str, Any]:
    return {
        "is_list": True,
        "is_map": True,
        "scalar": "untyped",
        "atomic": atomic,
        "element": element,
        "items": element,
        "preserve_unknown": True,
        "nullable": True,
        "fields": _Fields({}, _no_definitions, preserve=True),
    }


def _no_definitions(name: str) -> Schema:
    raise KeyError(f"{name} is not a definition here")


def _recursive(*, atomic: bool) -> Schema:
    """Returns a schema whose elements have the same schema."""
    schema = Schema()
    for name, value in _anything(atomic=atomic, element=schema).items():
        object.__setattr__(schema, name, value)
    return schema


_UNTYPED: Final = _recursive(atomic=True)  # any value, as a whole
ANYTHING: Final = _recursive(atomic=False)
"""Any value: maps are merged by name, lists are atomic."""
object.__setattr__(ANYTHING, "items", _UNTYPED)


def read(source: Mapping[str, Any], resolve: Resolve, *, name: str = "", preserve: bool = False) -> Schema:
    """Builds a schema from an OpenAPI schema.

    `resolve` resolves `$ref`. `preserve`: whether a parent preserves unknown fields.
    """
    reference = _reference(source)
    if reference:
        return _referred(resolve(reference), source)
    if name == _QUANTITY:
        return Schema(name=name, scalar="untyped", type="string", source=source)
    if name == _RAW_EXTENSION:
        return _UNTYPED.with_changes(name=name, type="object", source=source)
    preserve_here = source.get("x-kubernetes-preserve-unknown-fields") is True
    preserve = preserve or preserve_here
    type_ = source.get("type", "")
    values: dict[str, Any] = {
        "name": name,
        "type": type_,
        "format": source.get("format", ""),
        "nullable": source.get("nullable") is True,
        "default": source.get("default"),
        "preserve_unknown": preserve_here,
        "embedded": source.get("x-kubernetes-embedded-resource") is True,
        "int_or_string": source.get("x-kubernetes-int-or-string") is True or source.get("format") == "int-or-string",
        "source": source,
    } | _patch(source)
    if type_ in ("", "object"):
        values |= _map(source, resolve, preserve)
    if type_ in ("", "array"):
        values |= _list(source, resolve, preserve)
    if type_ not in ("object", "array"):
        values["scalar"] = _scalar(type_, values["format"])
    return Schema(**values)


def _reference(source: Mapping[str, Any]) -> str:
    reference = source.get("$ref")
    if reference is None:
        several = source.get("allOf")
        if not isinstance(several, list) or len(several) != 1 or "$ref" not in several[0]:
            return ""
        reference = several[0]["$ref"]
    name: str = reference.rpartition("/")[2]
    return name


def _referred(target: Schema, source: Mapping[str, Any]) -> Schema:
    """Returns the definition with the attributes that the field sets beside its reference."""
    values = _patch(source) if "x-kubernetes-patch-strategy" in source else {}
    if "x-kubernetes-map-type" in source:
        values["atomic"] = source["x-kubernetes-map-type"] == "atomic"
    if source.get("default") not in (None, {}):  # Go writes {} for every struct, which has no effect
        values["default"] = source["default"]
    if source.get("nullable") is True:
        values["nullable"] = True
    return target.with_changes(**values) if values else target


def _patch(source: Mapping[str, Any]) -> dict[str, Any]:
    strategies = source.get("x-kubernetes-patch-strategy", "")
    return {
        "patch_strategies": tuple(strategies.split(",")) if strategies else (),
        "patch_merge_key": source.get("x-kubernetes-patch-merge-key", ""),
    }


def _scalar(type_: str, format_: str) -> str:
    if type_ == "string":
        return "string" if format_ in ("", "byte") else "untyped"
    return _SCALARS.get(type_, "untyped")


def _map(source: Mapping[str, Any], resolve: Resolve, preserve: bool) -> dict[str, Any]:
    properties = source.get("properties") or {}
    additional = source.get("additionalProperties")
    element: Schema | None = None
    if isinstance(additional, Mapping):
        element = read(additional, resolve, preserve=preserve)
    elif additional is True or (additional is None and (preserve or not properties)):
        element = ANYTHING
    return {
        "is_map": True,
        "fields": _Fields(properties, resolve, preserve),
        "known": properties,
        "element": element,
        "atomic": source.get("x-kubernetes-map-type") == "atomic",
        "go": source.get("x-go", {}),
    }


def _list(source: Mapping[str, Any], resolve: Resolve, preserve: bool) -> dict[str, Any]:
    described = source.get("items")
    items = read(described, resolve, preserve=preserve) if isinstance(described, Mapping) else _UNTYPED
    list_type, keys = _list_type(source)
    defaults = {}
    for key in keys:
        field = items.fields[key]
        if field is not None and field.default is not None:
            defaults[key] = field.default
    return {"is_list": True, "items": items, "list_type": list_type, "keys": keys, "key_defaults": defaults}


def _list_type(source: Mapping[str, Any]) -> tuple[ListType, tuple[str, ...]]:
    declared = source.get("x-kubernetes-list-type")
    if declared == "map":
        return "map", tuple(sorted(source.get("x-kubernetes-list-map-keys", ())))
    if declared is not None:
        return ("set" if declared == "set" else "atomic"), ()
    if "merge" in source.get("x-kubernetes-patch-strategy", "").split(","):
        key = source.get("x-kubernetes-patch-merge-key")
        return ("map", (key,)) if key else ("set", ())
    return "atomic", ()
