"""The classes that are generated: kinds, models, their fields and annotations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from kubewright.api.schema import Constraint, Shape
from kubewright.api.wire import wire_name
from kubewright.codegen._definition import KindSource, VersionSource

__all__ = ["ABSENT", "Annotation", "Field", "Kind", "Model"]

ABSENT: Final = object()
"""The default of a field that has none."""


@dataclass(eq=False, slots=True, kw_only=True)
class Annotation:
    """An annotation of the generated code. `said` is the schema that it produces, without its elements or fields."""

    text: str = ""  # "list" and "dict" have an element, "Literal" has values, a model has its class
    element: Annotation | None = None
    model: Model | None = None
    rules: list[Constraint] = field(default_factory=list)
    members: dict[str, Any] = field(default_factory=dict)  # for a `Schema`
    optional: bool = False
    shape: Shape
    said: dict[str, Any]
    description: str | None = None  # of the field or element
    is_field: bool = False  # only a field can have a docstring


@dataclass(eq=False, slots=True, kw_only=True)
class Field:
    """An attribute of a class."""

    attribute: str
    wire: str
    annotation: Annotation
    default: Any = ABSENT

    @property
    def explicit_name(self) -> str | None:
        """The JSON name, if it does not follow from the attribute."""
        return self.wire if wire_name(self.attribute) != self.wire else None


@dataclass(eq=False, slots=True, kw_only=True)
class Model:
    """A class. `uses` are the paths of its schema, `annotations` its uses that can have a description."""

    fields: list[Field] = field(default_factory=list)
    rules: list[Constraint] = field(default_factory=list)
    members: dict[str, Any] = field(default_factory=dict)  # for a `Schema`
    uses: list[tuple[str, ...]] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)
    name: str = ""
    doc: str | None = None

    @property
    def required(self) -> list[str]:
        """The JSON names of the fields without a default."""
        return sorted(field.wire for field in self.fields if field.default is ABSENT)


@dataclass(eq=False, slots=True, kw_only=True)
class Kind(Model):
    """The class of one version of a kind: a `Resource` if it has a `spec`, else an `Object`."""

    source: KindSource
    version: VersionSource
    spec: Annotation | None = None
    status: Annotation | None = None
