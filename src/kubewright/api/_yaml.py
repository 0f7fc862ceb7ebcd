"""YAML as the API reads it: a document that could as well be JSON."""

from __future__ import annotations

from functools import cache
from typing import Any, Final, TypeVar

from kubewright.api._codec import DecodeError, from_dict
from kubewright.api._object import Object, info_of
from kubewright.api._untyped import Untyped

__all__ = ["InvalidYaml", "duplicate_keys", "from_yaml", "load_yaml"]

T = TypeVar("T")

_MOST_VALUES: Final = 1_000_000


class InvalidYaml(ValueError):
    """The document cannot be read, or is no JSON."""


def from_yaml(type_: type[T], text: str | bytes) -> T:
    """The object in one YAML document, by the names on the wire. It does not count as read from a server.

    Raises `DecodeError` for what is no YAML, does not fit, or is an object of another kind.
    """
    try:
        content = load_yaml(text)
    except InvalidYaml as error:
        raise DecodeError(type_.__name__, "", f"this is not one YAML document ({error})") from None
    if content is None:
        raise DecodeError(type_.__name__, "", "there is nothing in this document")
    if issubclass(type_, Object) and not issubclass(type_, Untyped) and isinstance(content, dict):
        info = info_of(type_)
        api_version, kind = content.get("apiVersion", info.api_version), content.get("kind", info.kind)
        if (api_version, kind) != (info.api_version, info.kind):
            raise DecodeError(type_.__name__, "", f"this is a {kind} of {api_version}, not a {info}")
    return from_dict(type_, content)


def load_yaml(text: str | bytes) -> Any:
    """The value of one document. Times stay texts, and names of fields become texts, as in JSON.

    Anchors that unfold into more than any object could hold are refused: the document is short, its value is not.
    """
    import yaml

    try:
        value = yaml.load(text, _loader())  # noqa: S506  (a safe loader)
    except yaml.YAMLError as error:
        raise InvalidYaml(str(error)) from None
    left = [_MOST_VALUES]
    return _as_json(value, left)


def duplicate_keys(text: bytes) -> list[str]:
    """The names that stand twice in a map of the document, in the words of Go's library. The document is a good one."""
    import yaml

    found: list[str] = []

    def look(node: Any) -> None:
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for name, value in node.value:
                if name.value in seen:
                    found.append(f'line {name.start_mark.line + 1}: key "{name.value}" already set in map')
                seen.add(name.value)
                look(value)
        elif isinstance(node, yaml.SequenceNode):
            for item in node.value:
                look(item)

    look(yaml.compose(text, _loader()))
    return found


@cache
def _loader() -> Any:
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    resolvers = {
        first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
        for first, found in base.yaml_implicit_resolvers.items()
    }
    return type("Loader", (base,), {"yaml_implicit_resolvers": resolvers})


def _as_json(value: Any, left: list[int]) -> Any:
    left[0] -= 1
    if left[0] < 0:
        raise InvalidYaml("the document is too large once its anchors are unfolded")
    if isinstance(value, dict):
        return {_name(name): _as_json(item, left) for name, item in value.items()}
    if isinstance(value, list):
        return [_as_json(item, left) for item in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise InvalidYaml(f"a value of type {type(value).__name__} is not allowed")


def _name(name: Any) -> str:
    if isinstance(name, bool):
        return str(name).lower()
    if isinstance(name, str | int | float):
        return str(name)
    raise InvalidYaml("the name of a field must be a text")
