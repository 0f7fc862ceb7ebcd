"""Objects as YAML, the same text each time and everywhere.

Written here and not by PyYAML, for two reasons: its Python writer needs 0.3 s for the schema of a pod template, and its
C writer, which is not on every machine, breaks lines at other places. What is written is small: mappings and lists in
blocks, texts plain where that is safe, as blocks where they have several lines, quoted otherwise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from kubewright.api import Object, to_dict

__all__ = ["to_yaml"]

# A plain text begins with something that has no meaning in YAML, and cannot be taken for a number or a date.
_PLAIN: Final = re.compile(r"[A-Za-z_/(]|\.(?![0-9])")
_UNSAFE: Final = re.compile(r": | #|:$|^\s|\s$")
# Also what only some readers take for something else: Go's library takes `y` in a key for true.
_WORDS: Final = frozenset(["y", "yes", "n", "no", "true", "false", "on", "off", "null", ".inf", ".nan", "nan", "inf"])


def to_yaml(*objects: Object | Mapping[str, Any]) -> str:
    """The objects as YAML documents that `kubectl apply` takes: members sorted, without status."""
    lines: list[str] = []
    for number, obj in enumerate(objects):
        if number:
            lines.append("---")
        _add_block(lines, _content(obj), "")
    return "\n".join([*lines, ""])


def _content(obj: Object | Mapping[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = dict(obj) if isinstance(obj, Mapping) else to_dict(obj)
    content.pop("status", None)
    return content


def _add_block(lines: list[str], value: Any, indent: str) -> None:
    """Add the lines of a mapping or a list."""
    if not value:
        lines.append(f"{indent}{'{}' if isinstance(value, Mapping) else '[]'}")
    elif isinstance(value, Mapping):
        for name in sorted(value):
            _add_member(lines, f"{indent}{_quoted(name)}:", value[name], indent)
    else:
        inside = f"{indent}  "
        for element in value:
            if _is_block(element):
                # The first line of what is inside stands behind the dash.
                first = len(lines)
                _add_block(lines, element, inside)
                lines[first] = f"{indent}- {lines[first][len(inside) :]}"
            else:
                _add_scalar(lines, f"{indent}-", element, inside)


def _add_member(lines: list[str], name: str, value: Any, indent: str) -> None:
    if _is_block(value):
        lines.append(name)
        _add_block(lines, value, indent if isinstance(value, list | tuple) else f"{indent}  ")
    else:
        _add_scalar(lines, name, value, f"{indent}  ")


def _is_block(value: Any) -> bool:
    return isinstance(value, Mapping | list | tuple) and bool(value)


def _add_scalar(lines: list[str], before: str, value: Any, indent: str) -> None:
    if isinstance(value, str) and "\n" in value and _fits_block(value):
        lines.append(f"{before} {'|' if value.endswith(chr(10)) else '|-'}")
        lines += [f"{indent}{line}" if line else "" for line in value.removesuffix("\n").split("\n")]
    else:
        lines.append(f"{before} {_scalar(value)}")


def _fits_block(text: str) -> bool:
    lines = text.removesuffix("\n").split("\n")
    return (
        bool(lines[0])
        and not lines[0].startswith(" ")
        and bool(lines[-1].strip())
        and all(line.isprintable() and (not line or bool(line.strip())) for line in lines)
    )


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} has no place in a Kubernetes object")
        mantissa, e, exponent = repr(value).partition("e")
        return f"{mantissa if '.' in mantissa else f'{mantissa}.0'}{e}{exponent}"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping | list | tuple):
        return "{}" if isinstance(value, Mapping) else "[]"
    raise TypeError(f"{value!r} has no place in a Kubernetes object")


def _quoted(text: str) -> str:
    """A text in one line, with quotes where it would be taken for something else."""
    if not text.isprintable():
        return '"' + "".join(_escaped(character) for character in text) + '"'
    if _PLAIN.match(text) and not _UNSAFE.search(text) and text.lower() not in _WORDS:
        return text
    return "'" + text.replace("'", "''") + "'"


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    return {"\n": "\\n", "\t": "\\t"}.get(character) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )
