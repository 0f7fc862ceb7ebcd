"""Objects as YAML, by kubectl's rules. The output is deterministic and keeps the order of the object."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, Final

from kubewright.yaml import InvalidYAML, compose_yaml, load_yaml, plain_value

__all__ = ["YamlSyntaxError", "compose_nodes", "read_yaml", "write_yaml"]

_MOST_VALUES: Final = 200_000
_LONGEST: Final = 3_000_000
_SLOWLY: Final = 100_000
"""Characters. Longer documents do not use the slower dumper, because it blocks the event loop."""
_TAG: Final = "tag:yaml.org,2002:"


class YamlSyntaxError(ValueError):
    """Invalid YAML. `line` is counted from 1; 0 if unknown."""

    def __init__(self, problem: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {problem}" if line else problem)
        self.problem = problem
        self.line = line


def read_yaml(text: str) -> Any:
    """Returns the value of one document. Raises `YamlSyntaxError` with the line."""
    return _reading(lambda: load_yaml(text, max_nodes=_MOST_VALUES, max_size=_LONGEST, unique_keys=True))


def compose_nodes(text: str) -> Any:
    """Returns the nodes of one document with their positions; None if it is empty. Raises `YamlSyntaxError`."""
    return _reading(lambda: compose_yaml(text, max_nodes=_MOST_VALUES, max_size=_LONGEST))


def _reading(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except InvalidYAML as error:
        raise YamlSyntaxError(error.problem, error.line) from None


def write_yaml(value: Any) -> str:
    """Returns a JSON value as a YAML document; an empty string for an empty object."""
    import yaml

    if value == {}:
        return ""

    def dumped(dumper: Any) -> str:
        text: str = yaml.dump(
            value, Dumper=dumper, default_flow_style=False, allow_unicode=True, width=10_000, sort_keys=False
        )
        return text.removesuffix("...\n")

    text = dumped(_dumper("CSafeDumper"))
    if "\\U" not in text or len(text) > _SLOWLY:
        return text
    # libyaml escapes characters beyond the Basic Multilingual Plane, such as emoji. PyYAML's own dumper does not, but
    # it is slow and mishandles some rare characters, so its output is verified.
    readable = dumped(_dumper("SafeDumper"))
    with suppress(YamlSyntaxError):
        return readable if read_yaml(readable) == value else text
    return text


@cache
def _dumper(name: str) -> Any:
    import yaml

    base: Any = getattr(yaml, name, yaml.SafeDumper)
    dumper: Any = type("Dumper", (base,), {"ignore_aliases": lambda *_: True})
    dumper.add_representer(str, _text)
    return dumper


def _text(dumper: Any, text: str) -> Any:
    lines = "\n" in text and not any(line != line.rstrip() for line in text.split("\n")) and not text.startswith(" ")
    looks_odd = text in ("<<", "=") or not isinstance(plain_value(text), str)
    return dumper.represent_scalar(f"{_TAG}str", text, style="|" if lines else '"' if looks_odd else None)
