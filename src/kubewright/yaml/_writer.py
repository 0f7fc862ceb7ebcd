"""Writes YAML that is the same on every machine.

PyYAML is not used, for two reasons: its Python writer needs 0.3 s for the schema of a pod template, and its C writer,
which is not installed everywhere, breaks lines at different places. Mappings and lists are written as blocks. Strings
are plain where that is safe, literal blocks if they have several lines, and quoted otherwise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from kubewright.yaml._scalars import plain_value

__all__ = ["dump_yaml"]

# A plain scalar starts with a character that YAML gives no meaning, and does not look like a number or a date.
_PLAIN: Final = re.compile(r"[A-Za-z_/(]|\.(?![0-9])")
_UNSAFE: Final = re.compile(r": | #|:$|^\s|\s$")
# Includes words that only some readers convert: Go's library reads `y` in a key as true.
_WORDS: Final = frozenset(["y", "yes", "n", "no", "true", "false", "on", "off", "null", ".inf", ".nan", "nan", "inf"])
# kubectl quotes only what YAML would read as something else: numbers, dates, base-60 numbers and indicators.
_KUBECTL_PLAIN: Final = re.compile(r"[A-Za-z0-9_/($^<);\\]|[^\x00-\x7f]|\.(?![0-9.])|-(?=[^\s-])|--(?=[^\s-])")
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$")


def dump_yaml(*documents: Any, sort_keys: bool = True, like_kubectl: bool = False) -> str:
    """Returns JSON values as YAML documents, separated by `---`.

    Keys are sorted by default, so that equal values produce equal YAML. With `like_kubectl`, strings are quoted as
    kubectl does it: `500m` is plain, `"80"` has double quotes. Raises ValueError for NaN and infinity, and TypeError
    for a value that JSON does not have.
    """
    writer = _Writer(sorted if sort_keys else list, _kubectl_quoted if like_kubectl else _quoted)
    for number, document in enumerate(documents):
        if number:
            writer.lines.append("---")
        writer.add_document(document)
    return "\n".join([*writer.lines, ""])


class _Writer:
    """The lines of the documents so far."""

    def __init__(self, names: Callable[[Iterable[str]], list[str]], quoted: Callable[[str], str]) -> None:
        self.lines: list[str] = []
        self._names = names
        self._quoted = quoted

    def add_document(self, value: Any) -> None:
        if isinstance(value, Mapping | list | tuple):
            self._add_block(value, "")
        else:
            self.lines.append(self._scalar(value))

    def _add_block(self, value: Any, indent: str) -> None:
        """Adds the lines of a mapping or a list."""
        lines = self.lines
        if not value:
            lines.append(f"{indent}{self._scalar(value)}")
        elif isinstance(value, Mapping):
            for name in self._names(value):
                self._add_member(f"{indent}{self._quoted(name)}:", value[name], indent)
        else:
            inside = f"{indent}  "
            for element in value:
                if _is_block(element):
                    # The first line of the element follows the dash.
                    first = len(lines)
                    self._add_block(element, inside)
                    lines[first] = f"{indent}- {lines[first][len(inside) :]}"
                else:
                    self._add_scalar(f"{indent}-", element, inside)

    def _add_member(self, name: str, value: Any, indent: str) -> None:
        if _is_block(value):
            self.lines.append(name)
            self._add_block(value, indent if isinstance(value, list | tuple) else f"{indent}  ")
        else:
            self._add_scalar(name, value, f"{indent}  ")

    def _add_scalar(self, before: str, value: Any, indent: str) -> None:
        if isinstance(value, str) and "\n" in value and _fits_block(value):
            self.lines.append(f"{before} |{_chomping(value)}")
            self.lines += [f"{indent}{line}" if line else "" for line in value.removesuffix("\n").split("\n")]
        else:
            self.lines.append(f"{before} {self._scalar(value)}")

    def _scalar(self, value: Any) -> str:
        if value is None:
            return "null"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str):
            return self._quoted(value)
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


def _is_block(value: Any) -> bool:
    return isinstance(value, Mapping | list | tuple) and bool(value)


def _chomping(text: str) -> str:
    """Returns the sign that says which of the newlines at the end belong to a block."""
    if not text.endswith("\n"):
        return "-"
    return "+" if text.endswith("\n\n") else ""


def _fits_block(text: str) -> bool:
    lines = text.rstrip("\n").split("\n")
    return (
        bool(lines[0])
        and not lines[0].startswith(" ")
        and bool(lines[-1].strip())
        and all(line.isprintable() and (not line or bool(line.strip())) for line in lines)
    )


def _quoted(text: str) -> str:
    """Returns a string on one line, quoted if it would be read as something else."""
    if not text.isprintable():
        return _double_quoted(text)
    if _PLAIN.match(text) and not _UNSAFE.search(text) and text.lower() not in _WORDS:
        return text
    return "'" + text.replace("'", "''") + "'"


def _kubectl_quoted(text: str) -> str:
    """Returns a string on one line, with as few quotes as kubectl."""
    if not text.isprintable() or text in ("<<", "=") or not isinstance(plain_value(text), str):
        return _double_quoted(text)
    if _KUBECTL_PLAIN.match(text) and not _UNSAFE.search(text) and not _TIME.match(text):
        return text
    return "'" + text.replace("'", "''") + "'"


def _double_quoted(text: str) -> str:
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    return {"\n": "\\n", "\t": "\\t"}.get(character) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )
