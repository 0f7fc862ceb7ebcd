"""pydantic models as the spec or status of a kind, or anywhere inside one.

    class FooSpec(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(alias_generator=to_camel, populate_by_name=True)
        replicas: int = pydantic.Field(default=1, ge=0, le=10)

    @kw.resource("example.com/v1")
    class Foo(kw.Resource[FooSpec, None]): ...

JSON names are the model's aliases. Its JSON schema becomes the structural schema of the definition. Its annotations can
also have Kubewright's constraints (`kw.ListType`, `kw.Rule`, ...). pydantic validates when it decodes: unlike with a
`Model`, an object that was stored before a constraint existed does not decode.

pydantic is imported only by programs that import it themselves.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeGuard, Union, get_args, get_origin

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = [
    "check_readable",
    "decode_pydantic",
    "encode_pydantic",
    "is_pydantic",
    "members_of",
    "required_of",
    "unwrapped",
    "wire_of",
    "without_null",
]


def is_pydantic(type_: object) -> TypeGuard[type[BaseModel]]:
    """Whether this is the class of a pydantic model."""
    pydantic = sys.modules.get("pydantic")  # not imported: there is no pydantic model
    return pydantic is not None and isinstance(type_, type) and issubclass(type_, pydantic.BaseModel)


def decode_pydantic(model: type[BaseModel], value: object) -> BaseModel:
    """Returns the model with this content. Raises ValueError, which names the field by its JSON name."""
    from pydantic import ValidationError

    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"])
        raise ValueError(f"{path.removeprefix('.')}: {first['msg']}" if path else first["msg"]) from None


def encode_pydantic(value: BaseModel) -> dict[str, Any]:
    """Returns the content of a model, with JSON names. As in a `Model`, None is absent unless the field is required."""
    content: dict[str, Any] = value.model_dump(mode="json", by_alias=True)
    _drop_absent(value, content)
    return content


def _drop_absent(value: Any, content: Any) -> None:
    """Removes optional fields that are None, in nested models too."""
    if is_pydantic(type(value)) and isinstance(content, dict):
        for name, field in type(value).model_fields.items():
            wire = field.serialization_alias or name
            inner = getattr(value, name, None)
            if inner is None and not field.is_required() and content.get(wire) is None:
                content.pop(wire, None)
            else:
                _drop_absent(inner, content.get(wire))
    elif isinstance(value, list | tuple) and isinstance(content, list):
        for each, written in zip(value, content, strict=False):
            _drop_absent(each, written)
    elif isinstance(value, dict) and isinstance(content, dict):
        for each, written in zip(value.values(), content.values(), strict=False):
            _drop_absent(each, written)


def required_of(model: type[BaseModel]) -> list[str]:
    """Returns the fields of a model that have no default."""
    return [name for name, field in model.model_fields.items() if field.is_required()]


def members_of(model: type[BaseModel]) -> dict[str, Any]:
    """Returns the annotations of a model by JSON name, with their constraints."""
    members: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        hint: Any = field.annotation
        if field.metadata:
            hint = Annotated[(hint, *field.metadata)]
        members[wire_of(name, field)] = hint
    return members


def wire_of(name: str, field: Any) -> str:
    """Returns the JSON name of a model's field."""
    alias = field.validation_alias if isinstance(field.validation_alias, str) else field.alias
    return alias or name


def check_readable(hint: Any, where: str) -> None:
    """Raises TypeError for a model that cannot read, or not write back, what a server sends."""
    for found in _models_in(hint, set()):
        if found.model_config.get("extra") == "forbid":
            raise TypeError(
                f'{where}: {found.__name__} has extra="forbid", so an object with a field of a newer version cannot be'
                ' read; use extra="ignore", and an update keeps such fields'
            )
        for name, field in found.model_fields.items():
            if (field.serialization_alias or name) != wire_of(name, field) or (
                field.validation_alias is not None and not isinstance(field.validation_alias, str)
            ):
                raise TypeError(
                    f"{where}: {found.__name__}.{name} is read and written by different names; it needs one JSON name"
                )


def _models_in(hint: Any, seen: set[Any]) -> Iterator[type[BaseModel]]:
    if is_pydantic(hint):
        if hint not in seen:
            seen.add(hint)
            yield hint
            for member in hint.model_fields.values():
                yield from _models_in(member.annotation, seen)
    else:
        for argument in get_args(hint):
            yield from _models_in(argument, seen)


def unwrapped(hint: Any) -> tuple[Any, list[Any]]:
    """Returns the type without None and annotations, and the annotations."""
    metadata: list[Any] = []
    while True:
        if get_origin(hint) is Annotated:
            hint, *found = get_args(hint)
            metadata += found
        elif get_origin(hint) in (Union, UnionType):
            others = [argument for argument in get_args(hint) if argument is not NoneType]
            if len(others) != 1:
                return hint, metadata
            hint = others[0]
        else:
            return hint, metadata


_NULL: Final[Mapping[str, str]] = {"type": "null"}


def without_null(node: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Returns a JSON schema without the alternative null, and whether it had one."""
    branches = node.get("anyOf")
    if not branches or _NULL not in branches:
        return dict(node), False
    others = [branch for branch in branches if branch != _NULL]
    beside = {name: value for name, value in node.items() if name != "anyOf"}
    return (dict(others[0]) | beside if len(others) == 1 else beside | {"anyOf": others}), True
