"""`Model`, the base of every typed object and of every part of one.

A model is a `msgspec.Struct` with the settings that Kubernetes needs:

- Attributes are snake_case, JSON names are camelCase: `deployment_name` is `deploymentName`. A trailing underscore
  avoids Python's keywords: `from_` is `from`. `msgspec.field(name="podIP")` sets the JSON name where it differs.
  `class Settings(Model, rename=str)` keeps all names of the class and its subclasses as they are in Python.
- Constructors take keyword arguments only.
- `None` means absent. Every other value is sent, even 0, "", an empty list, or the default. (Go's omitempty and
  msgspec's `omit_defaults` drop such values.)
- Unknown JSON fields do not fail. The model does not keep them, but an `update` does not drop them either (see
  `kubewright.client`).
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform, get_origin

import msgspec

from kubewright.structs import ExplainingStructMeta

__all__ = ["Default", "Model", "fields_of", "wire_name"]


@cache
def wire_name(attribute: str) -> str:
    """Returns the JSON name of a Python attribute: `match_labels` is `matchLabels`, `from_` is `from`."""
    first, *rest = attribute.rstrip("_").split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


@cache  # msgspec evaluates annotations in each call; this grows with the models that are used, not with the objects
def fields_of(model: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Returns the fields of a model with resolved annotations. Raises NameError for a class that does not exist yet."""
    return msgspec.structs.fields(model)


_DUPLICATE = "Multiple fields rename to the same name"  # the first words of msgspec's message

_MUTABLE = (list, dict, set, msgspec.Struct)


class Default:
    """A default that is always sent.

    msgspec omits a field whose value is identical to its default, but never one with a default factory. `value` is for
    code that generates a schema from the model.
    """

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __call__(self) -> object:
        """Returns a private copy of the default."""
        return copy.deepcopy(self.value) if isinstance(self.value, _MUTABLE) else self.value

    def __repr__(self) -> str:
        return f"Default({self.value!r})"


class _Factory:
    """Wraps a default factory such as `list`, so that msgspec does not omit the empty value."""

    __slots__ = ("factory",)

    def __init__(self, factory: Any) -> None:
        self.factory = factory

    def __call__(self) -> object:
        return self.factory()


_FieldType = type(msgspec.field())


def _always_sent(default: object) -> object:
    """Returns the default in a form that msgspec does not omit when encoding."""
    if default is None:
        return default
    if isinstance(default, _FieldType):
        given: Any = default
        if given.default_factory in (list, dict, set):
            return msgspec.field(default_factory=_Factory(given.default_factory), name=given.name)
        if given.default is None or given.default is msgspec.NODEFAULT:
            return default
        return msgspec.field(default_factory=Default(given.default), name=given.name)
    return msgspec.field(default_factory=Default(default))


class ModelType(ExplainingStructMeta):
    """The metaclass of `Model`. `omit_empty=True` is for metadata: for the server, empty values are absent there."""

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], *, omit_empty: bool = False, **config: Any
    ) -> ModelType:
        """Creates the class with keyword-only fields, and with defaults that are always sent."""
        config.setdefault("kw_only", True)  # msgspec does not inherit it
        if not omit_empty:
            for attribute in _fields_with_default(namespace):
                namespace[attribute] = _always_sent(namespace[attribute])
        try:
            made: ModelType = super().__new__(mcls, name, bases, namespace, **config)
        except ValueError as error:
            if str(error).startswith(_DUPLICATE) and (found := mcls._duplicate(name, bases, namespace, config)):
                hint = "rename one, or give it another JSON name with msgspec.field(name=...)"
                raise ValueError(f"{name}: {found}: {hint}") from None
            raise
        return made

    @classmethod
    def _duplicate(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], config: dict[str, Any]
    ) -> str | None:
        """Describes two fields with one JSON name. A class with only one of the fields shows its JSON name.

        Returns None if a base class accepts no such class. msgspec's own message is raised then.
        """
        taken: dict[str, str] = {}
        for field, hint in _annotations_of(namespace).items():
            if _is_class_variable(hint):
                continue
            body = {key: namespace[key] for key in ("__orig_bases__", field) if key in namespace}
            try:
                alone = super().__new__(cls, name, bases, {"__annotations__": {field: Any}, **body}, **config)
            except Exception as error:
                if isinstance(error, ValueError) and str(error).startswith(_DUPLICATE):
                    return f"the field {field!r} has the same JSON name as an inherited field"
                return None
            wire = dict(zip(alone.__struct_fields__, alone.__struct_encode_fields__, strict=True)).get(field, "")
            if wire and (other := taken.setdefault(wire, field)) != field:
                return f"the fields {other!r} and {field!r} have the same JSON name {wire!r}"
        return None


def _fields_with_default(namespace: dict[str, Any]) -> list[str]:
    """Returns the annotated attributes of a class body that have a value, without class variables."""
    hints = _annotations_of(namespace)
    return [name for name, hint in hints.items() if name in namespace and not _is_class_variable(hint)]


def _annotations_of(namespace: dict[str, Any]) -> dict[str, Any]:
    annotations = namespace.get("__annotations__")
    if annotations is None and sys.version_info >= (3, 14):  # annotations are evaluated lazily there
        import annotationlib

        annotate = annotationlib.get_annotate_from_class_namespace(namespace)
        if annotate is not None:
            annotations = annotationlib.call_annotate_function(annotate, annotationlib.Format.FORWARDREF)
    return annotations or {}


def _is_class_variable(hint: object) -> bool:
    if isinstance(hint, str):
        return hint.startswith(("ClassVar", "typing.ClassVar"))
    return hint is ClassVar or get_origin(hint) is ClassVar


if TYPE_CHECKING:

    @dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
    class Model(msgspec.Struct):
        """The base of every typed object and of every part of one. See the module's documentation."""

        def __init_subclass__(
            cls,
            *,
            omit_empty: bool = False,
            dict: bool = False,  # noqa: A002
            gc: bool = False,
            rename: Callable[[str], str] | None = None,
            tag: str | None = None,
            tag_field: str | None = None,
        ) -> None: ...

else:

    class Model(
        msgspec.Struct,
        metaclass=ModelType,
        omit_defaults=True,
        repr_omit_defaults=True,
        rename=wire_name,
        gc=False,  # objects are trees; garbage collection would take a third of the time of a long list
    ):
        """The base of every typed object and of every part of one. See the module's documentation."""
