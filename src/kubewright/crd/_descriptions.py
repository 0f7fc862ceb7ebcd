"""Descriptions for schemas: the docstrings of models and of their attributes.

    class FooSpec(kw.Model):
        \"\"\"The desired state.\"\"\"

        replicas: int = 1
        \"\"\"The number of replicas.\"\"\"

Python does not keep docstrings of attributes, so they are read from the source. Without source (in a frozen program),
attributes have no descriptions. Built-in types have none either: they would fill a definition.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

from kubewright.api import Model
from kubewright.api.schema import is_builtin

__all__ = ["Descriptions", "describe", "describer"]

Descriptions: TypeAlias = bool | Literal["short"]
"""Whether a definition has descriptions; `"short"` keeps the first sentence of each."""

_SENTENCE = re.compile(r".+?[.!?](?=\s|$)|.+?(?=\n\s*\n|$)", re.DOTALL)


def describer(wanted: Descriptions) -> Callable[[type[Model], str | None], str | None] | None:
    """Returns the function that describes models and attributes; None if descriptions are off."""
    if wanted == "short":
        return _describe_shortly
    return describe if wanted else None


def _describe_shortly(model: type[Model], attribute: str | None) -> str | None:
    text = describe(model, attribute)
    first = _SENTENCE.match(text) if text else None
    return " ".join(first[0].split()) if first else text


def describe(model: type[Model], attribute: str | None) -> str | None:
    """Returns the description of a model (attribute None), or of one of its attributes."""
    if attribute is None:
        if is_builtin(model):
            return None
        text = vars(model).get("__doc__")
        return inspect.cleandoc(text) if text else None
    for base in model.__mro__:
        if issubclass(base, Model) and not is_builtin(base):
            text = _docstrings_of(base).get((base.__qualname__, attribute))
            if text is not None:
                return text
    return None


def _docstrings_of(model: type[Model]) -> dict[tuple[str, str], str]:
    """Returns the docstrings of attributes in the module of a model, by class and attribute."""
    file = getattr(sys.modules.get(model.__module__), "__file__", None)
    try:
        return _read(Path(file), Path(file).stat().st_mtime_ns) if file else {}
    except (OSError, ValueError, SyntaxError):
        return {}


@lru_cache(maxsize=64)
def _read(file: Path, _changed: int) -> dict[tuple[str, str], str]:
    """Returns the docstrings in a file. The modification time is part of the cache key."""
    return dict(_docstrings(ast.parse(file.read_text(encoding="utf-8")), ""))


def _docstrings(node: ast.AST, prefix: str) -> Iterator[tuple[tuple[str, str], str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            name = f"{prefix}{child.name}"
            for before, after in zip(child.body, child.body[1:], strict=False):
                if (
                    isinstance(before, ast.AnnAssign)
                    and isinstance(before.target, ast.Name)
                    and isinstance(after, ast.Expr)
                    and isinstance(after.value, ast.Constant)
                    and isinstance(after.value.value, str)
                ):
                    yield (name, before.target.id), inspect.cleandoc(after.value.value)
            yield from _docstrings(child, f"{name}.")
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _docstrings(child, f"{prefix}{child.name}.<locals>.")
        else:
            yield from _docstrings(child, prefix)
