"""`Coverage`: the lines of the operator that a run has reached.

The modules in the folder of the program are compiled with a call before each statement of their functions. This costs
nothing elsewhere, unlike a trace function, which Python calls for every function of the process.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any, Final

__all__ = ["Coverage", "Programs", "reachable_lines"]

_NOTE: Final = "__kubewright_reached__"
_NOTED: Final = ("body", "orelse", "finalbody")
_BLOCKS: Final = (*_NOTED, "handlers", "cases")
_PLACE: Final = ("lineno", "col_offset", "end_lineno", "end_col_offset")
_DATES: Final = ("now", "utcnow", "today")
_MAY_READ_DATES: Final = re.compile(rb"\b(now|utcnow|today)\b")


class Programs:
    """Modules that were compiled with notes. A process that is forked finds those that its parent has compiled."""

    def __init__(self) -> None:
        self._compiled: dict[str, tuple[bytes, CodeType, list[str]]] = {}

    def compiled(self, path: str, source: bytes) -> tuple[CodeType, list[str]]:
        """Returns the code of a module, and the functions that it calls to read the machine's date."""
        known = self._compiled.get(path)
        if known is None or known[0] != source:
            known = self._compiled[path] = (source, *_compiled(source, path))
        return known[1:]

    def prepare(self, paths: Iterable[str]) -> None:
        """Compiles modules before processes are forked that import them."""
        for path in paths:
            with contextlib.suppress(OSError, SyntaxError, ValueError):  # the process that imports it reports this
                self.compiled(path, Path(path).read_bytes())


class Coverage:
    """Notes the statements of functions that are executed. `start` changes how modules of a folder are imported."""

    def __init__(
        self, folder: str, escape: Callable[[str], None] = lambda escape: None, programs: Programs | None = None
    ) -> None:
        self._folder = folder
        self._escape = escape
        self._programs = programs or Programs()
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
            code, clocks = coverage._programs.compiled(path, loader.get_data(path))
            for clock in clocks:
                coverage._escape(f"the operator calls {clock}: use ctx.clock.now")
            return code

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


def _compiled(source: bytes, path: str) -> tuple[CodeType, list[str]]:
    tree = ast.parse(source, path)
    clocks = []
    if _MAY_READ_DATES.search(source):  # to visit each expression takes as long as the compilation
        calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
        clocks = sorted({clock for call in calls if (clock := _real_clock(call.func))})
    _Notes(path).visit(tree)
    compiled: CodeType = compile(tree, path, "exec", dont_inherit=True)
    return compiled, clocks


def _real_clock(called: ast.expr) -> str:
    """Returns the name of a called function that reads the machine's date, which cannot be replaced; else nothing."""
    if not isinstance(called, ast.Attribute) or called.attr not in _DATES:
        return ""
    owner = called.value.attr if isinstance(called.value, ast.Attribute) else getattr(called.value, "id", "")
    return f"{owner}.{called.attr}" if owner in ("datetime", "date") else ""


class _Notes:
    """Adds a call before each statement of functions. It visits statements only: no expression contains one."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.lines: set[int] = set()

    def visit(self, node: ast.AST, *, inside: bool = False) -> None:
        """Adds the calls to a module, and to the functions that it contains."""
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for name in _BLOCKS:
            for child in getattr(node, name, ()):
                self.visit(child, inside=inside)
        if inside:
            for name in _NOTED:
                if block := getattr(node, name, None):
                    setattr(node, name, self._noted(node, block))

    def _noted(self, node: ast.AST, block: Sequence[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for number, statement in enumerate(block):
            if not (number == 0 and _is_docstring(node, statement)):
                found.append(self._note(statement))
            found.append(statement)
        return found

    def _note(self, statement: ast.stmt) -> ast.stmt:
        self.lines.add(statement.lineno)
        place: dict[str, Any] = {name: getattr(statement, name) for name in _PLACE}
        called = ast.Name(id=_NOTE, ctx=ast.Load(), **place)
        value: Any = (self._path, statement.lineno)
        return ast.Expr(ast.Call(func=called, args=[ast.Constant(value, **place)], keywords=[], **place), **place)


def _is_docstring(node: ast.AST, statement: ast.stmt) -> bool:
    return (
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
