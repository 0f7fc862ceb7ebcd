"""Objects from YAML documents."""

from __future__ import annotations

from typing import TypeVar

from kubewright.api._codec import DecodeError, from_dict
from kubewright.api._object import Object, info_of
from kubewright.api._untyped import Untyped
from kubewright.yaml import InvalidYAML, load_yaml

__all__ = ["from_yaml"]

T = TypeVar("T")


def from_yaml(type_: type[T], text: str | bytes) -> T:
    """The object in one YAML document, by the names on the wire. It does not count as read from a server.

    Raises `DecodeError` for what is no YAML, does not fit, or is an object of another kind.
    """
    try:
        content = load_yaml(text)
    except InvalidYAML as error:
        raise DecodeError(type_.__name__, "", f"this is not one YAML document ({error})") from None
    if content is None:
        raise DecodeError(type_.__name__, "", "there is nothing in this document")
    if issubclass(type_, Object) and not issubclass(type_, Untyped) and isinstance(content, dict):
        info = info_of(type_)
        api_version, kind = content.get("apiVersion", info.api_version), content.get("kind", info.kind)
        if (api_version, kind) != (info.api_version, info.kind):
            raise DecodeError(type_.__name__, "", f"this is a {kind} of {api_version}, not a {info}")
    return from_dict(type_, content)
