"""Writes YAML that is the same on every machine.

PyYAML is not used, for two reasons: its Python writer needs 0.3 s for the schema of a pod template, and its C writer,
which is not installed everywhere, breaks lines at different places. Mappings and lists are written as blocks. Strings
are plain where that is safe, literal blocks if they have several lines, and quoted otherwise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

__all__ = ["dump_yaml"]

_Names: TypeAlias = Callable[[Iterable[str]], list[str]]

# A plain scalar starts with a character that YAML gives no meaning, and does not look like a number or a date.
_PLAIN: Final = re.compile(r"[A-Za-z_/(]|\.(?![0-9])")
_UNSAFE: Final = re.compile(r": | #|:$|^\s|\s$")
# Includes words that only some readers convert: Go's library reads `y` in a key as true.
_WORDS: Final = frozenset(["y", "yes", "n", "no", "true", "false", "on", "off", "null", ".inf", ".nan", "nan", "inf"])


def dump_yaml(*documents: Any, sort_keys: bool = True) -> str:
    """Returns JSON values as YAML documents, separated by `---`.

    Keys are sorted by default, so that equal values produce equal YAML. Raises ValueError for NaN and infinity, and
    TypeError for a value that JSON does not have.
    """
    names = sorted if sort_keys else list
    lines: list[str] = []
    for number, document in enumerate(documents):
        if number:
            lines.append("---")
        if isinstance(document, Mapping | list | tuple):
            _add_block(lines, document, "", names)
        else:
            lines.append(_scalar(document))
    return "\n".join([*lines, ""])


def _add_block(lines: list[str], value: Any, indent: str, names: _Names) -> None:
    """Adds the lines of a mapping or a list."""
    if not value:
        lines.append(f"{indent}{'{}' if isinstance(value, Mapping) else '[]'}")
    elif isinstance(value, Mapping):
        for name in names(value):
            _add_member(lines, f"{indent}{_quoted(name)}:", value[name], indent, names)
    else:
        inside = f"{indent}  "
        for element in value:
            if _is_block(element):
                # The first line of the element follows the dash.
                first = len(lines)
                _add_block(lines, element, inside, names)
                lines[first] = f"{indent}- {lines[first][len(inside) :]}"
            else:
                _add_scalar(lines, f"{indent}-", element, inside)


def _add_member(lines: list[str], name: str, value: Any, indent: str, names: _Names) -> None:
    if _is_block(value):
        lines.append(name)
        _add_block(lines, value, indent if isinstance(value, list | tuple) else f"{indent}  ", names)
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
            raise ValueError(f"{value} is not a JSON number and cannot be part of a Kubernetes object")
        mantissa, e, exponent = repr(value).partition("e")
        return f"{mantissa if '.' in mantissa else f'{mantissa}.0'}{e}{exponent}"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping | list | tuple):
        return "{}" if isinstance(value, Mapping) else "[]"
    raise TypeError(f"{value!r} is not a JSON value and cannot be part of a Kubernetes object")


def _quoted(text: str) -> str:
    """Returns a string on one line, quoted if it would be read as something else."""
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
