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
    """A type as it will be written. `said` is the schema that it makes, without what stands below."""

    text: str = ""  # a "list" and a "dict" have an element, a "Literal" has values, a model its class
    element: Annotation | None = None
    model: Model | None = None
    rules: list[Constraint] = field(default_factory=list)
    members: dict[str, Any] = field(default_factory=dict)  # what only a `Schema` can say
    optional: bool = False
    shape: Shape
    said: dict[str, Any]
    description: str | None = None  # that the place is to have
    is_field: bool = False  # so that a text can stand below it


@dataclass(eq=False, slots=True, kw_only=True)
class Field:
    """An attribute of a class."""

    attribute: str
    wire: str
    annotation: Annotation
    default: Any = ABSENT

    @property
    def explicit_name(self) -> str | None:
        """The name on the wire, where it does not follow from the attribute."""
        return self.wire if wire_name(self.attribute) != self.wire else None


@dataclass(eq=False, slots=True, kw_only=True)
class Model:
    """A class. `uses` are the paths of all places that have this very schema, `places` those that may be described."""

    fields: list[Field] = field(default_factory=list)
    rules: list[Constraint] = field(default_factory=list)
    members: dict[str, Any] = field(default_factory=dict)  # what only a `Schema` can say
    uses: list[tuple[str, ...]] = field(default_factory=list)
    places: list[Annotation] = field(default_factory=list)
    name: str = ""
    doc: str | None = None

    @property
    def required(self) -> list[str]:
        """The names on the wire of the fields without a default."""
        return sorted(field.wire for field in self.fields if field.default is ABSENT)


@dataclass(eq=False, slots=True, kw_only=True)
class Kind(Model):
    """The class of a version of a kind. With a `spec` it is a `Resource`, else a plain `Object`."""

    source: KindSource
    version: VersionSource
    spec: Annotation | None = None
    status: Annotation | None = None
