"""Edits the `__init__.py` of a project's package, which imports every kind."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from kubewright.scaffold._layout import laid_out
from kubewright.scaffold._names import ScaffoldError

__all__ = ["with_import"]

_ALL = re.compile(r"^__all__ = \[([^\]]*)\]", re.MULTILINE)


def with_import(text: str, module: str, name: str, alias: str = "") -> str:
    """Returns the module with one more name imported and in `__all__`; unchanged if it is already there.

    The rest of the module is not changed. Raises `ScaffoldError` if it has no `__all__` or is not Python.
    """
    exported = alias or name
    line = f"from {module} import {name}" + (f" as {alias}" if alias else "")
    try:
        body = ast.parse(text).body
    except SyntaxError as error:
        raise ScaffoldError(f"the package's __init__.py is not valid Python: {error}") from None
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    if any(_imports(node, module, name, alias) for node in imports):
        return text
    found = _ALL.search(text)
    if found is None or not imports:
        raise ScaffoldError(f"add this to the package's __init__.py, which has no `__all__ = [...]`: {line}")
    names = sorted({*re.findall(r'"([^"]*)"', found[1]), exported})
    text = f"{text[: found.start()]}{_exports(names)}{text[found.end() :]}"
    lines = text.splitlines(keepends=True)
    if not alias and (beside := _import_from(imports, module)) is not None:
        several = sorted([name, *(one.name for one in beside.names)], key=_order)
        lines[beside.lineno - 1 : beside.end_lineno] = [laid_out(f"from {module} import {', '.join(several)}\n")]
        return "".join(lines)
    later = (one.lineno for one in imports if _order(_module(one)) > _order(module))
    at = next(later, (imports[-1].end_lineno or 0) + 1)
    return "".join([*lines[: at - 1], laid_out(f"{line}\n"), *lines[at - 1 :]])


def _imports(node: ast.Import | ast.ImportFrom, module: str, name: str, alias: str) -> bool:
    names = {(one.name, one.asname or "") for one in node.names}
    return isinstance(node, ast.ImportFrom) and node.module == module and (name, alias) in names


def _import_from(imports: list[ast.Import | ast.ImportFrom], module: str) -> ast.ImportFrom | None:
    """Returns an import from the same module to which a name can be added."""
    for node in imports:
        if isinstance(node, ast.ImportFrom) and node.module == module and not any(one.asname for one in node.names):
            return node
    return None


def _module(node: ast.Import | ast.ImportFrom) -> str:
    return (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name) or ""


def _order(name: str) -> list[tuple[int, int, str]]:
    """Returns the sort key of `ruff check` for imports: digits are compared as numbers."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.findall(r"\d+|\D", name)]


def _exports(names: Sequence[str]) -> str:
    quoted = ", ".join(f'"{name}"' for name in names)
    return laid_out(f"__all__ = [{quoted}]\n").rstrip()
