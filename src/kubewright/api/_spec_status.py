"""`Resource[Spec, Status]`: a kind with a spec and a status, each of which can be absent in JSON."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, ModuleType, NoneType, UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, Union, cast, get_args, get_origin

import msgspec

from kubewright.api._model import Model, fields_of
from kubewright.api._object import Object, info_of
from kubewright.api._pydantic import is_pydantic, required_of, wire_of

__all__ = ["Resource", "bind_spec_and_status", "is_model", "model_in", "new_status", "requires_spec", "status_names"]

SpecT = TypeVar("SpecT")
StatusT = TypeVar("StatusT")


class _Absent:
    """A placeholder for an absent spec or status, until `__post_init__` replaces it."""


_ABSENT = _Absent()

_NO_TYPES = (msgspec.Struct, str, bytes, int, float, list, tuple, dict, set, FunctionType, ModuleType, type(...))
"""Types of values that are passed in place of a class, such as the instance `FooSpec()`."""


class Resource(Object, Generic[SpecT, StatusT]):
    """A kind with a spec and a status.

    An absent spec or status decodes to an empty model, if the model has no required fields. A status is absent until a
    controller writes it, so all its fields need defaults, or it is declared with `| None`. A status can also be a plain
    value: `Resource[FooSpec, str | None]`. `Resource[FooSpec, None]` has no status.
    """

    __empty_spec__: ClassVar[Callable[[], Any]]
    __empty_status__: ClassVar[Callable[[], Any]]

    if TYPE_CHECKING:
        spec: SpecT
        status: StatusT = msgspec.field(default=cast("StatusT", None))
    else:
        spec: SpecT = msgspec.field(default_factory=lambda: _ABSENT)
        status: StatusT = msgspec.field(default_factory=lambda: _ABSENT)

        def __class_getitem__(cls, given: Any) -> Any:
            if cls is Resource:
                _check_parameters(given if isinstance(given, tuple) else (given,))
            return super().__class_getitem__(given)

    def __post_init__(self) -> None:
        if not hasattr(type(self), "__resource__"):
            info_of(type(self))  # raises, with the fix
        spec: object = self.spec
        if spec is _ABSENT:
            self.spec = type(self).__empty_spec__()
        status: object = self.status
        if status is _ABSENT:
            self.status = type(self).__empty_status__()


def _check_parameters(given: tuple[Any, ...]) -> None:
    """Checks the parameters of `Resource[Spec, Status]`. Types that a CRD cannot have are rejected with the CRD."""
    shown = ", ".join(map(_shown, given))
    if len(given) != 2:
        raise TypeError(
            f"Resource[{shown}] must have two parameters, a spec and a status: Resource[FooSpec, FooStatus], or"
            " Resource[FooSpec, None] without a status"
        )
    for field, one in zip(("spec", "status"), given, strict=True):
        if isinstance(one, _NO_TYPES):
            raise TypeError(
                f"Resource[{shown}]: the {field} must be a class, such as FooS{field[1:]}(kw.Model), not {_shown(one)}"
            )


def _shown(given: Any) -> str:
    """Returns a parameter for a message, without the content of a value, which may hold secrets."""
    if isinstance(given, str | int | float) or given is None:
        return repr(given)
    return getattr(given, "__name__", None) or f"{type(given).__name__}(...)"


def requires_spec(kind: type[Resource[Any, Any]]) -> bool:
    """Whether an object of the kind must have a spec, because an empty one would lack required fields."""
    spec = next(field.type for field in fields_of(kind) if field.name == "spec")
    return not _allows_none(spec) and not (is_model(spec) and not _required_fields(spec))


def new_status(kind: type[Object]) -> Any:
    """Returns an empty status for an object of the kind; None if the kind has no status model.

    Raises TypeError if the status model has required fields.
    """
    if not issubclass(kind, Resource):
        return None
    declared = next(field.type for field in fields_of(kind) if field.name == "status")
    model = model_in(declared)
    if model is None:
        return None
    if required := _required_fields(model):
        these = ", ".join(required)
        raise TypeError(f"{kind.__name__} has no status yet, and {model.__name__} requires {these}: write it first")
    return model()


def status_names(kind: type[Object]) -> dict[str, str] | None:
    """Returns the JSON names of the fields of a kind's status, by Python name.

    Returns None if the status has no model: for untyped kinds, and for a status that is a plain value.
    """
    declared = next((field.type for field in fields_of(kind) if field.name == "status"), None)
    model = model_in(declared)
    if model is None:
        return None
    if is_pydantic(model):
        return {name: wire_of(name, field) for name, field in model.model_fields.items()}
    return dict(zip(model.__struct_fields__, model.__struct_encode_fields__, strict=True))


def bind_spec_and_status(cls: type[Resource[Any, Any]]) -> Any:
    """Stores the type arguments of `Resource[Spec, Status]` on the class, and returns the status type."""
    for base in cls.__mro__:
        for parametrized in getattr(base, "__orig_bases__", ()):
            if get_origin(parametrized) is Resource:
                spec, status = get_args(parametrized)
                _check_status(cls.__name__, status)
                cls.__empty_spec__ = staticmethod(_empty("spec", spec))
                cls.__empty_status__ = staticmethod(_empty("status", status))
                return status
    raise TypeError(f"{cls.__name__} must declare its spec and status: class {cls.__name__}(Resource[Spec, Status])")


def _check_status(kind: str, status: Any) -> None:
    if _allows_none(status):
        return
    if not is_model(status):
        if isinstance(status, type) and getattr(status, "__annotations__", None):  # such as a dataclass
            raise TypeError(f"the status of {kind} must be a model: class {status.__name__}(kw.Model)")
        raise TypeError(f"the status of {kind} is absent until a controller writes it: declare it with | None")
    if required := _required_fields(status):
        name = status.__name__
        raise TypeError(
            f"the status of {kind} is absent until a controller writes it, but {name} requires {', '.join(required)}:"
            f" give them defaults, or declare Resource[..., {name} | None]"
        )


def _empty(field: str, type_: Any) -> Callable[[], Any]:
    """Returns a factory for an absent spec or status. Its error is worded like msgspec's decoding errors."""
    if _allows_none(type_):
        return lambda: None
    if is_model(type_) and not _required_fields(type_):
        made: Callable[[], Any] = type_
        return made

    def missing() -> Any:
        raise TypeError(f"Object missing required field `{field}`")

    return missing


def model_in(type_: Any) -> type[Any] | None:
    """Returns the model of a spec or status, also of `FooStatus | None`; None if it is not a model."""
    if is_model(type_):
        model: type[Any] = type_
        return model
    parts = get_args(type_) if get_origin(type_) in (Union, UnionType) else ()
    models = [part for part in parts if part is not NoneType]
    return models[0] if len(models) == 1 and is_model(models[0]) else None


def is_model(type_: Any) -> bool:
    """Whether a type is a `Model` or a pydantic model."""
    return (isinstance(type_, type) and issubclass(type_, Model)) or is_pydantic(type_)


def _allows_none(type_: Any) -> bool:
    return type_ in (None, NoneType, Any) or (get_origin(type_) in (Union, UnionType) and NoneType in get_args(type_))


def _required_fields(model: type[Any]) -> list[str]:
    if is_pydantic(model):
        return required_of(model)
    # msgspec.structs.fields would resolve annotations, which can name classes that do not exist yet.
    defaults = model.__struct_defaults__
    names = model.__struct_fields__
    return [
        name
        for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True)
        if default is msgspec.NODEFAULT
    ] + list(names[: len(names) - len(defaults)])
