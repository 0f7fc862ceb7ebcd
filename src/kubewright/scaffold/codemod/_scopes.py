"""Python's scopes, as far as they are needed to find the import that a name refers to."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Binding", "Scope", "scope_of"]

_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_NESTED = _FUNCTIONS | _COMPREHENSIONS | ast.ClassDef
_NAMED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler | ast.MatchAs | ast.MatchStar


@dataclass(eq=False, slots=True)
class Binding:
    """A name that an import binds, and the full path that it stands for."""

    name: str
    path: str
    alias: ast.alias


@dataclass(slots=True)
class Scope:
    """The names that are bound in a module, class or function."""

    parent: Scope | None = None
    is_class: bool = False
    imports: dict[str, Binding] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)
    """Names that are bound otherwise: parameters, assignments, definitions."""

    def find(self, name: str) -> Binding | None:
        """Returns the import that a name refers to; None if it refers to anything else."""
        scope: Scope | None = self
        while scope is not None:
            if scope is self or not scope.is_class:
                if name in scope.others:
                    return None
                if name in scope.imports:
                    return scope.imports[name]
            scope = scope.parent
        return None


def scope_of(node: ast.AST, parent: Scope | None = None) -> Scope:
    """Returns the scope that a module, class, function or comprehension opens."""
    scope = Scope(parent, is_class=isinstance(node, ast.ClassDef))
    if isinstance(node, _FUNCTIONS):
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        scope.others |= {each.arg for each in every if each is not None}
    outer: set[str] = set()
    for inner in _inside(node):
        if isinstance(inner, ast.Import | ast.ImportFrom):
            _bind(scope, inner)
        elif isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load):
            scope.others.add(inner.id)
        elif isinstance(inner, _NAMED) and inner.name:
            scope.others.add(inner.name)
        elif isinstance(inner, ast.MatchMapping) and inner.rest:
            scope.others.add(inner.rest)
        elif isinstance(inner, ast.Global | ast.Nonlocal):
            outer |= {*inner.names}
    scope.others -= outer
    return scope


def _bind(scope: Scope, node: ast.Import | ast.ImportFrom) -> None:
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            if node.level or not node.module:
                scope.others.add(alias.asname or alias.name)  # of the user's own package
                continue
            name, path = alias.asname or alias.name, f"{node.module}.{alias.name}"
        elif alias.asname:
            name, path = alias.asname, alias.name
        else:
            name = path = alias.name.partition(".")[0]
        scope.imports[name] = Binding(name, path, alias)


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """Yields the nodes of a scope, the definitions of nested scopes included, their contents excluded."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, _NESTED):
            yield from _inside(child)
