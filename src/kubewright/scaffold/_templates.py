"""Fills the names of a project into templates.

Templates are in `templates/`, each at the path of its file. `@name@` stands for a value, also in the path. Lines
between `@if name@` and `@end@`, each on its own line, are kept if the value is not empty; lines after `@if not name@`
if it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from kubewright.scaffold._layout import laid_out
from kubewright.scaffold._versions import FIRST, templates_of

__all__ = ["fill", "filled"]

_VALUE: Final = re.compile(r"@([a-z_]+)@")
_IF: Final = re.compile(r"@if (not )?([a-z_]+)@")
_END: Final = "@end@"


def filled(folder: str, version: int, values: Mapping[str, str]) -> dict[str, str]:
    """Returns the files of one folder of templates of a version, by path. A name without a value is a KeyError.

    Long lines of Python are broken.
    """
    templates = templates_of(version).items()
    found = {path.removeprefix(f"{folder}/"): text for path, text in templates if path.startswith(f"{folder}/")}
    files = {fill(path, values): fill(text, values) for path, text in found.items()}
    if version == FIRST:  # the first version did not break long lines
        return files
    return {path: laid_out(text) if path.endswith(".py") else text for path, text in files.items()}


def fill(text: str, values: Mapping[str, str]) -> str:
    """Returns a template with the values filled in."""
    kept: list[str] = []
    inside: list[bool] = []
    for line in text.splitlines(keepends=True):
        if found := _IF.fullmatch(line.strip()):
            inside.append(bool(values[found[2]]) != bool(found[1]))
        elif line.strip() == _END:
            inside.pop()
        elif all(inside):
            kept.append(line)
    made = _VALUE.sub(lambda found: values[found[1]], "".join(kept))
    return f"{made.rstrip()}\n" if made.endswith("\n") else made  # a value may be a block of lines, or empty
