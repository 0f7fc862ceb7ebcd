"""How Go writes the fields of a struct, read from the sources of the types.

A field is, by one letter:
- `k`: always written; a scalar as its zero, a list, map or pointer as null
- `o`: not written when it is empty: "", 0, false, an empty list or map
- `p`: a pointer, not written when it is null, but written when it points at a zero
- `s`: a struct, always written
- `z`: a struct that is not written when nothing in it is set
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

__all__ = ["GoTypes"]

_TYPE: Final = re.compile(r"^type (\w+) (.+?)\s*(?://.*)?$", re.MULTILINE)
_FIELD: Final = re.compile(r"^\t(?:(?P<name>\w+)\s+)?(?P<type>[\w.*\[\]]+)\s+`(?P<tags>[^`]*)`", re.MULTILINE)
_JSON: Final = re.compile(r'json:"([^"]*)"')
_IMPORT: Final = re.compile(r'^(?:import)?\s*(?:(?P<alias>\w+) )?"(?P<path>k8s\.io/[\w./-]+)"', re.MULTILINE)
_TEXT: Final = "io.k8s.apimachinery.pkg.types."  # UID and NodeName: texts, all of them
_SCALARS: Final = frozenset(("string", "bool", "int", "int32", "int64", "float64", "byte", "uint8"))


class GoTypes:
    """The types of several packages, under the names that OpenAPI gives them."""

    def __init__(self) -> None:
        self._structs: dict[str, list[tuple[str, str, str]]] = {}
        self._others: dict[str, str] = {}

    def add(self, folder: Path, prefix: str) -> None:
        """Read the package in a folder; `prefix` is what OpenAPI calls it, such as `io.k8s.api.apps.v1`."""
        for file in sorted(folder.glob("*.go")):
            if file.name.endswith("_test.go") or file.name.startswith(("zz_generated", "generated")):
                continue
            text = file.read_text()
            packages = _packages(text)
            for match in _TYPE.finditer(text):
                name, what = f"{prefix}.{match[1]}", match[2]
                if what.startswith("struct"):
                    body = "" if what.endswith("}") else text[match.end() : text.index("\n}", match.end())]
                    self._structs[name] = list(_fields(body, prefix, packages))
                else:
                    self._others[name] = _full(what.removeprefix("= "), prefix, packages)

    def letters(self, definition: str, properties: dict[str, Any]) -> dict[str, str]:
        """The letter of each property of a definition. Raises KeyError when its type was not read."""
        found = {wire: self._letter(type_, options) for wire, type_, options in self._flat(definition)}
        return {name: found[name] for name in properties}

    def knows(self, definition: str) -> bool:
        """Whether the definition is a struct that was read."""
        return self._original(definition) in self._structs

    def _original(self, name: str) -> str:
        """What a type is another name of."""
        while name in self._others:
            name = self._others[name]
        return name

    def _flat(self, definition: str) -> Iterator[tuple[str, str, str]]:
        for wire, type_, options in self._structs[self._original(definition)]:
            if wire or "inline" not in options:
                yield wire, type_, options
            else:
                yield from self._flat(type_.lstrip("*"))

    def _letter(self, type_: str, options: str) -> str:
        pointer = type_.startswith("*")
        if not pointer and self._is_struct(type_):
            return "z" if "omitzero" in options else "s"
        if "omitempty" not in options:
            return "k"
        return "p" if pointer else "o"

    def _is_struct(self, type_: str) -> bool:
        type_ = self._original(type_)
        if type_.startswith(("[", "map[", _TEXT)) or type_ in _SCALARS:
            return False
        if type_ not in self._structs:
            raise KeyError(f"the Go type {type_} was not read")
        return True


def _packages(text: str) -> dict[str, str]:
    """What OpenAPI calls the packages that a file imports, by the names that the file uses."""
    found = {}
    for match in _IMPORT.finditer(text):
        path = match["path"]
        found[match["alias"] or path.rpartition("/")[2]] = "io.k8s." + path.removeprefix("k8s.io/").replace("/", ".")
    return found


def _fields(body: str, prefix: str, packages: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    for match in _FIELD.finditer(body):
        tag = _JSON.search(match["tags"])
        if tag is None:
            continue
        wire, _, options = tag[1].partition(",")
        if wire != "-":
            yield wire, _full(match["type"], prefix, packages), options


def _full(type_: str, prefix: str, packages: dict[str, str]) -> str:
    pointer = "*" if type_.startswith("*") else ""
    plain = type_.lstrip("*")
    if plain.startswith(("[", "map[")) or plain in _SCALARS:
        return pointer + plain
    package, dot, name = plain.rpartition(".")
    return f"{pointer}{packages[package] if dot else prefix}.{name}"
