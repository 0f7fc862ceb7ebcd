"""The `__init__.py` of a project's package, in which each kind is imported so that it belongs to the operator."""

from __future__ import annotations

import ast
import re

from kubewright.scaffold._names import ScaffoldError

__all__ = ["with_import"]

_ALL = re.compile(r"^__all__ = \[([^\]]*)\]", re.MULTILINE)


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
    exports = ", ".join(f'"{each}"' for each in names)
    text = f"{text[: found.start()]}__all__ = [{exports}]{text[found.end() :]}"
    lines = text.splitlines(keepends=True)
    if not alias and (beside := _import_from(imports, module)) is not None:
        several = sorted([name, *(one.name for one in beside.names)])
        lines[beside.lineno - 1] = f"from {module} import {', '.join(several)}\n"
        return "".join(lines)
    at = next((one.lineno for one in imports if ast.unparse(one) > line), (imports[-1].end_lineno or 0) + 1)
    return "".join([*lines[: at - 1], f"{line}\n", *lines[at - 1 :]])


def _imports(node: ast.Import | ast.ImportFrom, module: str, name: str, alias: str) -> bool:
    names = {(one.name, one.asname or "") for one in node.names}
    return isinstance(node, ast.ImportFrom) and node.module == module and (name, alias) in names


def _import_from(imports: list[ast.Import | ast.ImportFrom], module: str) -> ast.ImportFrom | None:
    """An import of other names from the same module, on one line, to which a name can be added."""
    for node in imports:
        if isinstance(node, ast.ImportFrom) and node.module == module:
            plain = not any(one.asname for one in node.names)
            if plain and node.lineno == node.end_lineno:
                return node
    return None
