"""`rewrite`: new names in Python source, by the positions of its syntax tree.

Names are resolved through imports: `kw.Owned` is `kubewright.Owned` where `kw` is Kubewright. Names that are bound in
any other way are the user's own. Strings and comments are not rewritten.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from kubewright.scaffold.codemod._renames import Renames
from kubewright.scaffold.codemod._scopes import Binding, Scope, scope_of

__all__ = ["rewrite"]

_SCOPES = (
    ast.FunctionDef
    | ast.AsyncFunctionDef
    | ast.Lambda
    | ast.ClassDef
    | ast.ListComp
    | ast.SetComp
    | ast.DictComp
    | ast.GeneratorExp
)


def rewrite(source: str, renames: Renames) -> str:
    """Returns the source with the new names. Raises SyntaxError for source that Python does not parse.

    Lines must end with a line feed alone. Source that does not import Kubewright is returned unchanged.
    """
    if "kubewright" not in source:
        return source
    tree = ast.parse(source)
    rewriter = _Rewriter(source, renames, tree)
    rewriter.run(tree)
    return rewriter.result()


@dataclass(frozen=True, slots=True)
class _Edit:
    start: int
    end: int
    text: str

    def is_inside(self, other: _Edit) -> bool:
        """Whether another edit replaces this one's range and more."""
        wider = other.end - other.start > self.end - self.start
        return wider and other.start <= self.start and self.end <= other.end


@dataclass(slots=True)
class _Rewriter:
    source: str
    renames: Renames
    tree: ast.Module
    scope: Scope = field(init=False)
    edits: list[_Edit] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    """Every name in the file: a new name must not take the place of another one."""
    locals: dict[Binding, str] = field(default_factory=dict)
    """Imports whose local name changes, with the new one."""
    added: dict[str, str] = field(default_factory=dict)
    """Imports that are added at the top: the module of each name."""
    modules: set[str] = field(default_factory=set)
    """Modules that are imported by their full path: `import kubewright.testing`."""
    content: bytes = b""
    starts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.content = self.source.encode()
        self.starts = [0]
        for line in self.content.split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.taken = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name)}
        self.scope = scope_of(self.tree)
        self.taken |= self.scope.others | self.scope.imports.keys()

    def run(self, tree: ast.Module) -> None:
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        if not any(_is_kubewright(node) for node in imports):
            return
        scopes = {id(node): scope for node, scope in _scopes(tree, self.scope)}
        by_alias = {
            id(binding.alias): binding
            for scope in {id(each): each for each in scopes.values()}.values()
            for binding in scope.imports.values()
        }
        for statement in imports:
            if isinstance(statement, ast.ImportFrom):
                self._import_from(statement, by_alias)
            else:
                self._import(statement)
        for node in ast.walk(tree):
            self._expression(node, scopes[id(node)])
        self._add_imports(tree)

    def result(self) -> str:
        content = self.content
        outermost = [edit for edit in self.edits if not any(edit.is_inside(other) for other in self.edits)]
        for edit in sorted(outermost, key=lambda each: (each.start, each.end), reverse=True):
            content = content[: edit.start] + edit.text.encode() + content[edit.end :]
        return content.decode()

    # Imports

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            if (new := self._new_path(alias.name)) != alias.name:
                start = self._at(alias.lineno, alias.col_offset)
                self.edits.append(_Edit(start, start + len(alias.name.encode()), new))
            if not alias.asname:
                self.modules.add(new)

    def _import_from(self, node: ast.ImportFrom, by_alias: dict[int, Binding]) -> None:
        if node.level or not node.module or not _is_kubewright(node):
            return
        moved: dict[str, list[str]] = {}
        changed = False
        in_place: list[_Edit] = []
        for alias in node.names:
            path = f"{node.module}.{alias.name}"
            new = self._new_path(path) if alias.name != "*" else f"{self._new_path(node.module)}.*"
            module, _, name = new.rpartition(".")
            text = self._alias(alias, name, by_alias.get(id(alias)))
            moved.setdefault(module, []).append(text)
            changed = changed or new != path
            in_place.append(_Edit(self._at(alias.lineno, alias.col_offset), self._end(alias), text))
        if not changed:
            return
        if len(moved) == 1:
            [module] = moved
            if module != node.module:
                start = self.content.index(node.module.encode(), self._at(node.lineno, node.col_offset))
                self.edits.append(_Edit(start, start + len(node.module.encode()), module))
            self.edits += [edit for edit in in_place if self.content[edit.start : edit.end].decode() != edit.text]
            return
        indent = "\n" + " " * node.col_offset
        lines = [f"from {module} import {', '.join(names)}" for module, names in sorted(moved.items())]
        self.edits.append(_Edit(self._at(node.lineno, node.col_offset), self._end(node), indent.join(lines)))

    def _alias(self, alias: ast.alias, name: str, binding: Binding | None) -> str:
        """Returns an imported name as it is written now, and records that its uses change."""
        if alias.asname:
            return f"{name} as {alias.asname}" if alias.asname != alias.name else f"{name} as {name}"
        if name == alias.name or binding is None:
            return name
        if name in self.taken:
            return f"{name} as {alias.name}"
        self.locals[binding] = name
        return name

    def _add_imports(self, tree: ast.Module) -> None:
        if not self.added:
            return
        after = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom) and _is_kubewright(node)]
        start = self._end(after[-1]) if after else 0
        lines = [f"from {module} import {name}" for name, module in sorted(self.added.items())]
        self.edits.append(_Edit(start, start, "".join(f"\n{line}" for line in lines)))

    # Uses

    def _expression(self, node: ast.AST, scope: Scope) -> None:
        if isinstance(node, ast.Name):
            binding = scope.find(node.id)
            if binding in self.locals:
                self._replace(node, self.locals[binding])
        elif isinstance(node, ast.Attribute):
            self._attribute(node, scope)
        elif isinstance(node, ast.Call):
            self._call(node, scope)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> None:
        path = _path(node, scope)
        if path is None:
            if (attribute := self.renames.attributes.get(node.attr)) is not None:
                self._replace_last(node, attribute)
            return
        new = self.renames.names.get(path)
        if new is None:
            return
        module, _, name = new.rpartition(".")
        before = _path(node.value, scope)
        if before is not None and self._new_path(before) == module:
            self._replace_last(node, name)
        elif {new, module} & self.modules:
            self._replace(node, new)
        elif name not in self.taken or self.added.get(name) == module:
            self.added[name] = module
            self.taken.add(name)
            self._replace(node, name)

    def _call(self, node: ast.Call, scope: Scope) -> None:
        path = _path(node.func, scope)
        if path is not None:
            keywords = self.renames.keywords.get(self._new_path(path), {})
        elif isinstance(node.func, ast.Attribute):
            name = self.renames.attributes.get(node.func.attr, node.func.attr)
            keywords = self.renames.method_keywords.get(name, {})
        else:
            return
        for keyword in node.keywords:
            if keyword.arg is not None and keyword.arg in keywords:
                start = self._at(keyword.lineno, keyword.col_offset)
                self.edits.append(_Edit(start, start + len(keyword.arg.encode()), keywords[keyword.arg]))

    def _new_path(self, path: str) -> str:
        """Returns the path after the renames; the longest prefix in the table decides."""
        parts = path.split(".")
        for count in range(len(parts), 0, -1):
            if (new := self.renames.names.get(".".join(parts[:count]))) is not None:
                return ".".join([new, *parts[count:]])
        return path

    # Positions

    def _at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def _end(self, node: ast.expr | ast.stmt | ast.alias) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._at(node.end_lineno, node.end_col_offset)

    def _replace(self, node: ast.expr, text: str) -> None:
        self.edits.append(_Edit(self._at(node.lineno, node.col_offset), self._end(node), text))

    def _replace_last(self, node: ast.Attribute, name: str) -> None:
        end = self._end(node)
        self.edits.append(_Edit(end - len(node.attr.encode()), end, name))


def _path(node: ast.AST, scope: Scope) -> str | None:
    """Returns the full path of an expression that begins with an import of Kubewright, else None."""
    if isinstance(node, ast.Attribute):
        before = _path(node.value, scope)
        return f"{before}.{node.attr}" if before is not None else None
    if isinstance(node, ast.Name) and (binding := scope.find(node.id)) is not None:
        return binding.path if binding.path.partition(".")[0] == "kubewright" else None
    return None


def _is_kubewright(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.ImportFrom):
        return not node.level and (node.module or "").partition(".")[0] == "kubewright"
    return any(alias.name.partition(".")[0] == "kubewright" for alias in node.names)


def _scopes(node: ast.AST, scope: Scope) -> list[tuple[ast.AST, Scope]]:
    """Returns every node with the scope in which its names are looked up."""
    found = [(node, scope)]
    for child in ast.iter_child_nodes(node):
        # Decorators, bases, defaults and annotations are evaluated outside of the function or class.
        defines = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        outside = defines and not isinstance(child, ast.stmt)
        inner = scope.parent if outside and scope.parent is not None else scope
        found += _scopes(child, scope_of(child, inner) if isinstance(child, _SCOPES) else inner)
    return found
