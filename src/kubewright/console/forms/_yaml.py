"""Objects as YAML, by kubectl's rules. The output is deterministic and keeps the order of the object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kubewright.yaml import InvalidYAML, compose_yaml, dump_yaml, load_yaml

__all__ = ["YamlSyntaxError", "compose_nodes", "read_yaml", "write_yaml"]

_MAX_VALUES: Final = 200_000
_MAX_LENGTH: Final = 3_000_000


class YamlSyntaxError(ValueError):
    """Invalid YAML. `line` is counted from 1; 0 if unknown."""

    def __init__(self, problem: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {problem}" if line else problem)
        self.problem = problem
        self.line = line


def read_yaml(text: str) -> Any:
    """Returns the value of one document. Raises `YamlSyntaxError` with the line."""
    return _reading(lambda: load_yaml(text, max_nodes=_MAX_VALUES, max_size=_MAX_LENGTH, unique_keys=True))


def compose_nodes(text: str) -> Any:
    """Returns the nodes of one document with their positions; None if it is empty. Raises `YamlSyntaxError`."""
    return _reading(lambda: compose_yaml(text, max_nodes=_MAX_VALUES, max_size=_MAX_LENGTH))


def _reading(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except InvalidYAML as error:
        raise YamlSyntaxError(error.problem, error.line) from None


def write_yaml(value: Any) -> str:
    """Returns a JSON value as a YAML document; an empty string for an empty object."""
    return "" if value == {} else dump_yaml(value, sort_keys=False, like_kubectl=True)
