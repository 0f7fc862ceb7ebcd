"""Objects from YAML documents, and as YAML documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from kubewright.api._codec import DecodeError, from_dict, to_dict
from kubewright.api._object import Object, info_of
from kubewright.api._untyped import Untyped
from kubewright.yaml import InvalidYAML, dump_yaml, load_yaml

__all__ = ["from_yaml", "to_yaml"]

T = TypeVar("T")


def from_yaml(type_: type[T], text: str | bytes) -> T:
    """Returns the object in one YAML document, by JSON names. It does not count as read from a server.

    Raises `DecodeError` for invalid YAML, for a document that does not fit the type, and for another kind.
    """
    try:
        content = load_yaml(text)
    except InvalidYAML as error:
        raise DecodeError(type_.__name__, "", f"not one YAML document ({error})") from None
    if content is None:
        raise DecodeError(type_.__name__, "", "the document is empty")
    if issubclass(type_, Object) and not issubclass(type_, Untyped) and isinstance(content, dict):
        info = info_of(type_)
        api_version, kind = content.get("apiVersion", info.api_version), content.get("kind", info.kind)
        if (api_version, kind) != (info.api_version, info.kind):
            raise DecodeError(type_.__name__, "", f"this is a {kind} of {api_version}, not a {info}")
    return from_dict(type_, content)


def to_yaml(*objects: Object | Mapping[str, Any]) -> str:
    """Returns objects as YAML documents for `kubectl apply`: keys sorted, without status."""
    return dump_yaml(*map(_content, objects))


def _content(obj: Object | Mapping[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = dict(obj) if isinstance(obj, Mapping) else to_dict(obj)
    content.pop("status", None)
    return content
