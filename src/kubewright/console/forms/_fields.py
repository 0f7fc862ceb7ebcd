"""`Field`: a schema as a form uses it. Child fields are built on demand, so deep schemas cost nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as attribute
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias

from kubewright.console.forms._paths import MISSING, Path

__all__ = ["Field", "Shape"]

Shape: TypeAlias = Literal[
    "text", "integer", "number", "boolean", "choice", "int-or-string", "object", "list", "map", "yaml"
]
"""How a value is edited. `yaml`: as YAML, because no other widget can show it."""

_SCALARS: Final[Mapping[str, Shape]] = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
}
_SAME: Final = re.compile(r"\s*(?:self\s*==\s*oldSelf|oldSelf\s*==\s*self)\s*")
_SAME_MEMBER: Final = re.compile(r"\s*(?:self\.(\w+)\s*==\s*oldSelf\.\1|oldSelf\.(\w+)\s*==\s*self\.\2)\s*")


@dataclass(frozen=True, eq=False)
class Field:
    """One field of a schema: its permitted values and its presentation."""

    name: str
    schema: dict[str, Any]
    required: bool = False
    immutable_by_parent: bool = attribute(default=False, repr=False)

    @cached_property
    def shape(self) -> Shape:
        """How the value is edited."""
        schema = self.schema
        if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
            return "int-or-string"
        choices = schema.get("enum")
        if choices and all(isinstance(choice, str | int | float | bool) for choice in choices):
            return "choice"
        type_ = str(schema.get("type"))
        if type_ in _SCALARS:
            return _SCALARS[type_]
        if type_ == "array" and isinstance(schema.get("items"), dict):
            return "list"
        if type_ == "object" and not schema.get("x-kubernetes-embedded-resource"):
            if schema.get("properties"):
                return "object"
            if isinstance(schema.get("additionalProperties"), dict) and schema["additionalProperties"]:
                return "map"
        return "yaml"

    @property
    def is_scalar(self) -> bool:
        """Whether a single widget shows the value."""
        return self.shape not in ("object", "list", "map", "yaml")

    @cached_property
    def members(self) -> dict[str, Field]:
        """The fields of an object: required ones first, then in schema order."""
        if self.shape != "object":
            return {}
        required = set(self.schema.get("required") or ())
        immutable = {
            found[1] or found[2]
            for rule in self.schema.get("x-kubernetes-validations") or ()
            if (found := _SAME_MEMBER.fullmatch(rule.get("rule", "")))
        }
        made = [
            Field(name, node, name in required, name in immutable)
            for name, node in self.schema["properties"].items()
            if isinstance(node, dict)
        ]
        return {one.name: one for one in sorted(made, key=lambda one: not one.required)}

    @cached_property
    def element(self) -> Field:
        """The field of a list's elements or a map's values."""
        node = self.schema.get("items") if self.shape == "list" else self.schema.get("additionalProperties")
        return Field("", node if isinstance(node, dict) else {}, required=True)

    def below(self, step: str | int) -> Field | None:
        """Returns the child field; None if the schema does not describe it."""
        if self.shape == "object":
            return self.members.get(str(step))
        if (self.shape == "list" and isinstance(step, int)) or (self.shape == "map" and isinstance(step, str)):
            return self.element
        return None

    def find(self, path: Path) -> Field | None:
        """Returns the field at a path below this one."""
        here: Field | None = self
        for step in path:
            here = here.below(step) if here is not None else None
        return here

    @property
    def description(self) -> str:
        """The schema's description, in one line."""
        return " ".join(str(self.schema.get("description") or "").split())

    @property
    def default(self) -> Any:
        """The value that the server sets if the field is absent; `MISSING` if there is none."""
        return self.schema.get("default", MISSING)

    @property
    def nullable(self) -> bool:
        """Whether null is permitted."""
        return bool(self.schema.get("nullable"))

    @property
    def choices(self) -> list[Any]:
        """The permitted values of an enum."""
        return list(self.schema.get("enum") or ())

    @property
    def preserves_unknown(self) -> bool:
        """Whether fields that the schema does not contain are permitted."""
        return bool(self.schema.get("x-kubernetes-preserve-unknown-fields"))

    @property
    def map_keys(self) -> tuple[str, ...]:
        """The keys of a list of type `map`."""
        if self.schema.get("x-kubernetes-list-type") == "map":
            return tuple(self.schema.get("x-kubernetes-list-map-keys") or ())
        return ()

    @property
    def is_immutable(self) -> bool:
        """Whether a rule forbids changes after the value is set."""
        rules = self.schema.get("x-kubernetes-validations") or ()
        return self.immutable_by_parent or any(_SAME.fullmatch(rule.get("rule", "")) for rule in rules)

    @property
    def is_multiline(self) -> bool:
        """Whether the string is likely to have several lines."""
        longest = self.schema.get("maxLength")
        return self.shape == "text" and isinstance(longest, int) and longest > 1000

    def is_full(self, count: int) -> bool:
        """Whether a list or map with this many elements is full."""
        most = self.schema.get("maxItems" if self.shape == "list" else "maxProperties")
        return isinstance(most, int) and count >= most

    @property
    def hint(self) -> str:
        """The constraints, in a few words."""
        return " · ".join(_hints(self.schema))


def _hints(schema: dict[str, Any]) -> list[str]:
    found = []
    for low, high, unit in (
        ("minimum", "maximum", ""),
        ("minLength", "maxLength", " characters"),
        ("minItems", "maxItems", " elements"),
        ("minProperties", "maxProperties", " members"),
    ):
        if text := _range(schema.get(low), schema.get(high), unit):
            found.append(text)
    if schema.get("multipleOf"):
        found.append(f"a multiple of {schema['multipleOf']}")
    if isinstance(schema.get("pattern"), str) and len(schema["pattern"]) <= 40:
        found.append(f"matches {schema['pattern']}")
    if schema.get("format") and schema["format"] not in ("int32", "int64", "float", "double", "int-or-string"):
        found.append(str(schema["format"]))
    if schema.get("x-kubernetes-list-type") == "set":
        found.append("unique elements")
    for word, branches in (("exactly one", schema.get("oneOf")), ("at least one", schema.get("anyOf"))):
        names = [name for branch in branches or () for name in branch.get("required") or ()]
        if names:
            found.append(f"{word} of {', '.join(map(str, names))}")
    return found


def _range(low: Any, high: Any, unit: str) -> str:
    if low is not None and high is not None:
        return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"
    if low is not None and (low or not unit):
        return f"at least {low}{unit}"
    return f"at most {high}{unit}" if high is not None else ""
