"""The `__init__.py` of a project's package, in which each kind is imported so that it belongs to the operator."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Final

from kubewright.scaffold._names import ScaffoldError

__all__ = ["with_import"]

_ALL = re.compile(r"^__all__ = \[([^\]]*)\]", re.MULTILINE)
_WIDTH: Final = 120  # as the project's pyproject.toml says


def with_import(text: str, module: str, name: str, alias: str = "") -> str:
    """The text of the module with one more name imported and in `__all__`; unchanged when it is there already.

    Whatever else the module has stays as it is. Raises `ScaffoldError` when it has no `__all__`, or is not Python.
    """
    exported = alias or name
    line = f"from {module} import {name}" + (f" as {alias}" if alias else "")
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise ScaffoldError(f"the package's __init__.py is not Python: {error}") from None
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    if any(_imports(node, module, name, alias) for node in imports):
        return text
    found = _ALL.search(text)
    if found is None or not imports:
        raise ScaffoldError(f"add this to the package's __init__.py, which has no `__all__ = [...]`: {line}")
    names = sorted({*re.findall(r'"([^"]*)"', found[1]), exported})
    exports = _laid_out("__all__ = ", [f'"{each}"' for each in names], "[]", "[]")
    text = f"{text[: found.start()]}{exports}{text[found.end() :]}"
    lines = text.splitlines(keepends=True)
    if not alias and (beside := _import_from(imports, module)) is not None:
        several = sorted([name, *(one.name for one in beside.names)])
        lines[beside.lineno - 1 : beside.end_lineno] = [_laid_out(f"from {module} import ", several, "", "()") + "\n"]
        return "".join(lines)
    at = next((one.lineno for one in imports if ast.unparse(one) > line), (imports[-1].end_lineno or 0) + 1)
    return "".join([*lines[: at - 1], f"{line}\n", *lines[at - 1 :]])


def _imports(node: ast.Import | ast.ImportFrom, module: str, name: str, alias: str) -> bool:
    names = {(one.name, one.asname or "") for one in node.names}
    return isinstance(node, ast.ImportFrom) and node.module == module and (name, alias) in names


def _import_from(imports: list[ast.Import | ast.ImportFrom], module: str) -> ast.ImportFrom | None:
    """An import of other names from the same module, to which a name can be added."""
    for node in imports:
        if isinstance(node, ast.ImportFrom) and node.module == module and not any(one.asname for one in node.names):
            return node
    return None


def _laid_out(head: str, names: Sequence[str], short: str, long: str) -> str:
    """The names in one line where they fit, else in a line each, as the project's own `make fmt` lays them out."""
    line = head + short[:1] + ", ".join(names) + short[1:]
    if len(line) <= _WIDTH:
        return line
    return "\n".join([head + long[0], *(f"    {name}," for name in names), long[1]])
