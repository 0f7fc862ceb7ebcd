"""`Coverage`: the lines of the operator that a run has reached.

The modules in the folder of the program are compiled with a call before each statement of their functions. This costs
nothing elsewhere, unlike a trace function, which Python calls for every function of the process.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any, Final

__all__ = ["Coverage", "reachable_lines"]

_NOTE: Final = "__kubewright_reached__"
_BLOCKS: Final = ("body", "orelse", "finalbody")


class Coverage:
    """Notes the statements of functions that are executed. `start` changes how modules of a folder are imported."""

    def __init__(self, folder: str, escape: Callable[[str], None] = lambda escape: None) -> None:
        self._folder = folder
        self._escape = escape
        self._reached: set[tuple[str, int]] = set()
        self._files: set[str] = set()

    def start(self) -> None:
        """Compiles modules of the folder with notes from now on. Only for a process that ends afterwards."""
        setattr(builtins, _NOTE, self._reached.add)
        usual = SourceFileLoader.get_code
        coverage = self

        def get_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
            path = loader.get_filename(fullname)
            if not path.startswith(coverage._folder) or "site-packages" in path or fullname.startswith("kubewright"):
                return usual(loader, fullname)
            coverage._files.add(path)
            return _compiled(loader.get_data(path), path, coverage._escape)

        SourceFileLoader.get_code = get_code  # type: ignore[assignment, method-assign]
        sys.dont_write_bytecode = True

    def lines(self) -> dict[str, list[int]]:
        """Returns the lines that were reached, by file. Files without reached lines are included."""
        found: dict[str, list[int]] = {path: [] for path in sorted(self._files)}
        for path, line in sorted(self._reached):
            found[path].append(line)
        return found


def reachable_lines(source: bytes) -> list[int]:
    """Returns the lines of all statements in functions; those that `Coverage` can note."""
    tree = ast.parse(source)
    notes = _Notes("")
    notes.visit(tree)
    return sorted(notes.lines)


def _compiled(source: bytes, path: str, escape: Callable[[str], None]) -> CodeType:
    tree = ast.parse(source, path)
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and (clock := _real_clock(call.func)):
            escape(f"the operator calls {clock}: use ctx.clock.now")
    compiled: CodeType = compile(ast.fix_missing_locations(_Notes(path).visit(tree)), path, "exec")
    return compiled


def _real_clock(called: ast.expr) -> str:
    """Returns the name of a called function that reads the machine's date, which cannot be replaced; else nothing."""
    if not isinstance(called, ast.Attribute) or called.attr not in ("now", "utcnow", "today"):
        return ""
    owner = called.value.attr if isinstance(called.value, ast.Attribute) else getattr(called.value, "id", "")
    return f"{owner}.{called.attr}" if owner in ("datetime", "date") else ""


class _Notes(ast.NodeTransformer):
    """Adds a call before each statement of functions."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._depth = 0
        self.lines: set[int] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        self._depth += 1
        self.generic_visit(node)
        self._depth -= 1
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if self._depth:
            for name in _BLOCKS:
                block = getattr(node, name, None)
                if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                    setattr(node, name, self._noted(node, block))
        return node

    def _noted(self, node: ast.AST, block: Sequence[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for number, statement in enumerate(block):
            if not (number == 0 and _is_docstring(node, statement)):
                found.append(self._note(statement))
            found.append(statement)
        return found

    def _note(self, statement: ast.stmt) -> ast.stmt:
        self.lines.add(statement.lineno)
        place: Any = (self._path, statement.lineno)
        call = ast.Call(func=ast.Name(id=_NOTE, ctx=ast.Load()), args=[ast.Constant(place)], keywords=[])
        note = ast.Expr(call)
        for made in ast.walk(note):
            ast.copy_location(made, statement)
        return note


def _is_docstring(node: ast.AST, statement: ast.stmt) -> bool:
    return (
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
