"""The structural schema of a pydantic model, from the JSON schema that pydantic generates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec
from msgspec.structs import replace

from kubewright.api._pydantic import is_pydantic, members_of, unwrapped, without_null
from kubewright.api.schema._constraint_schema import add_constraint, amend
from kubewright.api.schema._constraints import STRING_FORMATS, Constraint
from kubewright.api.schema._shapes import NotExpressible, Shape

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["pydantic_schema"]

_ANYTHING: Final = {"nullable": True, "x-kubernetes-preserve-unknown-fields": True}
_FORMATS: Final = {"integer": "int64", "number": "double"}
# Members with the same meaning in both. Durations are excluded: Kubernetes writes them differently.
_KEPT: Final = (
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
)
_TEXT_FORMATS: Final = STRING_FORMATS - {"duration"}
_SCALARS: Final = frozenset({"string", "integer", "number", "boolean"})


class _Position(msgspec.Struct, frozen=True):
    path: str
    defaults: bool
    descriptions: bool
    old_self: bool
    inside: tuple[str, ...] = ()

    def __truediv__(self, step: str) -> _Position:
        return replace(self, path=f"{self.path}{step}")


def pydantic_schema(
    model: type[BaseModel], where: str, *, defaults: bool, descriptions: bool, old_self: bool
) -> dict[str, Any]:
    """Returns the schema of a model. Raises TypeError, which names the field, for what a CRD cannot express."""
    document = model.model_json_schema(by_alias=True, mode="validation")
    conversion = _Conversion(document.pop("$defs", {}))
    position = _Position(where, defaults=defaults, descriptions=descriptions, old_self=old_self)
    return conversion.node(document, model, position)


class _Conversion:
    """Walks the JSON schema and the annotations, which may have constraints, in parallel."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions

    def node(self, node: Mapping[str, Any], hint: Any, position: _Position) -> dict[str, Any]:
        """Returns the structural schema of one position. The caller handles null."""
        plain, metadata = unwrapped(hint)
        given, position = self._resolved(node, position)
        made = self._typed(given, plain, position)
        if position.descriptions and given.get("description"):
            made["description"] = given["description"]
        if given.get("examples"):
            made["example"] = given["examples"][0]
        rules = [rule for rule in metadata if isinstance(rule, Constraint)]
        shape = Shape(category=_category_of(made), type=made.get("type"))
        for rule in rules:
            add_constraint(made, shape, rule, position.path, old_self=position.old_self)
        amend(made, rules)
        return made

    def _resolved(self, node: Mapping[str, Any], position: _Position) -> tuple[dict[str, Any], _Position]:
        """Returns the schema with its references resolved."""
        given = dict(node)
        if len(given.get("allOf", ())) == 1:
            given |= given.pop("allOf")[0]
        while "$ref" in given:
            name = given.pop("$ref").removeprefix("#/$defs/")
            if name in position.inside:
                raise NotExpressible(
                    f"{position.path}: {name} contains itself, which the schema of a CRD cannot express;"
                    " use Any for one of these fields"
                )
            position = replace(position, inside=(*position.inside, name))
            given = dict(self._definitions[name]) | given
        return given, position

    def _typed(self, given: dict[str, Any], hint: Any, position: _Position) -> dict[str, Any]:
        if "anyOf" in given or "oneOf" in given:
            return _union(given, position.path)
        if "patternProperties" in given or "prefixItems" in given:
            what = "the keys of a map are strings" if "patternProperties" in given else "use a list"
            raise NotExpressible(f"{position.path}: a CRD cannot express this type; {what}")
        values = [given["const"]] if "const" in given else given.get("enum")
        type_ = given.get("type") or (_type_of(values, position.path) if values else None)
        if type_ is None:
            return dict(_ANYTHING)
        if type_ == "object":
            return self._object(given, hint, position)
        made: dict[str, Any] = {"type": type_} | {name: given[name] for name in _KEPT if name in given}
        if type_ == "array":
            return made | self._array(given, hint, position)
        if values:
            return made | {"enum": list(values)}
        if type_ in _FORMATS:
            made["format"] = _FORMATS[type_]
            _add_bounds(made, given)
        elif given.get("format") in _TEXT_FORMATS:
            made["format"] = given["format"]
        return made

    def _array(self, given: dict[str, Any], hint: Any, position: _Position) -> dict[str, Any]:
        arguments = get_args(hint)
        inner = replace(position / "[*]", old_self=False)
        made = {"items": self._element(given.get("items", {}), arguments[0] if len(arguments) == 1 else None, inner)}
        if not given.get("uniqueItems"):
            return made
        if made["items"].get("type") not in _SCALARS:
            raise NotExpressible(f"{position.path}: the elements of a set are strings, numbers or booleans; use a list")
        return made | {"x-kubernetes-list-type": "set"}

    def _object(self, given: dict[str, Any], hint: Any, position: _Position) -> dict[str, Any]:
        made: dict[str, Any] = {"type": "object"} | {name: given[name] for name in _KEPT if name in given}
        others = given.get("additionalProperties")
        if "properties" not in given:
            if others is None or others is False:
                return made
            arguments = get_args(hint)
            inner = {} if others is True else others
            element = self._element(inner, arguments[1] if len(arguments) == 2 else None, position / "[*]")
            return made | {"additionalProperties": element}
        hints = members_of(hint) if is_pydantic(hint) else {}
        required = given.get("required", [])
        made["properties"] = {
            name: self._field(below, hints.get(name), position / f".{name}", required=name in required)
            for name, below in given["properties"].items()
        }
        if required:
            made["required"] = sorted(required)
        if others:
            made["x-kubernetes-preserve-unknown-fields"] = True
        return made

    def _field(self, node: Mapping[str, Any], hint: Any, position: _Position, *, required: bool) -> dict[str, Any]:
        given, nullable = without_null(node)
        made = self.node(given, hint, position)
        if nullable and required:
            _allow_null(made, position.path)
        default = node.get("default")
        if default is not None and position.defaults:
            made["default"] = default
        return made

    def _element(self, node: Mapping[str, Any], hint: Any, position: _Position) -> dict[str, Any]:
        given, nullable = without_null(node)
        made = self.node(given, hint, position)
        if nullable:
            _allow_null(made, position.path)
        return made


def _union(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    types = sorted(str(branch.get("type")) for branch in given.get("anyOf") or given["oneOf"])
    if types == ["integer", "string"]:
        return {"x-kubernetes-int-or-string": True}
    if types == ["integer", "number"]:
        return {"type": "number", "format": "double"}
    raise NotExpressible(f"{where}: a CRD cannot express this union; use one field for each of its types, or Any")


def _type_of(values: list[Any], where: str) -> str:
    types: dict[type, str] = {str: "string", int: "integer", bool: "boolean", float: "number"}
    found = {types.get(type(value)) for value in values}
    if len(found) != 1 or None in found:
        raise NotExpressible(f"{where}: the values of an enum are all strings or all numbers, not {values!r}")
    return str(found.pop())


def _add_bounds(made: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Adds bounds. JSON schema and OpenAPI v3 write exclusive bounds differently."""
    for name, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if name in given:
            made[name] = given[name]
        if exclusive in given:
            made |= {name: given[exclusive], exclusive: True}


def _allow_null(made: dict[str, Any], where: str) -> None:
    if "enum" in made:
        raise NotExpressible(f"{where}: the API server rejects null for every enum; make the field optional instead")
    made["nullable"] = True


def _category_of(made: Mapping[str, Any]) -> str:
    if made.get("x-kubernetes-int-or-string"):
        return "int-or-string"
    return "enum" if "enum" in made else str(made.get("type", "any"))
