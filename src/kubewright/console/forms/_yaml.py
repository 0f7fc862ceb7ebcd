"""Objects as YAML and back, as kubectl reads it: the same text each time, in the order of the object."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from typing import Any, Final

__all__ = ["NotYaml", "compose_yaml", "read_yaml", "write_yaml"]

_MOST_VALUES: Final = 200_000
_LONGEST: Final = 3_000_000
_SLOWLY: Final = 100_000
"""Letters: more are not written by the slower dumper, since everybody else waits for it."""
_INTEGER: Final = re.compile(r"[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)")
_FLOAT: Final = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.nan"
)
_TAG: Final = "tag:yaml.org,2002:"


class NotYaml(ValueError):
    """A text that is no object. `line` is where, counted from 1; 0 when it cannot be said."""

    def __init__(self, problem: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {problem}" if line else problem)
        self.problem = problem
        self.line = line


def read_yaml(text: str) -> Any:
    """The value of one document. Raises `NotYaml`, with the line."""
    node = compose_yaml(text)
    try:
        return None if node is None else _value(node, [_MOST_VALUES])
    except RecursionError:
        raise NotYaml("this is nested too deeply") from None


def compose_yaml(text: str) -> Any:
    """The nodes of one document, with their places in the text; None when it is empty. Raises `NotYaml`."""
    import yaml

    if len(text) > _LONGEST:
        raise NotYaml("the text is larger than an object can be")
    try:
        return yaml.compose(text, _loader())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise NotYaml(error.problem or "this is no YAML", mark.line + 1 if mark else 0) from None
    except yaml.YAMLError as error:
        raise NotYaml(str(error).splitlines()[0]) from None
    except RecursionError:
        raise NotYaml("this is nested too deeply") from None


def write_yaml(value: Any) -> str:
    """A JSON value as a document. An empty text for an empty object."""
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
    # libyaml escapes what is beyond 16 bits, such as emoji. The dumper in Python does not, but is slow, and errs about
    # letters that hardly anybody uses: what it has written is read again.
    readable = dumped(_dumper("SafeDumper"))
    with suppress(NotYaml):
        return readable if read_yaml(readable) == value else text
    return text


def _value(node: Any, left: list[int]) -> Any:
    import yaml

    left[0] -= 1
    if left[0] < 0:
        raise NotYaml("the document is too large once its anchors are unfolded", node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, left) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        made: dict[str, Any] = {}
        for name, item in node.value:
            if not isinstance(name, yaml.ScalarNode):
                raise NotYaml("the name of a field must be a text", name.start_mark.line + 1)
            if name.value in made:
                raise NotYaml(f"{name.value} stands here twice", name.start_mark.line + 1)
            made[name.value] = _value(item, left)
        return made
    return _scalar(node)


def _scalar(node: Any) -> Any:
    kind, text = node.tag.removeprefix(_TAG), node.value
    try:
        if kind in ("str", "binary", "timestamp", "value", "merge"):
            return text
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() in ("true", "yes", "on", "y")
        if kind == "int":
            plain = text.replace("_", "")
            digits = plain.lstrip("+-")
            legacy = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
            return int(plain, 8) if legacy else int(plain, 0)
        if kind == "float":
            number = float(text.replace("_", ""))
            if number - number != 0:
                raise NotYaml("JSON has no such number", node.start_mark.line + 1)
            return number
    except ValueError as error:
        if isinstance(error, NotYaml):
            raise
        raise NotYaml(f"{text} is no {kind}", node.start_mark.line + 1) from None
    raise NotYaml(f"{node.tag} is not allowed here", node.start_mark.line + 1)


@cache
def _loader() -> Any:
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader: Any = type("Loader", (base,), {"yaml_implicit_resolvers": {}})
    # As Go's library reads it: no times, no numbers to the base of 60, and 1e3 is a number.
    for kind in ("bool", "null"):
        for first, found in base.yaml_implicit_resolvers.items():
            for tag, pattern in found:
                if tag == _TAG + kind:
                    loader.yaml_implicit_resolvers.setdefault(first, []).append((tag, pattern))
    for kind, pattern in (("int", _INTEGER), ("float", _FLOAT)):
        whole = re.compile(f"(?:{pattern.pattern})$")
        for first in "-+0123456789.":
            loader.yaml_implicit_resolvers.setdefault(first, []).append((_TAG + kind, whole))
    return loader


@cache
def _dumper(name: str) -> Any:
    import yaml

    base: Any = getattr(yaml, name, yaml.SafeDumper)
    dumper: Any = type("Dumper", (base,), {"ignore_aliases": lambda *_: True})
    dumper.add_representer(str, _text)
    return dumper


def _text(dumper: Any, text: str) -> Any:
    lines = "\n" in text and not any(line != line.rstrip() for line in text.split("\n")) and not text.startswith(" ")
    looks_odd = _INTEGER.fullmatch(text) or _FLOAT.fullmatch(text) or text.lower() in ("y", "n", "<<", "=")
    return dumper.represent_scalar(f"{_TAG}str", text, style="|" if lines else '"' if looks_odd else None)
