"""The type and default of each attribute.

Most of them follow from the document. This module has the exceptions: definitions that are values rather than structs
(a Quantity is a string in JSON), hand-written classes, and defaults that save checks for None (a kind always has a
spec, even if the JSON has none, unless an empty spec would be invalid).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from kubewright.api.wire import wire_name
from tools.generate_api._document import Definition, Document, Property, reference
from tools.generate_api._names import attribute_name

__all__ = ["HAND_WRITTEN", "Field", "Types", "is_struct"]

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_OBJECT_META: Final = f"{_META}ObjectMeta"

HAND_WRITTEN: Final = {
    f"{_META}{name}": "kubewright.api._object_meta" for name in ("ManagedFieldsEntry", "ObjectMeta", "OwnerReference")
}
"""Definitions whose classes are not generated, and where they are."""

_VALUES: Final = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ("Quantity", "kubewright.api._quantity"),
    "io.k8s.apimachinery.pkg.runtime.RawExtension": ("JSON", "kubewright.api._values"),
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": ("IntOrString", "kubewright.api._values"),
    f"{_META}FieldsV1": ("JSON", "kubewright.api._values"),
    f"{_META}MicroTime": ("MicroTime", "kubewright.api._time"),
    f"{_META}Patch": ("JSON", "kubewright.api._values"),
    f"{_META}Time": ("Time", "kubewright.api._time"),
    f"{_EXTENSIONS}JSON": ("JSON", "kubewright.api._values"),
}
# The document does not describe these; the types are those of Go.
_UNIONS: Final = {
    f"{_EXTENSIONS}JSONSchemaPropsOrArray": "JSONSchemaProps | list[JSONSchemaProps]",
    f"{_EXTENSIONS}JSONSchemaPropsOrBool": "JSONSchemaProps | bool",
    f"{_EXTENSIONS}JSONSchemaPropsOrStringArray": "JSONSchemaProps | list[str]",
}
# Go encodes an unset time as null, even in a required field.
_NULLABLE: Final = frozenset({f"{_META}Time", f"{_META}MicroTime"})

_SCALARS: Final = {
    ("string", None): "str",
    ("string", "byte"): "bytes",
    ("integer", "int32"): "int",
    ("integer", "int64"): "int",
    ("boolean", None): "bool",
    ("number", "double"): "int | float",  # a whole number stays one
}


@dataclass(frozen=True, slots=True)
class Field:
    """An attribute of a generated class. `value` is the source of its default, if it has one."""

    attribute: str
    annotation: str
    value: str | None
    required: bool

    @property
    def source(self) -> str:
        """The line in the class body."""
        return f"{self.attribute}: {self.annotation}" + (f" = {self.value}" if self.value else "")


class Types:
    """The types of one module. Collects the names to import, by module."""

    def __init__(self, document: Document, module: str) -> None:
        self._document = document
        self._module = module
        self.imports: dict[str, set[str]] = {}

    def fields(self, definition: Definition) -> list[Field]:
        """Returns the fields of a class: required ones first, otherwise in the order of the document."""
        inherited = {"apiVersion", "kind", "metadata"} if definition.kind else set()
        fields = [self._field(definition, each) for each in definition.properties if each.wire not in inherited]
        return sorted(fields, key=lambda each: not each.required)

    def use(self, name: str, module: str) -> str:
        """Records the import of a name, and returns the name."""
        if module != self._module:
            self.imports.setdefault(module, set()).add(name)
        return name

    def _field(self, definition: Definition, each: Property) -> Field:
        annotation = self.annotation(each.schema)
        attribute = attribute_name(each.wire)
        name = [] if wire_name(attribute) == each.wire else [f'name="{each.wire}"']
        always = self._always_there(definition, each)
        required = always is False or (always is None and each.required and each.reference not in _NULLABLE)
        if always:
            arguments = [*name, f"default_factory={annotation}"]
        elif required:
            arguments = name
        else:
            annotation += " | None"
            arguments = [*name, "default=None"]
        value = f"msgspec.field({', '.join(arguments)})" if arguments else None
        return Field(attribute, annotation, "None" if arguments == ["default=None"] else value, required)

    def _always_there(self, definition: Definition, each: Property) -> bool | None:
        """Returns whether a field is never None although it is optional: True with a default, False if it is required.

        Go's structs hold metadata, spec and status by value, so they are never absent there. A status with
        required fields is an exception: a new object has no status yet.
        """
        if each.reference == _OBJECT_META:
            return True
        of_a_kind = definition.kind is not None
        template = definition.property("metadata")
        of_a_template = template is not None and template.reference == _OBJECT_META
        type_ = self._document.definitions.get(each.reference)
        if type_ is None or not (of_a_kind or of_a_template) or each.wire not in ("spec", "status"):
            return None
        if type_.has_required:
            return False if each.wire == "spec" else None
        return True

    def annotation(self, schema: dict[str, Any]) -> str:
        """Returns the Python type of a property."""
        if name := reference(schema):
            return self._named(name)
        if schema["type"] == "array":
            return f"list[{self._element(schema['items'])}]"
        if schema["type"] == "object":
            return f"dict[str, {self._element(schema['additionalProperties'])}]"
        return _SCALARS[schema["type"], schema.get("format")]

    def _element(self, schema: dict[str, Any]) -> str:
        return self.annotation(schema) + (" | None" if reference(schema) in _NULLABLE else "")

    def _named(self, name: str) -> str:
        if name in _UNIONS:
            return _UNIONS[name]
        if name in _VALUES:
            return self.use(*_VALUES[name])
        definition = self._document.definitions[name]
        return self.use(definition.class_name, HAND_WRITTEN.get(name, definition.module.name))


def is_struct(definition: Definition) -> bool:
    """Whether the definition becomes a generated class."""
    return definition.name not in HAND_WRITTEN and definition.name not in _VALUES
